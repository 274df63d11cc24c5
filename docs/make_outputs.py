# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the commands of a page as they are printed, and puts in the page what they print.

`python docs/make_outputs.py` writes the pages anew, `--check` only says where they differ. A line
that is printed in a page stands for the next line of the output that begins with the same word, or
else for the next line; `…` stands for what is left out. Blocks with commands of other programs, of
root or of a cluster are left as they are.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/tutorial.md")
BLOCK = re.compile(r"```(toml|console|python)\n(.*?)```(?:\n\n```text\n.*?```)?", re.DOTALL)
APART = ("--dask", "$ dask", "sudo ", "$ make", "lasthop list", "lasthop emu")
"""What is not run: it takes more than this package, or prints what is new with each scenario."""
TIME = re.compile(r"simulated in \S+ \S+,")
"""What only depends on the machine."""


def renewed(page: str) -> str:
    """The page's text with what its commands print now."""
    text = (ROOT / page).read_text(encoding="utf-8")
    scenarios = iter(("first.toml", "clamp.toml"))
    with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:

        def block(found: re.Match[str]) -> str:
            language, inner = found.groups()
            if language == "toml":
                name = next(scenarios, None)
                if name:
                    Path(folder, name).write_text(inner, encoding="utf-8")
                return found[0]
            if language == "python":
                printed = _run([sys.executable, "-c", inner], folder)
                return f"```python\n{inner}```\n\n```text\n{printed}```"
            if any(apart in inner for apart in APART):
                return found[0]
            parts = re.split(r"^(\$ .*\n)", inner, flags=re.MULTILINE)[1:]
            pairs = zip(parts[::2], parts[1::2], strict=True)
            return f"```console\n{''.join(c + _printed(c, out, folder) for c, out in pairs)}```"

        return BLOCK.sub(block, text)


def _printed(command: str, before: str, folder: str) -> str:
    """What a command prints, as far as the page shows it."""
    printed = _run(["sh", "-c", f"{sys.executable} -m {command[2:]}"], folder)
    output = printed.splitlines()
    shown = before.splitlines()
    if not before:
        return ""
    if "…" not in before:
        new = output
    else:
        new, rest = [], output
        for line in shown:
            if line == "…" or not line:
                new.append(line)
                continue
            start = line.split()[0]
            place = next((i for i, other in enumerate(rest) if other.split()[:1] == [start]), None)
            if place is None and not rest:
                raise SystemExit(f"{command}prints no line for {line}:\n{printed}")
            place = place or 0
            new.append(_cut(rest[place], line))
            rest = rest[place + 1 :]
    text = "".join(f"{line}\n" for line in new)
    kept = TIME.search(before)
    return TIME.sub(kept[0], text) if kept else text


def _run(words: list[str], folder: str) -> str:
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(words, cwd=folder, env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def _cut(line: str, shown: str) -> str:
    """As many words of a line as the page shows of it."""
    if not shown.endswith("…"):
        return line
    words = len(shown.rstrip("…").split())
    return " ".join(line.split()[:words]) + " …"


def main() -> int:
    """Writes the pages, or with `--check` says where they differ from what is printed."""
    differs = False
    for name in PAGES:
        before, after = (ROOT / name).read_text(encoding="utf-8"), renewed(name)
        if sys.argv[1:] == ["--check"]:
            lines = (before.splitlines(), after.splitlines())
            diff = list(difflib.unified_diff(*lines, name, "printed now", lineterm="", n=0))
            differs |= bool(diff)
            print(*diff, sep="\n")
        else:
            (ROOT / name).write_text(after, encoding="utf-8")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
