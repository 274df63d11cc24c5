# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the rate routers, their hosts and the controls of `cc` cost: `python bench/rates.py`.

As `bench/agent.py`: a download over virtual Ethernet, in which the kernel counts how long each
program runs. A program that does nothing runs in the same download, at the router's device: what
it takes is the counting, which is in the others' times too. Packets are super-packets of up to
64 kB. It takes root, cgroup2, and processors that are idle.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "netns"))
from counted import counting, fast, programs, see_nothing
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


def measured(law: str, rate: str, seconds: float) -> tuple[float, dict[str, float]]:
    """The goodput of a download [bit/s]; of each program what a run takes [ns]."""
    with joined("lasthop-bench") as own, house() as built:
        queue = ["tc", "qdisc", "replace", "dev", "lan", "root", "tbf", "rate", rate]
        built.run("router", *queue, "burst", "1mb", "limit", "4mb")
        known = set(programs())
        see_nothing(built, "egress")
        if law in RATES:
            capacity = rate.replace("gbit", " Gbit/s").replace("mbit", " Mbit/s")
            started(built, "router", law, "router", "--dev", "lan", "--capacity", capacity)
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
    options = parser.parse_args()
    for law in options.laws:
        rounds = [measured(law, options.rate, options.seconds) for _ in range(options.rounds)]
        best = max(bps for bps, _ in rounds)
        costs = ", ".join(
            f"{name} {min(told[name] for _, told in rounds if name in told):.0f}"
            for name in rounds[0][1]
        )
        print(f"{law}: {best / 1e9:.2f} Gbit/s; least ns of a run: {costs}", flush=True)


if __name__ == "__main__":
    main()
