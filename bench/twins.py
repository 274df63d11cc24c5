# SPDX-License-Identifier: MIT OR Apache-2.0
"""Thirty networks that are not shipped, in the simulator and in the kernel: `twins.py [--seeds N]`.

Each is one bottleneck, its rate, round-trip time, buffer, queue discipline, random loss, flows and
congestion controls drawn from a fixed stream. A row tells the kernel's goodput and mean queueing
delay over the simulator's. In a simulation packets meet in the same nanosecond again and again,
and which of two is dropped decides a run; in a kernel that is chance. So each network is simulated
with several round-trip times, longer by what a host takes, and a ratio is of means: `*` marks one
that is off by more than 5 % or 10 %, `~` one that is, but whose emulations lie among the
simulations. It takes root, as `lasthop emu` does.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COUNT = 30
GOODPUT, DELAY = 0.05, 0.1
"""What a row may be off by."""
STREAM = 20_080_114
"""Seed of the draw."""
HOST_MS = (0.02, 0.5)
"""What hosts add to a round-trip time, between."""
STAGGER_MS = (90.0, 110.0)
"""How far apart flows start, between."""
ATTEMPTS = 3
"""Emulations of which the last counts as spoilt if all are."""
AQM = {
    "drop-tail": "",
    "codel": ', aqm = "codel"',
    "fq-codel": ', aqm = "fq-codel"',
    "red": ', aqm = "red"',
}


@dataclass(frozen=True)
class Network:
    """One bottleneck."""

    rate: float
    rtt: float
    share: float
    aqm: str
    loss: float
    reno: int
    cubic: int

    @property
    def buffer(self) -> int:
        """Packets that wait: a share of bandwidth times delay, and two a flow at least."""
        in_flight = self.rate * 1e6 * self.rtt * 1e-3 / 12_000
        return max(round(self.share * in_flight), 2 * (self.reno + self.cubic), 8)

    def scenario(self, length: int, host_ms: float, stagger_ms: float) -> str:
        """The file, with hosts that take so long."""
        flows = [(n, name) for n, name in ((self.reno, "reno"), (self.cubic, "cubic")) if n]
        loss = f'loss = {{ kind = "bernoulli", p = {self.loss} }}' if self.loss else ""
        text = f"""
title = "A network of bench/twins.py"
duration = "{length} s"
warmup = "5 s"

[[link]]
name = "core"
from = "server"
to = "client"
rate = "{self.rate} Mbit/s"
duplex = false
queue = {{ limit = "{self.buffer} packets"{AQM[self.aqm]} }}
{loss}
"""
        for place, (count, name) in enumerate(flows):
            text += f"""
[[flow]]
name = "{name}"
path = ["server", "client"]
count = {count}
start = "{place * stagger_ms / 2:.3f} ms"
stagger = "{stagger_ms:.3f} ms"
rtt = "{self.rtt + host_ms:.3f} ms"
sender = "linux-{name}"
receiver = "linux"
"""
        return text

    def name(self) -> str:
        """What it is, in a line."""
        loss = f"loss {self.loss:.2%}" if self.loss else ""
        return (
            f"{self.rate:4} Mbit/s {self.rtt:5} ms {self.reno} reno {self.cubic} cubic"
            f" {self.buffer:4} packets {self.aqm:9} {loss:10}"
        )


def drawn() -> list[Network]:
    """The thirty."""
    stream = random.Random(STREAM)

    def between(low: float, high: float) -> float:
        """One as often below the geometric mean as above it."""
        return round(low * math.exp(math.log(high / low) * stream.random()), 1)

    networks = []
    for i in range(COUNT):
        flows = stream.randint(1, 8)
        reno = (flows, 0, stream.randint(0, flows))[i % 3]
        networks.append(
            Network(
                rate=between(2, 80),
                rtt=between(5, 300),
                share=between(0.3, 4),
                aqm=stream.choice(["drop-tail", "drop-tail", *AQM]),
                loss=stream.choice([0.0, 0.0, 0.001, 0.01]),
                reno=reno,
                cubic=flows - reno,
            )
        )
    return networks


Measured = tuple[float, float]
"""Goodput [bit/s] and mean queueing delay [s]."""


def summary_of(verb: str, text: str, seed: int, *options: str) -> dict[str, Any] | None:
    """What a run tells; none where real time was not kept."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "network.toml")
        file.write_text(text)
        command = [sys.executable, "-m", "lasthop", verb, str(file), "--json", "--seed", str(seed)]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if done.returncode == 1 and done.stdout:
        return None
    if done.returncode:
        sys.exit(f"{Path(sys.argv[0]).stem}: {done.stderr.strip()}")
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def measured(verb: str, text: str, seed: int) -> Measured | None:
    """What of it counts."""
    summary = summary_of(verb, text, seed)
    if not summary:
        return None
    goodput = sum(flow["goodput_bps"] for flow in summary["flows"])
    return goodput, summary["queues"][0]["mean_delay_s"]


def emulated(network: Network, length: int, seed: int) -> Measured | None:
    """The kernel's, in one of a few attempts."""
    text = network.scenario(length, 0.0, 100.0)
    for _ in range(ATTEMPTS):
        if one := measured("emu", text, seed):
            return one
    return None


def simulated(network: Network, length: int, phases: int, seeds: int) -> list[Measured]:
    """The simulator's, with hosts of several speeds and the same random losses."""
    stream = random.Random(network.name())
    texts = [
        network.scenario(length, stream.uniform(*HOST_MS), stream.uniform(*STAGGER_MS))
        for _ in range(phases)
    ]
    runs = [measured("run", text, 1 + number % seeds) for number, text in enumerate(texts)]
    return [run for run in runs if run]


def judged(real: list[float], played: list[float], most: float) -> tuple[str, bool]:
    """The ratio of means with its mark, and whether it is off."""
    ratio = statistics.mean(real) / statistics.mean(played)
    is_off = abs(ratio - 1) > most
    is_among = all(min(played) <= one <= max(played) for one in real)
    mark = (" ", "~" if is_among else "*")[is_off]
    spread = (
        f"{min(played) / statistics.mean(played):.2f}–{max(played) / statistics.mean(played):.2f}"
    )
    return f"{ratio:.3f}{mark} (simulated {spread})", is_off and not is_among


def main() -> None:
    """Runs all and prints a row each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="emulations of each network (1)")
    parser.add_argument("--phases", type=int, default=8, help="simulations of each network (8)")
    parser.add_argument("--length", type=int, default=30, help="seconds of each (30)")
    parser.add_argument("--jobs", type=int, default=4, help="emulations at once (4)")
    parser.add_argument(
        "--only", default="", metavar="N,N", help="numbers of networks, from 0 (all)"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="keep emulations here; those in it are not run"
    )
    parser.add_argument("--emulate", action="store_true", help="nothing but what is to be kept")
    options = parser.parse_args()
    known = drawn()
    chosen = [int(word) for word in options.only.split(",") if word] or range(COUNT)
    asked = [(n, seed) for n in chosen for seed in range(1, options.seeds + 1)]
    kept: dict[str, Measured | None] = {}
    if options.keep and options.keep.exists():
        kept = json.loads(options.keep.read_text())

    def key(n: int, seed: int) -> str:
        return f"{known[n].name()}, {options.length} s, {seed}"

    missing = [one for one in asked if not kept.get(key(*one))]
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = pool.map(lambda one: emulated(known[one[0]], options.length, one[1]), missing)
        for one, run in zip(missing, runs, strict=True):
            kept[key(*one)] = run
            if options.keep:
                options.keep.write_text(json.dumps(kept))
    if options.emulate:
        return
    off = 0
    for n in chosen:
        real = [run for number, seed in asked if number == n and (run := kept[key(n, seed)])]
        name = f"{n:2} {known[n].name()}"
        if not real:
            print(f"{name}  real time was not kept", flush=True)
            continue
        played = simulated(known[n], options.length, options.phases, options.seeds)
        goodput, is_off = judged([r[0] for r in real], [p[0] for p in played], GOODPUT)
        delay, is_late = judged([r[1] for r in real], [p[1] for p in played], DELAY)
        off += is_off or is_late
        print(f"{name}  goodput {goodput}  delay {delay}", flush=True)
    wanted = f"{GOODPUT:.0%} of goodput or {DELAY:.0%} of delay"
    print(f"{off} of {len(chosen)} are off by more than {wanted}")


if __name__ == "__main__":
    main()
