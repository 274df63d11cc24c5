# SPDX-License-Identifier: MIT OR Apache-2.0
"""Thirty networks that are not shipped, in the simulator and in the kernel: `twins.py [--seeds N]`.

Each is one bottleneck, its rate, round-trip time, buffer, flows and congestion control drawn from a
fixed stream. A row tells the kernel's goodput and mean queueing delay over the simulator's; those
off by more than 5 % and 10 % are marked. It takes root, as `lasthop emu` does.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

COUNT = 30
GOODPUT, DELAY = 0.05, 0.1
"""What a row may be off by."""
STREAM = 20_080_114
"""Seed of the draw."""
SCENARIO = "reality-constant"


@dataclass(frozen=True)
class Network:
    """One bottleneck."""

    rate: int
    rtt: int
    flows: int
    share: float
    control: str

    @property
    def buffer(self) -> int:
        """Packets that wait: a share of bandwidth times delay, and two a flow at least."""
        in_flight = self.rate * 1e6 * self.rtt * 1e-3 / 12_000
        return max(round(self.share * in_flight), 2 * self.flows, 8)

    def settings(self, length: int) -> list[str]:
        """What of the shipped scenario of one flow over one link it changes."""
        values = {
            "duration": f"{length} s",
            "link[0].rate": f"{self.rate} Mbit/s",
            "link[0].queue.limit": f"{self.buffer} packets",
            "flow[0].count": self.flows,
            "flow[0].stagger": "100 ms",
            "flow[0].rtt": f"{self.rtt} ms",
            "flow[0].sender": f"linux-{self.control}",
        }
        return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]

    def name(self) -> str:
        """What it is, in a line."""
        return (
            f"{self.rate:3} Mbit/s {self.rtt:3} ms {self.flows:2} {self.control:5}"
            f" {self.buffer:4} packets"
        )


def drawn() -> list[Network]:
    """The thirty."""
    stream = random.Random(STREAM)
    return [
        Network(
            rate=stream.choice([1, 2, 5, 10, 20, 50, 100]),
            rtt=stream.choice([5, 10, 20, 50, 100, 200]),
            flows=stream.choice([1, 2, 4, 8, 16]),
            share=stream.choice([0.25, 0.5, 1.0, 2.0, 4.0]),
            control=("reno", "cubic")[i % 2],
        )
        for i in range(COUNT)
    ]


def measured(verb: str, settings: list[str], seed: int) -> tuple[float, float] | None:
    """Goodput and mean queueing delay; none where real time was not kept."""
    lasthop = [sys.executable, "-m", "lasthop", verb, SCENARIO]
    command = [*lasthop, *settings, "--json", "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 1 and done.stdout:
        return None
    if done.returncode:
        sys.exit(f"twins: {done.stderr.strip()}")
    summary: dict[str, Any] = json.loads(done.stdout)
    goodput = sum(flow["goodput_bps"] for flow in summary["flows"])
    return goodput, summary["queues"][0]["mean_delay_s"]


def main() -> None:
    """Runs all and prints a row each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="runs of each network (1)")
    parser.add_argument("--length", type=int, default=30, help="seconds of each (30)")
    parser.add_argument("--jobs", type=int, default=4, help="emulations at once (4)")
    options = parser.parse_args()
    networks = drawn()
    settings = [network.settings(options.length) for network in networks]
    seeds = range(1, options.seeds + 1)
    asked = [(number, seed) for number in range(COUNT) for seed in seeds]
    off = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = pool.map(lambda one: measured("emu", settings[one[0]], one[1]), asked)
        kernel = dict(zip(asked, runs, strict=True))
        for number, network in enumerate(networks):
            ratios = []
            for seed in seeds:
                real, played = kernel[number, seed], measured("run", settings[number], seed)
                if real and played:
                    ratios.append((real[0] / played[0], real[1] / played[1]))
            if not ratios:
                print(f"{network.name()}  real time was not kept")
                continue
            goodput, delay = (statistics.mean(column) for column in zip(*ratios, strict=True))
            marks = (
                f"{'*' if abs(goodput - 1) > GOODPUT else ' '}",
                f"{'*' if abs(delay - 1) > DELAY else ' '}",
            )
            off += "*" in marks
            print(
                f"{network.name()}  goodput {goodput:.3f}{marks[0]} delay {delay:.3f}{marks[1]}",
                flush=True,
            )
    print(f"{off} of {COUNT} are off by more than {GOODPUT:.0%} of goodput or {DELAY:.0%} of delay")


if __name__ == "__main__":
    main()
