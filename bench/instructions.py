# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts what a packet costs in instructions and cache misses, under valgrind's cachegrind.

Unlike time, a count does not depend on what else the machine does, so a loss of a few per cent
shows. The model of the caches is the same on every machine: D1 48 KiB in 12 ways, the last level
1 MiB in 16. Counts depend on the compiler, so they are compared with those of the same one only.

    python bench/instructions.py            count all cases, beside the kept counts
    python bench/instructions.py --keep     and keep them in bench/history/instructions.json
    python bench/instructions.py --check    compare three short cases; fails if one costs 3 % more
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure import CommandError, run
from networks import NETWORKS

ROOT = Path(__file__).resolve().parent.parent
HISTORY = ROOT / "bench" / "history" / "instructions.json"
SCENARIOS = ROOT / "scenarios" / "bench"
CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=49152,12,64", "--LL=1048576,16,64")

MOST_GROWTH = 0.03
SETUP_S = 1e-6
"""So short a run builds the network and does next to nothing else."""


class UnavailableError(Exception):
    """Counts cannot be taken or compared here; the message says why."""


@dataclass(frozen=True)
class Case:
    """A scenario at a length."""

    name: str
    scenario: Callable[[], str]
    duration_s: float
    is_short: bool = False
    """Whether it is one of those that ``--check`` compares."""


def _file(name: str) -> Callable[[], str]:
    return (SCENARIOS / f"{name}.toml").read_text


CASES = (
    Case("w1", _file("w1"), 20),
    Case("f", _file("f"), 200),
    Case("w4", _file("w4"), 2),
    Case("1000-aps", NETWORKS["1000-aps"], 0.5),
    Case("3000-stations", NETWORKS["3000-stations"], 20),
    Case("100000-flows", NETWORKS["100000-flows"], 0.2),
    Case("w1-short", _file("w1"), 4, is_short=True),
    Case("f-short", _file("f"), 30, is_short=True),
    Case("w4-short", _file("w4"), 0.3, is_short=True),
)


@dataclass(frozen=True)
class Count:
    """What one case cost."""

    duration_s: float
    packets: int
    """Data packets delivered."""
    events: int
    instructions: int
    setup_instructions: int
    """Those of the program's start and of building the network."""
    d1_misses: int
    """Reads and writes that miss the first-level data cache."""
    ll_misses: int
    """Reads and writes, instructions among them, that miss the last level."""
    peak_bytes: int
    """Peak memory of the process, not under valgrind."""

    def per_packet(self, what: str) -> float:
        """Any of the counts over the packets."""
        return float(getattr(self, what)) / max(self.packets, 1)

    @property
    def work_per_packet(self) -> float:
        """Instructions a packet, without those of the start and the building."""
        return (self.instructions - self.setup_instructions) / max(self.packets, 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Counts; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--keep", action="store_true", help="add the counts to the history")
    what.add_argument("--check", action="store_true", help="compare short cases with the kept ones")
    names = [case.name for case in CASES]
    parser.add_argument("--only", metavar="LIST", help=f"cases, of {','.join(names)} (all)")
    parser.add_argument("--run", type=Path, metavar="PROGRAM", help="the `run` example, if built")
    options = parser.parse_args(arguments)
    chosen = options.only.split(",") if options.only else names
    for name in chosen:
        if name not in names:
            parser.error(f"{name!r} is none of {', '.join(names)}")
    cases = [case for case in CASES if case.name in chosen]
    try:
        if options.check:
            return check([case for case in cases if case.is_short], program(options.run))
        show(cases, program(options.run), options.keep)
    except UnavailableError as why:
        print(f"SKIPPED instruction counts: {why}")
    except CommandError as why:
        print(f"FAILED {why}", file=sys.stderr)
        return 1
    return 0


def check(cases: Sequence[Case], binary: Path) -> int:
    """Compares with what this compiler's build cost when it was last kept."""
    dearer = []
    for case in cases:
        entry = latest(case, the_same_compiler)
        if entry is None:
            raise UnavailableError(f"none are kept for {toolchain()} on {platform.machine()}")
        before = entry["cases"][case.name]["instructions"]
        now = cachegrind(binary, case.scenario(), case.duration_s, caches=False)["Ir"]
        growth = now / before - 1
        word = "MORE" if growth > MOST_GROWTH else "as kept" if growth > -MOST_GROWTH else "less"
        if growth > MOST_GROWTH:
            dearer.append(f"{case.name} (kept at {entry['commit']})")
        print(f"{case.name:<10} {now:>14,} instructions, kept {before:>14,}: {growth:+.2%}  {word}")
    if dearer:
        print(
            f"more than {MOST_GROWTH:.0%} dearer: {', '.join(dearer)}: find out why, or keep the "
            "new counts and say so (make bench-keep)",
            file=sys.stderr,
        )
    return int(bool(dearer))


def show(cases: Sequence[Case], binary: Path, keep: bool) -> None:
    """Prints a line a case beside what was kept last, and keeps the counts if asked to."""
    print(
        f"{'case':<15}{'packets':>10}{'events/p':>9}{'instr/p':>9}{'kept':>8}{'work/p':>8}"
        f"{'set-up [M]':>12}{'D1/p':>11}{'beyond 1 MiB/p':>16}{'MiB':>7}"
    )
    counts = {}
    for case in cases:
        counts[case.name] = count = measure(case, binary)
        kept = latest(case, lambda _: True)
        before = Count(**kept["cases"][case.name]).per_packet("instructions") if kept else None
        print(
            f"{case.name:<15}{count.packets:>10}{count.per_packet('events'):>9.2f}"
            f"{count.per_packet('instructions'):>9.0f}"
            f"{'–' if before is None else format(before, '.0f'):>8}{count.work_per_packet:>8.0f}"
            f"{count.setup_instructions / 1e6:>12.1f}{count.per_packet('d1_misses'):>11.2f}"
            f"{count.per_packet('ll_misses'):>16.2f}{count.peak_bytes / 2**20:>7.0f}",
            flush=True,
        )
    if keep:
        entries = history()
        entries.append(
            {
                "date": datetime.now(UTC).date().isoformat(),
                "commit": git("describe", "--always", "--dirty"),
                "rustc": toolchain(),
                "machine": platform.machine(),
                "valgrind": output(["valgrind", "--version"]),
                "cases": {name: asdict(count) for name, count in counts.items()},
            }
        )
        HISTORY.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
        print(f"kept in {HISTORY.relative_to(ROOT)}")


def measure(case: Case, binary: Path) -> Count:
    """Counts one case."""
    text = case.scenario()
    setup = cachegrind(binary, text, SETUP_S, caches=False)["Ir"]
    found = cachegrind(binary, text, case.duration_s, caches=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scenario.toml")
        file.write_text(text, encoding="utf-8")
        finished = run([str(binary), str(file), length(case.duration_s)])
    summary = json.loads(finished.stdout)
    return Count(
        duration_s=case.duration_s,
        packets=summary["packets"],
        events=summary["events"],
        instructions=found["Ir"],
        setup_instructions=setup,
        d1_misses=found["D1mr"] + found["D1mw"],
        ll_misses=found["ILmr"] + found["DLmr"] + found["DLmw"],
        peak_bytes=finished.usage.peak_bytes,
    )


def cachegrind(binary: Path, text: str, duration_s: float, caches: bool) -> dict[str, int]:
    """The totals of a run under cachegrind, by the names that it gives them."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "scenario.toml"), Path(folder, "counts")
        file.write_text(text, encoding="utf-8")
        model = CACHES if caches else ("--cache-sim=no",)
        valgrind = ["valgrind", "--tool=cachegrind", "--quiet", f"--cachegrind-out-file={out}"]
        run([*valgrind, *model, str(binary), str(file), length(duration_s)])
        lines = out.read_text(encoding="utf-8", errors="replace").splitlines()
    events = next(line for line in lines if line.startswith("events:")).split()[1:]
    totals = next(line for line in lines if line.startswith("summary:")).split()[1:]
    return dict(zip(events, map(int, totals), strict=True))


def length(duration_s: float) -> str:
    """The override that gives a scenario its length."""
    return f"duration={duration_s * 1e6:.0f} us"


def program(given: Path | None) -> Path:
    """The `run` example, built as a release is; raises `UnavailableError`."""
    if not shutil.which("valgrind"):
        raise UnavailableError("no valgrind; as root: apt-get install valgrind")
    if given is not None:
        return given
    other = sorted(key for key in os.environ if key.startswith("CARGO_PROFILE_RELEASE_"))
    if other or os.environ.get("RUSTFLAGS"):
        raise UnavailableError(f"{(other or ['RUSTFLAGS'])[0]} is set, so the build is another one")
    build = ["cargo", "build", "--release", "--workspace", "--example", "run"]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandError(f"{' '.join(build)}: {done.stderr.strip()[-500:]}")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "run"


def toolchain() -> str:
    """The compiler, `rustc 1.95.0 (…)`, of the toolchain that the project pins."""
    return output(["rustc", "--version"])


def history() -> list[dict[str, Any]]:
    """What was kept, the newest last."""
    entries: list[dict[str, Any]] = []
    if HISTORY.exists():
        entries = json.loads(HISTORY.read_text(encoding="utf-8"))
    return entries


def latest(case: Case, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
    """The newest entry that fits and has the case."""
    entries = (entry for entry in reversed(history()) if case.name in entry["cases"])
    return next((entry for entry in entries if fits(entry)), None)


def the_same_compiler(entry: dict[str, Any]) -> bool:
    """Whether an entry's counts can be compared with those taken here."""
    return (entry["rustc"], entry["machine"]) == (toolchain(), platform.machine())


def git(*arguments: str) -> str:
    """What git says."""
    return output(["git", *arguments])


def output(command: Sequence[str]) -> str:
    """What a command prints."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
