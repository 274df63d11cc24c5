# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flows of TFRC alone through one bottleneck, in ns-2 and in lasthop.

`python tests/peers/tfrc_cases.py` runs ns-2 over all cases and writes `ns2_tfrc.csv`.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from tables import run_script, spread, write

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "tfrc.tcl"
TABLE = HERE / "ns2_tfrc.csv"
VARIANTS = ((1, 1.0), (2, 0.61), (3, 1.37))
"""Seed, and factor of the stagger."""
QUANTITIES = ("goodput_bps", "cov", "drops")
"""Sum of the flows, mean of the flows, count."""


@dataclass(frozen=True)
class TfrcCase:
    """So many flows; 10 Mbit/s, 100 ms, a drop-tail buffer of one bandwidth-delay product."""

    name: str
    flows: int
    damping: bool

    def ns2(self, seed: int, stagger: float) -> dict[str, float]:
        """One run of ns-2."""
        arguments = ["flows", self.flows, "damping", int(self.damping)]
        arguments += ["seed", seed, "stagger", stagger]
        found = run_script(SCRIPT, arguments)
        return {
            "goodput_bps": sum(found["goodput_bps"]),
            "cov": statistics.fmean(found["cov"]),
            "drops": found["drops"],
        }

    def scenario(self, seed: int, stagger: float) -> str:
        """The same as a scenario of lasthop."""
        text = (
            f'title = "{self.name}"\nduration = "300 s"\nwarmup = "50 s"\nseed = {seed}\n'
            '[[link]]\nname = "bottleneck"\nfrom = "r1"\nto = "r2"\nrate = "10 Mbit/s"\n'
            'delay = "1 ms"\nqueue = { limit = "84 packets" }\n'
        )
        for flow in range(self.flows):
            text += (
                f'[[flow]]\nname = "flow{flow}"\npath = ["r1", "r2"]\nrtt = "98 ms"\n'
                f'access = "1000 Mbit/s"\njitter = "0.1 ms"\n'
                f'sender = {{ kind = "tfrc", damping = {str(self.damping).lower()}, '
                "discount_floor = 0.5 }\n"
                f'start = "{flow * stagger * 100 / self.flows:g} ms"\n'
            )
        return text


CASES = tuple(
    TfrcCase(f"tfrc-{flows}{'-damped' if damping else ''}", flows, damping)
    for flows in (1, 4, 10)
    for damping in (True, False)
)


def main() -> int:
    """Write the table."""
    rows = []
    for case in CASES:
        runs = [case.ns2(seed, stagger) for seed, stagger in VARIANTS]
        rows.append({"name": case.name, **spread(runs, QUANTITIES)})
    write(TABLE, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
