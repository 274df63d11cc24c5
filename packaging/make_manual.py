# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the manual page of ``lasthop`` and its completion for shells: ``make_manual.py SHARE``.

They are made from the command's own parser, so they cannot differ from it. ``SHARE`` is laid out
as ``/usr/share`` is; the wheel brings it along.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage
from lasthop.cli import _parser

ROOT = Path(__file__).resolve().parent.parent
COMPLETIONS = {
    "bash": "bash-completion/completions/lasthop",
    "zsh": "zsh/site-functions/_lasthop",
    "fish": "fish/vendor_completions.d/lasthop.fish",
}


def write(path: Path, text: str) -> None:
    """Writes a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def manual() -> str:
    """The manual page."""
    package = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"][
        "package"
    ]
    page = Manpage(_parser(), format="single-commands-section")
    page.source = f"lasthop {package['version']}"
    page.manual = "lasthop's manual"
    page.description = "TCP over the last, wireless hop: simulated, emulated, checked"
    # How a command is called stays in the lines in which it is written.
    text = re.sub(r"^usage: .*?\n(?=\n)", ".nf\n\\g<0>.fi\n", str(page), flags=re.M | re.S)
    return text.replace(".SH\nPOSITIONAL ARGUMENTS\n", ".SH COMMANDS\n")


def completed(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """A parser whose files and folders shells complete: what they are called says what they are."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                completed(inner)
        elif str(action.metavar).startswith(("FILE", "PREFIX")):
            vars(action)["complete"] = shtab.FILE
        elif action.metavar == "DIR":
            vars(action)["complete"] = shtab.DIRECTORY
    return parser


def main() -> None:
    """Writes all of them."""
    (share,) = sys.argv[1:]
    for shell, name in COMPLETIONS.items():
        write(Path(share, name), shtab.complete(completed(_parser()), shell))
    write(Path(share, "man", "man1", "lasthop.1"), manual())


if __name__ == "__main__":
    main()
