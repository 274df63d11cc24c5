# SPDX-License-Identifier: MIT OR Apache-2.0
"""Numbers and tables as people read them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

    Scale = Sequence[tuple[float, str]]

RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


class Column:
    """A column of a table: its heading, and how its values are scaled."""

    def __init__(self, heading: str, key: str, scale: Scale | None = None, digits: int = 3) -> None:
        self.heading = heading
        self.key = key
        self.scale = scale
        self.digits = digits


def significant(value: float, digits: int = 3) -> str:
    """``value`` with so many significant digits, never in scientific notation below 10⁶."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    whole = len(str(int(magnitude))) if magnitude >= 1 else 0
    if whole >= digits:
        return f"{value:.0f}"
    text = f"{value:.{digits}g}" if magnitude < 1 else f"{value:.{digits - whole}f}"
    if "e" not in text:
        return text
    return text if magnitude < 1e-4 else f"{value:f}".rstrip("0")


def quantity(value: float | None, scale: Scale, digits: int = 3) -> str:
    """A value with its unit, ``1.43 Mbit/s``; a dash where there is none."""
    if value is None:
        return "–"
    factor, unit = pick(scale, abs(value))
    return f"{significant(value / factor, digits)} {unit}"


def rate(bps: float | None) -> str:
    """A rate given in bit/s."""
    return quantity(bps, RATES)


def duration(seconds: float | None) -> str:
    """A time given in s."""
    return quantity(seconds, TIMES)


def size(count: float | None) -> str:
    """An amount given in bytes."""
    return quantity(count, SIZES)


def plain(text: str) -> str:
    """``text`` for one line of a terminal or picture: what has no shape becomes a mark."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def suggestion(name: str, known: Iterable[str]) -> str:
    """``: did you mean X?`` where a known name is near; else nothing."""
    near = nearest(name, known)
    return f": did you mean {near}?" if near else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is near to one, in whatever case it is written; else None."""
    from difflib import get_close_matches

    folded = {other.casefold(): other for other in known if other != name}
    near = get_close_matches(name.casefold(), folded, n=1)
    return folded[near[0]] if near else None


def with_suggestion(message: str) -> str:
    """Adds a near name to a line that says what was found and lists what is wanted.

    The names stand in quotes: ``x = "cubc": wanted "reno" or "cubic"``, or in backticks. What
    follows "e.g." is no name.
    """
    import re

    found, separator, wanted = message.rpartition("wanted ")
    if not separator:
        return message
    for given, name in ((r'= "([^"]+)": $', r'"([^"]+)"'), (r"`([^`]+)`, $", r"`([^`]+)`")):
        written = re.search(given, found)
        known = re.findall(name, wanted.partition("e.g. ")[0])
        if written and known:
            if re.search(rf"(^|: ){re.escape(written[1])}: unknown key", found):
                tables = tables_with(written[1])
                if tables:
                    places = (f"{table}[*].{written[1]}" for table in tables)
                    return f"{message}; did you mean {' or '.join(places)}?"
            return message + suggestion(written[1], known).replace(": did", "; did", 1)
    return message


def tables_with(key: str) -> list[str]:
    """The tables of a scenario that have a key which the scenario itself does not have."""
    import json

    from . import _lasthop

    schema = json.loads(_lasthop.schema())
    lists = {
        name: entry["items"] for name, entry in schema["properties"].items() if "items" in entry
    }
    tables = {
        name: schema["$defs"][item["$ref"].rpartition("/")[2]] for name, item in lists.items()
    }
    return [name for name, table in tables.items() if key in table["properties"]]


def percent(share: float | None) -> str:
    """A share of one."""
    return "–" if share is None else f"{significant(100 * share)} %"


def pick(scale: Scale, value: float) -> tuple[float, str]:
    """The largest unit of ``scale`` that is not larger than ``value``; the plain one for 0."""
    if value <= 0:
        return next(entry for entry in scale if entry[0] == 1.0)
    for factor, unit in scale:
        if value >= 0.9995 * factor:
            return factor, unit
    return scale[-1]


def table(columns: Sequence[Column], rows: Sequence[dict[str, Any]]) -> str:
    """Rows as aligned text; one unit a column, chosen by its largest value."""
    headings: list[str] = []
    left: list[int] = []
    body: list[list[str]] = [[] for _ in rows]
    for column in columns:
        values = [row.get(column.key) for row in rows]
        numbers = [abs(v) for v in values if isinstance(v, int | float)]
        if not any(value is not None for value in values):
            continue
        if not numbers:
            left.append(len(headings))
        factor, unit = 1.0, ""
        if column.scale is not None:
            factor, unit = pick(column.scale, max(numbers, default=0.0))
        headings.append(f"{column.heading} [{unit}]" if unit else column.heading)
        for line, value in zip(body, values, strict=True):
            line.append(_cell(value, factor, column.digits))
    return align([headings, *body], left=left)


def align(lines: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Lines of cells under each other, the columns ``left`` to the left, the others right."""
    if not lines or not lines[0]:
        return ""
    lines = [[plain(cell) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    out = []
    for line in lines:
        cells = [
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)


def _cell(value: Any, factor: float, digits: int) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int) and factor == 1.0:
        return str(value)
    return significant(value / factor, digits)
