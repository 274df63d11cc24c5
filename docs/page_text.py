# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables, and what stands between the marks of a page."""

from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parent


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def rows(table: Sequence[Sequence[str]]) -> str:
    """A table, its head and the line below it first."""
    return "\n".join(f"| {' | '.join(row)} |" for row in table) + "\n"


def between(text: str, mark: str, content: str) -> str:
    """Puts ``content`` between the marks of a page."""
    before, begin, rest = text.partition(f"<!-- {mark} -->\n")
    _, end, after = rest.partition(f"<!-- /{mark} -->")
    if not begin or not end:
        raise LookupError(f"no marks of {mark}")
    return f"{before}{begin}\n{content}\n{end}{after}"
