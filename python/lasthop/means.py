# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps over their seeds: means with confidence intervals by point, and their pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .claims import mean_interval
from .errors import UserError
from .overview import legend_beside
from .plot import COLOURS, new_figure, styled
from .text import RATES, SIZES, TIMES, pick, plain, significant, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .sweeps import Sweep

SHORT = {
    "goodput": "total_goodput_bps",
    "throughput": "total_goodput_bps",
    "delay": "mean_delay_s",
    "fairness": "jain",
}
"""Short names of what is drawn most."""

SCALES = {"_bps": RATES, "_s": TIMES, "_bytes": SIZES}
"""Endings of columns whose values are drawn in units with prefixes."""

MOST_TICKS = 10
"""More values are not all named on an axis."""

MOST_NAMED = 16
"""More points in a plane are not named: names would cover each other."""


def mean_by_point(sweep: Sweep, table: str = "runs") -> pd.DataFrame:
    """See :meth:`lasthop.Sweep.mean`."""
    import pandas as pd

    frame = _frame(sweep, table)
    names = [] if table == "runs" else ["name"]
    keys = [*(path for path, _ in sweep.grid), *names]
    measures = _measures(sweep, frame)
    numbers = [number for path, _ in sweep.grid if (number := _number_of(sweep, path))]
    rows = []
    for rows_of_point in _groups(frame, keys):
        first = rows_of_point.iloc[0]
        row: dict[str, Any] = {name: first[name] for name in (*keys, *numbers)}
        distinct = rows_of_point[measures].drop_duplicates()
        alike = len(distinct) == 1
        row["n"] = 1 if alike else len(rows_of_point)
        for measure in measures:
            values = (distinct if alike else rows_of_point)[measure].dropna().astype(float)
            found = mean_interval(list(values)) if len(values) else (None, None, None)
            row[measure], row[f"low_{measure}"], row[f"high_{measure}"] = found
        rows.append(row)
    # What does not apply anywhere, such as the fairness of one flow, is a column of numbers too.
    numeric = [f"{side}{measure}" for measure in measures for side in ("", "low_", "high_")]
    found_frame = pd.DataFrame(rows).astype(dict.fromkeys(numeric, float))
    found_frame.attrs.update(sweep.attrs)
    return found_frame


def unused_seeds(sweep: Sweep) -> list[str]:
    """Says where seeds make no difference: their runs must not be taken for repetitions."""
    count = len(sweep.seeds)
    if count < 2:
        return []
    frame = _frame(sweep, "runs")
    points = list(_groups(frame, [path for path, _ in sweep.grid]))
    measures = _measures(sweep, frame)
    alike = [p for p in points if len(p) > 1 and len(p[measures].drop_duplicates()) == 1]
    if not alike:
        return []
    where = "" if len(alike) == len(points) else f"at {len(alike)} of {len(points)} points "
    return [f"{where}nothing depends on the seed: {count} seeds gave one and the same result"]


def _frame(sweep: Sweep, table: str) -> pd.DataFrame:
    if table not in ("runs", "flows", "queues"):
        raise UserError(f"{table}: wanted runs, flows or queues")
    frame: pd.DataFrame = getattr(sweep, table)
    if table == "runs":
        frame = frame[frame["refused"].isna()].drop(columns="refused")
    return frame


def _groups(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[pd.DataFrame]:
    if not keys:
        yield frame
        return
    for _, rows in frame.groupby(list(keys), sort=False, dropna=False):
        yield rows


def _measures(sweep: Sweep, frame: pd.DataFrame) -> list[str]:
    """The columns of figures: all numbers but those that say whose row it is."""
    places = {"run", "seed", *(_number_of(sweep, path) for path, _ in sweep.grid)}
    return [name for name in map(str, frame.select_dtypes("number")) if name not in places]


def _number_of(sweep: Sweep, path: str) -> str:
    """The column with the numbers of a path of the grid; empty where it has none."""
    columns = sweep.arrow["runs"].column_names
    after = columns[columns.index(path) + 1]
    return after if after.startswith(f"{path}_") else ""


class _Axis(NamedTuple):
    """What an axis shows: a path of the grid, or a figure."""

    column: str
    table: str
    is_place: bool


def draw_sweep(sweep: Sweep, x: str, y: str) -> Figure:
    """See :meth:`lasthop.Sweep.plot`."""
    across, up = _axis(sweep, x), _axis(sweep, y)
    if up.is_place:
        raise UserError(f"y = {y}: wanted a figure such as goodput or delay, not a path of --grid")
    if not across.is_place and across.table != up.table:
        raise UserError(f"x = {x}, y = {y}: wanted both of one table")
    means = mean_by_point(sweep, up.table)
    paths = [path for path, _ in sweep.grid]
    names = ["name"] if up.table != "runs" else []
    points = [] if across.is_place else paths[:1]
    figure = new_figure(6.4, 4.2)
    with styled({"text.parse_math": False}):
        axes: Axes = figure.subplots()
        if across.is_place:
            rest = [path for path in (*paths, *names) if path != across.column]
            number = _number_of(sweep, across.column)
            _draw_over_path(axes, means, across.column, number, up.column, rest)
        else:
            _draw_plane(axes, means, across.column, up.column, (*paths, *names))
            for path in points:
                axes.set_xlabel(f"{axes.get_xlabel()}\npoints: {plain(path)}")
        lines = [path for path in paths if path not in (across.column, *points)]
        legend_beside(axes, title=",\n".join(plain(path) for path in lines))
        seeds = len(sweep.seeds)
        note = f"mean of {seeds} seeds, 95 % interval" if means["n"].max() > 1 else ""
        axes.set_title(note, loc="right", fontsize="small")
        axes.set_title(plain(sweep.document["label"]), loc="left", fontsize="small")
    return figure


def _axis(sweep: Sweep, name: str) -> _Axis:
    paths = [path for path, _ in sweep.grid]
    if name in paths:
        return _Axis(name, "runs", True)
    table, dot, column = name.partition(".")
    if not dot or table not in ("flows", "queues"):
        table, column = "runs", SHORT.get(name, name)
    known = _measures(sweep, _frame(sweep, table))
    if column not in known:
        wanted = [*paths, *SHORT, *(known if table == "runs" else [f"{table}.{c}" for c in known])]
        raise UserError(
            f"{name}: wanted a path of --grid or a figure{suggestion(name, wanted)}"
            f" ({', '.join([*paths, *SHORT])} …)"
        )
    return _Axis(column, table, False)


def _draw_over_path(
    axes: Axes, means: pd.DataFrame, path: str, number: str, measure: str, rest: Sequence[str]
) -> None:
    """A line for each combination of the other axes, over a path and its column of numbers."""
    lines = list(_groups(means, rest))
    factor, label = _scale(measure, means[f"high_{measure}"].fillna(means[measure]))
    texts = list(dict.fromkeys(means[path]))
    for index, rows in enumerate(lines):
        places = rows[number] if number else rows[path].map(texts.index)
        if number:
            rows = rows.loc[places.sort_values().index]
            places = rows[number]
        middle = rows[measure] / factor
        reach = [(middle - rows[f"low_{measure}"] / factor).fillna(0.0),
                 (rows[f"high_{measure}"] / factor - middle).fillna(0.0)]  # fmt: skip
        name = ", ".join(plain(str(rows[key].iloc[0])) for key in rest)
        x_factor = _scale(number, means[number])[0] if number else 1.0
        axes.errorbar(places / x_factor, middle, yerr=reach, marker="o", ms=3, capsize=2,
                      color=COLOURS[index % len(COLOURS)],
                      ls=("-", "--", ":")[index // len(COLOURS) % 3],
                      label=name or None)  # fmt: skip
    if number:
        x_factor, unit = _scale(number, means[number])
        axes.set_xlabel(plain(path) + (f" [{unit}]" if unit else ""))
        values = means[number]
        if values.min() > 0 and values.max() / values.min() >= 30:
            axes.set_xscale("log")
            ticks = sorted(set(values / x_factor))[:: -(-values.nunique() // MOST_TICKS)]
            axes.set_xticks(ticks, [significant(tick) for tick in ticks])
            axes.set_xticks([], minor=True)
    else:
        axes.set_xticks(range(len(texts)), [plain(text) for text in texts])
        axes.set_xlabel(plain(path))
    axes.set_ylabel(_name(measure) + (f" [{label}]" if label else ""))
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))


def _draw_plane(
    axes: Axes, means: pd.DataFrame, across: str, up: str, paths: Sequence[str]
) -> None:
    """A mark a point of the grid, with its interval both ways."""
    for index, rows in enumerate(_groups(means, paths[1:])):
        colour = COLOURS[index % len(COLOURS)]
        scaled, reach = {}, {}
        for measure in (across, up):
            factor, unit = _scale(measure, means[f"high_{measure}"].fillna(means[measure]))
            middle = rows[measure] / factor
            scaled[measure] = middle
            reach[measure] = [(middle - rows[f"low_{measure}"] / factor).fillna(0.0),
                              (rows[f"high_{measure}"] / factor - middle).fillna(0.0)]  # fmt: skip
            set_label = axes.set_xlabel if measure == across else axes.set_ylabel
            set_label(_name(measure) + (f" [{unit}]" if unit else ""))
        name = ", ".join(plain(str(rows[key].iloc[0])) for key in paths[1:])
        axes.errorbar(scaled[across], scaled[up], xerr=reach[across], yerr=reach[up], fmt="o-",
                      ms=4, lw=0.8, capsize=2, color=colour, label=name or None)  # fmt: skip
        if paths and index == 0 and len(rows) <= MOST_NAMED:
            for x, y, text in zip(scaled[across], scaled[up], rows[paths[0]], strict=True):
                axes.annotate(plain(str(text)), (x, y), xytext=(4, 4), fontsize="x-small",
                              textcoords="offset points", color=colour)  # fmt: skip


def _scale(column: str, values: Any) -> tuple[float, str]:
    """The factor and unit in which a column is drawn."""
    from .tables import unit_of

    for ending, scale in SCALES.items():
        if column.endswith(ending) and not column.endswith("_per_s"):
            return pick(scale, float(values.abs().max()))
    return 1.0, unit_of(column)


def _name(column: str) -> str:
    """A column's name as a reader's words: without its unit."""
    for ending in SCALES:
        column = column.removesuffix(ending)
    words = {"jain": "fairness (Jain)", "mean_delay": "mean queueing delay"}
    return words.get(column, column.replace("_", " "))
