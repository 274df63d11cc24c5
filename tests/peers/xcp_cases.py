# SPDX-License-Identifier: MIT OR Apache-2.0
"""One flow of XCP over a wire, in ns-2 and in lasthop.

`python tests/peers/xcp_cases.py` runs ns-2 over all cases and writes `ns2_xcp.csv`.
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "xcp.tcl"
TABLE = HERE / "ns2_xcp.csv"
SEEDS = (1, 2, 3)
QUANTITIES = ("goodput_bps", "drops", "retransmits", "timeouts")


@dataclass(frozen=True)
class XcpCase:
    """A wire of 5 Mbit/s, and what its router is told."""

    name: str
    told_mbps: float
    rtt_ms: float
    buffer: int
    loss: float = 0
    duration_s: float = 600

    def ns2(self, seed: int) -> dict[str, float]:
        """One run of ns-2."""
        arguments = ["told_mbps", self.told_mbps, "rtt_ms", self.rtt_ms, "buffer", self.buffer]
        arguments += ["loss", self.loss, "duration", self.duration_s, "seed", seed]
        command = ["ns", str(SCRIPT), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found: dict[str, float] = json.loads(done.stdout)
        return found

    def scenario(self, seed: int) -> str:
        """The same as a scenario of lasthop."""
        loss = f'loss = {{ kind = "bernoulli", p = {self.loss:g} }}\n' if self.loss else ""
        return (
            f'title = "{self.name}"\nduration = "{self.duration_s:g} s"\nwarmup = "10 s"\n'
            f'seed = {seed}\n[[link]]\nname = "wire"\nfrom = "r1"\nto = "r2"\nrate = "5 Mbit/s"\n'
            f'queue = {{ limit = "{self.buffer} packets" }}\nduplex = false\n'
            f'feedback = {{ kind = "xcp", capacity = "{self.told_mbps:g} Mbit/s" }}\n{loss}'
            f'[[flow]]\nname = "flow"\npath = ["r1", "r2"]\nrtt = "{self.rtt_ms:g} ms"\n'
            'packet = "1340 B"\nsender = { kind = "xcp", rules = "ns-2", timestamps = true, '
            'initial_window = 2, rto_min = "200 ms", rto_initial = "3 s" }\n'
        )


CASES = (
    XcpCase("right", told_mbps=5, rtt_ms=80, buffer=50, duration_s=60),
    XcpCase("overload-80", told_mbps=10, rtt_ms=80, buffer=50),
    XcpCase("overload-40", told_mbps=10, rtt_ms=40, buffer=100),
    XcpCase("loss-0.01", told_mbps=5, rtt_ms=200, buffer=200, loss=0.01, duration_s=1500),
    XcpCase("loss-0.1", told_mbps=5, rtt_ms=200, buffer=200, loss=0.1, duration_s=3000),
)


def row(case: XcpCase) -> dict[str, str]:
    """The mean and the standard deviation of each quantity."""
    runs = [case.ns2(seed) for seed in SEEDS]
    found = {"name": case.name}
    for key in QUANTITIES:
        values = [run[key] for run in runs]
        found[key] = f"{statistics.fmean(values):.6g}"
        found[f"{key}_sd"] = f"{statistics.stdev(values):.3g}"
    return found


def main() -> int:
    """Write the table."""
    rows = [row(case) for case in CASES]
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
