# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures how fast the emulator may go: `make bench`, or `python bench/emulate.py`. It takes root.

A bulk flow of the kernel keeps an access point of constant rate busy, one rate after the other.
What counts is how late packets leave, with what they waited before they were taken in, against the
20 ms that they are to take one way: a rate is kept if 99 % of the packets are at most 1 % of that
late, 200 µs, no packet came too fast to be taken, and the emulator finds nothing else amiss. The
ceiling is the greatest rate that is kept. On a machine that others use, too, ``--attempts`` takes
the best of several runs of a rate. A run that is "late" the emulator has found good all the same,
one that is "refused" it has not. Large packets tell the bit rate, small ones the packet rate.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

WAY_S = 0.02
MOST_ERROR = 0.01
MEGA = 1e6
WARMUP_S = 2

SCENARIO = """
title    = "An access point of {rate_mbps} Mbit/s"
duration = "{seconds} s"
warmup   = "{warmup} s"
[[ap]]
name = "ap"
radio = {{ kind = "constant", rate = "{rate_mbps} Mbit/s" }}
queue = {{ limit = "{limit} packets" }}
[[flow]]
name = "bulk"
station = "phone"
rtt = "40 ms"
packet = "{packet} B"
count = {flows}
sender = {{ kind = "kernel", congestion_control = "cubic" }}
"""

LARGE, SMALL = 1500, 320
"""Sizes of the packets: the usual, and so small that the packets are what costs."""

RATES = {
    LARGE: (100, 200, 400, 600, 800, 1000, 1200, 1600, 2000, 2500, 3000, 4000),
    SMALL: (50, 100, 150, 200, 250, 300, 400, 500, 600, 800),
}


@dataclass(frozen=True)
class Point:
    """One run at one rate."""

    packet: int
    offload: bool
    rate_mbps: int
    goodput_mbps: float
    packets_per_s: float
    """Data and acknowledgements that left the network."""
    packets_per_cpu_s: float
    lag_p50_s: float
    lag_p99_s: float
    stall_max_s: float
    """The longest that the machine let the emulator stand still."""
    overruns: int
    faults: list[str]

    @property
    def is_kept(self) -> bool:
        """Whether the packets left as they were to."""
        return self.lag_p99_s <= MOST_ERROR * WAY_S and not self.overruns and not self.faults


def measure(packet: int, offload: bool, rate_mbps: int, seconds: int) -> Point:
    """Runs one rate."""
    product = rate_mbps * MEGA * 2 * WAY_S / 8 / packet
    text = SCENARIO.format(
        rate_mbps=rate_mbps,
        seconds=seconds,
        warmup=WARMUP_S,
        packet=packet,
        limit=max(100, round(product)),
        flows=4,
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "bench.toml")
        file.write_text(text, encoding="utf-8")
        more = ["--offload"] if offload else []
        command = [sys.executable, "-m", "lasthop", "emu", str(file), "--json", "--allow-lag"]
        done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    summary = json.loads(done.stdout)
    kept = summary["emulation"]
    return Point(
        packet=packet,
        offload=offload,
        rate_mbps=rate_mbps,
        goodput_mbps=summary["system"]["goodput_bps"] / MEGA,
        packets_per_s=kept["packets"] / summary["duration_s"],
        packets_per_cpu_s=kept["packets"] / kept["cpu_s"],
        lag_p50_s=kept["lag_p50_s"],
        lag_p99_s=kept["lag_p99_s"],
        stall_max_s=kept["stall_max_s"],
        overruns=kept["overruns"],
        faults=kept["faults"],
    )


def main() -> None:
    """Prints a row a run and the ceilings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=int, default=8, help=f"length of each run, more than {WARMUP_S} (8)"
    )
    parser.add_argument(
        "--attempts", type=int, default=1, help="runs of each rate, of which the best counts (1)"
    )
    parser.add_argument("--json", metavar="FILE", help="write every run")
    options = parser.parse_args()
    if options.seconds <= WARMUP_S:
        what = f"wanted more than the {WARMUP_S} that each run warms up for"
        print(f"emulate: --seconds {options.seconds}: {what}", file=sys.stderr)
        sys.exit(2)
    points = []
    print(
        "packet  offload  Mbit/s  goodput  kpkt/s  kpkt/CPU-s"
        "  lag p50 [µs]  p99 [µs]  stall [ms]  overruns"
    )
    for packet, offload in ((LARGE, False), (LARGE, True), (SMALL, False)):
        for rate_mbps in RATES[packet]:
            runs = [measure(packet, offload, rate_mbps, options.seconds)]
            while not runs[-1].is_kept and len(runs) < options.attempts:
                runs.append(measure(packet, offload, rate_mbps, options.seconds))
            points += runs
            point = min(runs, key=lambda run: (not run.is_kept, bool(run.faults), run.lag_p99_s))
            print(
                f"{packet:6}  {'yes' if offload else 'no':>7}  {rate_mbps:6}"
                f"  {point.goodput_mbps:7.0f}  {point.packets_per_s / 1e3:6.0f}"
                f"  {point.packets_per_cpu_s / 1e3:10.0f}  {point.lag_p50_s * 1e6:12.1f}"
                f"  {point.lag_p99_s * 1e6:8.0f}  {point.stall_max_s * 1e3:10.1f}"
                f"  {point.overruns:8}"
                f"{'' if point.is_kept else '  refused' if point.faults else '  late'}",
                flush=True,
            )
            if point.goodput_mbps < 0.5 * rate_mbps:
                break  # The machine gives no more.
        here = [p for p in points if (p.packet, p.offload) == (packet, offload) and p.is_kept]
        if here:
            best = max(here, key=lambda p: p.packets_per_s)
            print(
                f"ceiling: {best.goodput_mbps:.0f} Mbit/s of payload, "
                f"{best.packets_per_s / 1e3:.0f} kpkt/s\n"
            )
        else:
            print("ceiling: below the least rate\n")
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(p) for p in points], indent=1))


if __name__ == "__main__":
    main()
