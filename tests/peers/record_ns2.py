# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs ns-2 over all cases and writes `ns2.csv` and `ns2_wlan.csv`.

Drop-tail without randomness depends on how the flows happen to be in step, so each case is run
with several staggers and seeds, and the mean and the standard deviation are kept.
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from peer_cases import CASES, Case
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
    "finish_s",
)
"""What is kept of each case, as NAME and NAME_sd."""


def run_ns2(case: Case | WlanCase, seed: int, stagger: float) -> dict[str, Any]:
    """One run of ns-2."""
    command = ["ns", str(SCRIPTS / case.script), *case.ns2_arguments(seed, stagger)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # Linux' agents and the wireless channel talk of themselves around it.
    line = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    found: dict[str, Any] = json.loads(line)
    return found


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
    settings = settings_of(case)
    variants = VARIANTS if isinstance(case, Case) else WLAN_VARIANTS
    runs = [quantities(run_ns2(case, seed, stagger)) for seed, stagger in variants]
    for key in QUANTITIES:
        values = [value for run in runs if (value := run[key]) is not None]
        settings[key] = f"{statistics.fmean(values):.6g}" if values else ""
        settings[f"{key}_sd"] = f"{statistics.stdev(values):.3g}" if values else ""
    return settings


def write(table: Path, cases: Sequence[Case | WlanCase]) -> None:
    """Runs the cases and writes their table."""
    rows = []
    for case in cases:
        print(case.name, flush=True)
        rows.append(row(case))
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> int:
    """Writes both tables, or those named."""
    tables: dict[Path, Sequence[Case | WlanCase]] = {TABLE: CASES, WLAN_TABLE: WLAN_CASES}
    for table, cases in tables.items():
        if not sys.argv[1:] or table.name in sys.argv[1:]:
            write(table, cases)
    return 0


if __name__ == "__main__":
    sys.exit(main())
