# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the agent costs: `python bench/agent.py`. It takes root, and processors that are idle.

A download over virtual Ethernet as fast as the machine goes, without the agent and with it (the
proxy; with `--pair` the access point's and the client's), in turns: the kernel counts how long each
of its programs runs, and what passes tells what is left of the throughput. A program that does
nothing sees the same packets: its time is that of the kernel's own counting, which is in the
others' as well. With `--copied` packets are as a card receives them, not super-packets of up to
64 kB. On a machine that others use, too, the least of several rounds is the nearest to
the truth.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "netns"))
from counted import NOTHING, copy_packets, counting, fast, programs, see_nothing
from house import AGENT, House, house
from pair import obey, stamp

DATA, ACK = "to_client", "to_server"
"""The agent's programs for packets of data and for acknowledgements."""
PROXY, PAIR = ("proxy",), ("ap", "client")
WHERE = {"proxy": ("router", "lan"), "ap": ("router", "lan"), "client": ("client", "eth")}
"""Where each agent is: namespace and device."""


def start(built: House, name: str, law: str) -> subprocess.Popen[str]:
    """An agent, where it belongs; the law is the proxy's."""
    return {"proxy": lambda: built.agent("--law", law, "--target", "25 ms"),
            "ap": lambda: stamp(built), "client": lambda: obey(built)}[name]()  # fmt: skip


def steered(
    built: House, names: Sequence[str], seconds: float, law: str, flows: int
) -> tuple[float, dict[str, list[float]]]:
    """What a download comes to with agents [bit/s]; of each program's loads a run's time [ns].

    In the order of the agents. What does nothing stands there for both ways, the way of data first.
    """
    known = programs()
    agents = {name: start(built, name, law) for name in names}
    past = programs()
    bps = fast(built, seconds, flows)
    costs: dict[str, list[float]] = {}
    for number, runs in programs().items():
        if number in past and (number not in known or runs.name == NOTHING):
            costs.setdefault(runs.name, []).append(runs.since(past[number]).each_ns())
    for name, agent in agents.items():
        where, device = WHERE[name]
        built.run(where, AGENT, "detach", "--dev", device)
        agent.wait()
    return bps, costs


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a download")
    parser.add_argument("--pair", action="store_true", help="`ap` and `client`, not the proxy")
    parser.add_argument("--law", choices=("share", "station"), default="share", help="the proxy's")
    parser.add_argument("--flows", type=int, default=1, help="connections of a download")
    parser.add_argument("--copied", action="store_true", help="packets as cards receive them")
    options = parser.parse_args()
    names = PAIR if options.pair else PROXY
    bare: list[float] = []
    rounds: list[tuple[float, dict[str, list[float]]]] = []
    with house() as built:
        built.run("router", "tc", "qdisc", "del", "dev", "lan", "root")
        if options.copied:
            copy_packets(built)
        see_nothing(built, "egress", "ingress")
        with counting(built):
            for number in range(options.rounds):
                bare.append(fast(built, options.seconds, options.flows))
                rounds.append(steered(built, names, options.seconds, options.law, options.flows))
                bps, costs = rounds[-1]
                took = "; ".join(
                    f"{name} {data:.0f} ns a packet of data, {ack:.0f} ns an ACK"
                    for name, data, ack in zip(names, costs[DATA], costs[ACK], strict=True)
                )
                egress, ingress = costs[NOTHING]
                print(
                    f"{number + 1}: {bare[-1] / 1e9:.2f} Gbit/s bare, {bps / 1e9:.2f} with;"
                    f" {took}; {egress:.0f} and {ingress:.0f} ns for nothing",
                    flush=True,
                )
    least = {
        what: [min(each) for each in zip(*(costs[what] for _, costs in rounds), strict=True)]
        for what in (DATA, ACK, NOTHING)
    }
    nothing = min(least[NOTHING])
    for name, data, ack in zip(names, least[DATA], least[ACK], strict=True):
        print(
            f"{name}: {data:.0f} ns a packet of data, {ack:.0f} ns an ACK;"
            f" less the {nothing:.0f} ns of nothing {data - nothing:.0f} and {ack - nothing:.0f}"
        )
    parts = sorted(bps / plain for (bps, _), plain in zip(rounds, bare, strict=True))
    print(
        f"each the least; the median round with it has {statistics.median(parts):.3f}"
        f" of that without just before it, of {parts[0]:.3f} to {parts[-1]:.3f}"
    )


if __name__ == "__main__":
    main()
