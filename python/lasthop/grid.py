# SPDX-License-Identifier: MIT OR Apache-2.0
"""Grids: the points at which a scenario is run, each with a row of seeds."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _lasthop
from .errors import UserError
from .request import Request
from .scenario import Overrides, Scenario, overrides_of
from .totals import mean_delay, total_goodput

Grid = Sequence[tuple[str, Sequence[str]]]
"""Paths of keys, each with its values; the last varies fastest."""


def parse_grid(grid: Mapping[str, Iterable[Any]] | Iterable[str]) -> Grid:
    """Reads a grid: a mapping of paths to values, or ``path=v1,v2`` strings."""
    if isinstance(grid, Mapping):
        points = [
            (path, [value for _, value in overrides_of([(path, v) for v in values])])
            for path, values in grid.items()
        ]
    else:
        points = []
        for axis in [grid] if isinstance(grid, str) else grid:
            path, equals, listed = axis.partition("=")
            if not equals or not path.strip():
                raise UserError(f'--grid {axis}: wanted path=v1,v2, e.g. "ap[0].price.a=5 kB,9 kB"')
            points.append((path.strip(), split_values(listed)))
    for path, values in points:
        if not values or any(not value for value in values):
            raise UserError(
                f"--grid {path}=: wanted values with commas between, none of them empty"
            )
        for value in values:
            if values.count(value) > 1:
                # Its runs would count twice in the means, as if there were more seeds.
                raise UserError(f"--grid {path}: {value}: given twice: wanted each value once")
        if path == "seed":
            raise UserError("--grid seed=…: wanted --seed N --seeds K for seeds")
    paths = [path for path, _ in points]
    for path in paths:
        if paths.count(path) > 1:
            raise UserError(f"--grid {path}: given twice: wanted all its values in one list")
    return points


def split_values(text: str) -> list[str]:
    """Splits at commas that stand outside quotes, brackets and braces."""
    values = [""]
    depth, quote = 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            values.append("")
            continue
        values[-1] += character
    return [value.strip() for value in values]


def requests_of(
    scenario: Scenario, grid: Grid, overrides: Overrides, *, seed: int | None, seeds: int
) -> list[Request]:
    """All runs of a sweep, in order."""
    if seeds < 1:
        raise UserError(f"--seeds {seeds}: wanted a positive number")
    varied = {path for path, _ in grid}
    if told := next((path for path, _ in overrides if path in varied), None):
        raise UserError(f"--grid {told}: also in --set: wanted it in one of them")
    points = points_of(grid)
    some = (*overrides, *points[0])
    effective = tomllib.loads(_lasthop.check(scenario.text, scenario.directory, some))
    first = seed if seed is not None else int(effective.get("seed", 1))
    if first + seeds > 2**63:
        raise UserError(f"--seed {first} --seeds {seeds}: wanted seeds below 2⁶³")
    probe = effective.get("probe", {})
    tables = "every" in probe or bool(probe.get("packets"))
    return [
        Request(scenario, (*overrides, *point), number, tables)
        for point in points
        for number in range(first, first + seeds)
    ]


def points_of(grid: Grid) -> list[tuple[tuple[str, str], ...]]:
    """The points of a grid, each as the overrides that lead to it."""
    axes = [[(path, value) for value in values] for path, values in grid]
    return list(itertools.product(*axes))


def flatten(summary: Mapping[str, Any], *, flows: bool = True) -> dict[str, Any]:
    """A summary as one row: totals first, then every queue and, if wanted, every flow by name."""
    row: dict[str, Any] = {
        "total_goodput_bps": total_goodput(summary),
        "mean_delay_s": mean_delay(summary),
    }
    for key, value in summary.items():
        if key in ("scenario", "seed", "version", "notes") or (key == "flows" and not flows):
            continue
        if key in ("flows", "queues"):
            for item in value:
                for inner, figure in item.items():
                    if inner != "name":
                        row[f"{key[:-1]}.{item['name']}.{inner}"] = figure
        elif isinstance(value, Mapping):
            row.update({f"{key}.{inner}": figure for inner, figure in value.items()})
        else:
            row[key] = value
    return row
