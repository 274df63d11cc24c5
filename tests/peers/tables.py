# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of what ns-2 gives: a line a case, each quantity by mean and standard deviation."""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any


def run_script(script: Path, arguments: Iterable[object]) -> dict[str, Any]:
    """One run of ns-2, by the line of JSON that its script prints."""
    command = ["ns", str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # Linux' agents and the wireless channel talk of themselves around it.
    line = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    found: dict[str, Any] = json.loads(line)
    return found


def spread(runs: Sequence[Mapping[str, Any]], quantities: Sequence[str]) -> dict[str, str]:
    """Mean and standard deviation over the runs; nothing of what does not apply."""
    found = {}
    for key in quantities:
        values = [value for run in runs if (value := run[key]) is not None]
        found[key] = f"{statistics.fmean(values):.6g}" if values else ""
        found[f"{key}_sd"] = f"{statistics.stdev(values):.3g}" if values else ""
    return found


def means(runs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Mean of each quantity that applies to all runs."""
    columns = {key: [run[key] for run in runs] for key in runs[0]}
    return {key: statistics.fmean(column) for key, column in columns.items() if None not in column}


def write(table: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Writes a table."""
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@cache
def stored(table: Path) -> dict[str, dict[str, str]]:
    """The lines of a table by their names."""
    with table.open(encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def allowance(row: Mapping[str, str], quantity: str, tolerance: float) -> tuple[float, float]:
    """What ns-2 gives, and how far from it one may be: a share of it, and three deviations."""
    reference, deviation = float(row[quantity]), float(row[f"{quantity}_sd"])
    return reference, tolerance * abs(reference) + 3 * deviation
