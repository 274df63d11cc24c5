# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times single laws and elements: `python bench/parts.py`, beside what was kept last.

The timing is criterion's (`cargo bench --package lasthop-core`). Times are those of one machine:
the history says which, and only a rough change means something from one to another.

    python bench/parts.py            time all parts
    python bench/parts.py --keep     and keep the times in bench/history/parts.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HISTORY = ROOT / "bench" / "history" / "parts.json"
SECONDS = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Times; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", action="store_true", help="add the times to the history")
    options = parser.parse_args(arguments)
    entries: list[dict[str, Any]] = []
    if HISTORY.exists():
        entries = json.loads(HISTORY.read_text(encoding="utf-8"))
    before = entries[-1]["median_ns"] if entries else {}
    times = measure()
    print(f"{'part':<32}{'median [ns]':>13}{'kept':>8}")
    for part, median_ns in times.items():
        kept = f"{before[part]:.1f}" if part in before else "–"
        print(f"{part:<32}{median_ns:>13.1f}{kept:>8}")
    if options.keep:
        entries.append(
            {
                "date": datetime.now(UTC).date().isoformat(),
                "commit": output(["git", "describe", "--always", "--dirty"]),
                "rustc": output(["rustc", "--version"]),
                "processor": processor(),
                "median_ns": times,
            }
        )
        HISTORY.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
        print(f"kept in {HISTORY.relative_to(ROOT)}")
    return 0


def measure() -> dict[str, float]:
    """The median time of each part [ns], by its name."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    bench = ["cargo", "bench", "--quiet", "--package", "lasthop-core", "--bench", "parts", "--"]
    bench += ["--noplot", "--warm-up-time", "0.5", "--measurement-time", str(SECONDS)]
    bench += ["--save-baseline", "now"]
    subprocess.run(bench, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    times = {}
    for file in (target / "criterion").rglob("now/estimates.json"):
        part = json.loads(file.with_name("benchmark.json").read_text(encoding="utf-8"))["full_id"]
        estimates = json.loads(file.read_text(encoding="utf-8"))
        times[part] = round(estimates["median"]["point_estimate"], 2)
    return dict(sorted(times.items()))


def processor() -> str:
    """The model of the processor, as Linux names it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown"


def output(command: Sequence[str]) -> str:
    """What a command prints."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
