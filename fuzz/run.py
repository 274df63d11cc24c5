# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the fuzz targets under libFuzzer: ``make fuzz``, or ``python fuzz/run.py [TARGET]...``.

The compiler that the project pins can count which branches are taken, so nothing but a C++ compiler
is needed. What was found to reach new code is kept in ``out/fuzz`` from run to run; what made a
target fail lies there as ``TARGET-crash-…``, and is to go into ``fuzz/corpus`` with its mend.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import lasthop

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "fuzz"
TARGETS = {
    "scenario": ["fuzz/corpus/scenario", "scenarios"],
    "trace": ["fuzz/corpus/trace", "scenarios/traces"],
    "frame": ["fuzz/corpus/frame"],
}
"""Each target's folders to start from."""

MOST_BYTES = {"scenario": 2000, "trace": 4000, "frame": 200}
MOST_MIB = 2048
COVERAGE = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
)


def build() -> Path:
    """Builds the targets so that branches are counted; returns the folder of the programs."""
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True, cwd=ROOT)
    host = next(line.split()[1] for line in told.stdout.splitlines() if line.startswith("host:"))
    # With the target named, the flags are not those of build scripts too.
    command = ["cargo", "build", "--profile", "checked", "--package", "lasthop-fuzz", "--bins"]
    command += ["--features", "libfuzzer", "--target", host, "--target-dir", "target/fuzz"]
    environment = {**os.environ, "RUSTFLAGS": " ".join(COVERAGE), "CARGO_INCREMENTAL": "0"}
    subprocess.run(command, cwd=ROOT, check=True, env=environment)
    return ROOT / "target" / "fuzz" / host / "checked"


def words(node: object) -> set[str]:
    """The keys and kinds of scenario files, from their schema."""
    found: set[str] = set()
    if isinstance(node, dict):
        found |= set(node.get("properties", {}))
        found |= {word for word in (node.get("const"), *node.get("enum", [])) if word}
        node = list(node.values())
    if isinstance(node, list):
        found = found.union(*map(words, node))
    return {word for word in found if isinstance(word, str)}


def dictionary() -> Path:
    """Writes the words that a scenario may have, for the fuzzer to put in."""
    schema = lasthop.schema()
    entries = [*sorted(words(schema)), "[[", "]]", " = { kind = ", " = 0", " = 1e9"]
    entries += [f"\\x0a[[{key}]]\\x0a" for key in schema["properties"]]
    file = OUT / "scenario.dict"
    file.write_text("".join(f'"{entry}"\n' for entry in entries), encoding="utf-8")
    return file


def fuzz(target: str, program: Path, seconds: int, seed: int) -> bool:
    """Runs one target; whether it held."""
    found = OUT / target
    found.mkdir(parents=True, exist_ok=True)
    command = [str(program), str(found), *TARGETS[target], f"-max_total_time={seconds}"]
    command += [f"-max_len={MOST_BYTES[target]}", f"-seed={seed}", f"-rss_limit_mb={MOST_MIB}"]
    command += ["-timeout=10", "-verbosity=0", "-print_final_stats=1"]
    command += [f"-artifact_prefix={OUT}/{target}-"]
    if target == "scenario":
        command.append(f"-dict={dictionary()}")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    runs = [line for line in done.stderr.splitlines() if "number_of_executed_units" in line]
    tried = runs[0].split()[-1] if runs else "?"
    print(
        f"{target}: {tried} inputs, {'all held' if done.returncode == 0 else 'FAILED'}", flush=True
    )
    if done.returncode:
        print(done.stderr[-3000:], file=sys.stderr)
    return done.returncode == 0


def main() -> int:
    """Runs the targets one after the other; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=20, help="for each target (20)")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the fuzzer; 0 takes another each time"
    )
    options = parser.parse_args()
    for target in options.targets:
        if target not in TARGETS:
            parser.error(f"{target!r} is none of {', '.join(TARGETS)}")
    OUT.mkdir(parents=True, exist_ok=True)
    programs = build()
    held = [
        fuzz(target, programs / target, options.seconds, options.seed)
        for target in options.targets or TARGETS
    ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
