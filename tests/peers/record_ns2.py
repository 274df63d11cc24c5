# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs ns-2 over all cases and writes `ns2.csv` and `ns2_wlan.csv`.

Drop-tail without randomness depends on how the flows happen to be in step, so each case is run
with several staggers and seeds, and the mean and the standard deviation are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from peer_cases import CASES, Case
from tables import run_script, spread, write
from wlan_cases import WLAN_CASES, WLAN_VARIANTS, WlanCase

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parent.parent / "bench" / "peers"
TABLE = HERE / "ns2.csv"
WLAN_TABLE = HERE / "ns2_wlan.csv"
VARIANTS = ((1, 1.0), (2, 0.61), (3, 1.37))
"""Seed, and factor of the stagger, of the dumbbells."""
QUANTITIES = (
    "goodput_bps",
    "mean_queue_delay_s",
    "drops",
    "retransmits",
    "timeouts",
    "first_flow_share",
    "jain",
    "finish_s",
)
"""What is kept of each case, as NAME and NAME_sd."""


def run_ns2(case: Case | WlanCase, seed: int, stagger: float) -> dict[str, Any]:
    """One run of ns-2."""
    return run_script(SCRIPTS / case.script, case.ns2_arguments(seed, stagger))


def jain(goodputs: Sequence[float]) -> float:
    """Jain's index."""
    return sum(goodputs) ** 2 / len(goodputs) / sum(goodput**2 for goodput in goodputs)


def quantities(found: dict[str, Any]) -> dict[str, float | None]:
    """What is compared, from a run of ns-2; none where a quantity does not apply."""
    finishes = [finish for finish in found.get("finish_s", ()) if finish is not None]
    goodputs = found["flow_goodput_bps"]
    return {
        "goodput_bps": found["goodput_bps"],
        "mean_queue_delay_s": found.get("mean_queue_delay_s"),
        "drops": found.get("drops"),
        "retransmits": found["retransmits"],
        "timeouts": found["timeouts"],
        "first_flow_share": goodputs[0] / sum(goodputs),
        "jain": jain(goodputs),
        "finish_s": max(finishes, default=None),
    }


def settings_of(case: Case | WlanCase) -> dict[str, str]:
    """A case's settings, as the table has them."""
    settings = {key: str(value) for key, value in asdict(case).items()}
    if isinstance(case, Case):
        settings["rtts_ms"] = " ".join(f"{rtt:g}" for rtt in case.rtts_ms)
    return settings


def row(case: Case | WlanCase) -> dict[str, str]:
    """A case's settings, with the mean and the standard deviation of each quantity."""
    variants = VARIANTS if isinstance(case, Case) else WLAN_VARIANTS
    runs = [quantities(run_ns2(case, seed, stagger)) for seed, stagger in variants]
    return {**settings_of(case), **spread(runs, QUANTITIES)}


def main() -> int:
    """Writes both tables, or those named."""
    tables: dict[Path, Sequence[Case | WlanCase]] = {TABLE: CASES, WLAN_TABLE: WLAN_CASES}
    for table, cases in tables.items():
        if not sys.argv[1:] or table.name in sys.argv[1:]:
            rows = []
            for case in cases:
                print(case.name, flush=True)
                rows.append(row(case))
            write(table, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
