# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the rate routers, their hosts and the controls of `cc` cost: `python bench/rates.py`.

As `bench/agent.py`: a download over virtual Ethernet, in which the kernel counts how long each
program runs. A program that does nothing runs in the same download, at the router's device: what
it takes is the counting, which is in the others' times too, and is told apart: round by round it
is taken off. Packets are super-packets of up to 64 kB. It takes root, cgroup2, and processors that
are idle.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "netns"))
from counted import NOTHING, counting, fast, programs, see_nothing
from groups import joined
from house import AGENT, House, house

RATES = ("qfcp", "xcp")
"""Laws of routers that tell rates."""
CONTROLS = {"gaimd": "gaimd", "gamma": "gamma", "gamma-delta": "gdelta", "drain": "drain"}
"""Laws of `cc`, and what their controls are called in the kernel."""
LEAST_RUNS = 1000
"""What a program must have run for its mean to be told."""


def started(built: House, where: str, *words: object) -> None:
    """An agent that is ready; it ends with the house."""
    agent = built.start(where, AGENT, *words)
    built.agents.append(agent)
    assert agent.stdout is not None
    assert agent.stdout.readline(), agent.communicate()


def measured(law: str, rate: str, seconds: float, dry_run: bool) -> tuple[float, dict[str, float]]:
    """The goodput of a download [bit/s]; of each program what a run takes [ns]."""
    with joined("lasthop-bench") as own, house() as built:
        queue = ["tc", "qdisc", "replace", "dev", "lan", "root", "tbf", "rate", rate]
        built.run("router", *queue, "burst", "1mb", "limit", "4mb")
        known = set(programs())
        see_nothing(built, "egress")
        if law in RATES:
            capacity = rate.replace("gbit", " Gbit/s").replace("mbit", " Mbit/s")
            options = ["--capacity", capacity, *(["--dry-run"] if dry_run else [])]
            started(built, "router", law, "router", "--dev", "lan", *options)
            started(built, "server", law, "host", "--cgroup", own)
        else:
            started(built, "server", "cc", "load", law)
            control = f"net.ipv4.tcp_congestion_control=lasthop_{CONTROLS[law]}"
            built.run("server", "sysctl", "-qw", control)
        with counting(built):
            bps = fast(built, seconds)
            told = programs()
    return bps, {
        runs.name: runs.each_ns()
        for number, runs in told.items()
        if number not in known and runs.count >= LEAST_RUNS
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("laws", nargs="*", default=[*RATES, *CONTROLS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", default="4gbit", help="of the line, as tc has it")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a download")
    parser.add_argument("--dry-run", action="store_true", help="routers rewrite nothing")
    options = parser.parse_args()
    for law in options.laws:
        rounds = [
            measured(law, options.rate, options.seconds, options.dry_run)
            for _ in range(options.rounds)
        ]
        best = max(bps for bps, _ in rounds)
        print(f"{law}: {best / 1e9:.2f} Gbit/s; ns of a run, median (least to greatest round)")
        for name in rounds[0][1]:
            found = [told for _, told in rounds if name in told and NOTHING in told]
            own = span([told[name] - told[NOTHING] for told in found])
            print(f"  {name:18} {span([told[name] for told in found])}, of its own {own}")
        sys.stdout.flush()


def span(values: list[float]) -> str:
    """The median of some, the least and the greatest."""
    if not values:
        return "too few runs"
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


if __name__ == "__main__":
    main()
