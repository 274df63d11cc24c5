# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the agent costs: `python bench/agent.py`. It takes root, and processors that are idle.

A download over virtual Ethernet as fast as the machine goes, without the agent and with it, in
turns: the kernel counts how long each of its programs runs, and what passes tells what is left of
the throughput. A program that does nothing sees the same packets: its time is that of the kernel's
own counting, which is in the others' as well. On a machine that others use, too, the least of
several rounds is the nearest to the truth.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "netns"))
from counted import NOTHING, counting, fast, programs, see_nothing
from house import AGENT, House, house

DATA, ACK = "to_client", "to_server"
"""The agent's programs for packets of data and for acknowledgements."""


def steered(built: House, seconds: float) -> tuple[float, dict[str, list[float]]]:
    """What a download comes to with the agent [bit/s]; of each program's loads a run's time [ns].

    What does nothing stands there for both ways, the way of data first.
    """
    known = programs()
    agent = built.agent("--target", "25 ms")
    past = programs()
    bps = fast(built, seconds)
    costs: dict[str, list[float]] = {}
    for number, runs in programs().items():
        if number in past and (number not in known or runs.name == NOTHING):
            costs.setdefault(runs.name, []).append(runs.since(past[number]).each_ns())
    built.run("router", AGENT, "detach", "--dev", "lan")
    agent.wait()
    return bps, costs


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a download")
    options = parser.parse_args()
    bare: list[float] = []
    rounds: list[tuple[float, dict[str, list[float]]]] = []
    with house() as built:
        built.run("router", "tc", "qdisc", "del", "dev", "lan", "root")
        see_nothing(built, "egress", "ingress")
        with counting(built):
            for number in range(options.rounds):
                bare.append(fast(built, options.seconds))
                rounds.append(steered(built, options.seconds))
                bps, costs = rounds[-1]
                (data,), (ack,), (egress, ingress) = costs[DATA], costs[ACK], costs[NOTHING]
                print(
                    f"{number + 1}: {bare[-1] / 1e9:.2f} Gbit/s bare, {bps / 1e9:.2f} with"
                    f" the agent; {data:.0f} ns a packet of data, {ack:.0f} ns an ACK,"
                    f" {egress:.0f} and {ingress:.0f} ns for nothing",
                    flush=True,
                )
    data, ack, nothing = (
        min(min(costs[name]) for _, costs in rounds) for name in (DATA, ACK, NOTHING)
    )
    print(
        f"least: {data:.0f} ns a packet of data, {ack:.0f} ns an ACK,"
        f" {nothing:.0f} ns for nothing; the best round with it has"
        f" {max(bps for bps, _ in rounds) / max(bare):.3f} of the best without"
    )


if __name__ == "__main__":
    main()
