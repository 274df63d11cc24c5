# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps: a scenario with some values varied, and the runs that it takes, each carried out once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..grid import flatten
from ..record import Record, Summary
from ..request import Request
from ..result import tables_of
from ..runs import Runner
from ..scenario import Overrides, Scenario, Source, of, overrides_of
from .samples import of_flow, of_queue

if TYPE_CHECKING:
    import pandas as pd

Point = Mapping[str, Any]
"""Where a run is in its sweep: the value of each axis."""


@dataclass(frozen=True)
class Run:
    """One run of a sweep."""

    point: Point
    seed: int
    record: Record = field(repr=False)

    @property
    def summary(self) -> Summary:
        """The figures of the run, as ``lasthop run --json`` prints them."""
        return self.record.summary

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The sampled tables, for a sweep that asks for them."""
        return tables_of(self.record)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The summary with dotted names, ``system.goodput_bps``, as in a sweep's file."""
        return flatten(self.summary)

    @cached_property
    def totals(self) -> dict[str, Any]:
        """The same without those of single flows, of which there may be many."""
        return flatten(self.summary, flows=False)

    def flow(self, name: str) -> pd.DataFrame:
        """The samples of a flow."""
        return of_flow(self.tables, name)

    def queue(self, name: str) -> pd.DataFrame:
        """The samples of a queue, by its own name or that of its station."""
        return of_queue(self.tables, name)


Column = str | Callable[[Run], Any]
"""A column of a sweep's frame: the dotted name of a figure, or what computes it from the run."""


Given = Any
"""Settings in one of several forms.

As :func:`lasthop.run` takes them; a mapping whose texts name axes in braces,
``{"flow[0].count": "{flows}"}``; ``{"full": …, "quick": …}`` by scale; a function from a point to
settings; or a list of such parts, of which the last word counts.
"""


@dataclass(frozen=True)
class Axis:
    """What is varied: values, the same at both scales or not, and what each sets."""

    full: Sequence[Any]
    quick: Sequence[Any] | None = None
    set: Given = None

    def values(self, scale: str) -> Sequence[Any]:
        """The values at a scale."""
        return self.full if scale == "full" or self.quick is None else self.quick


@dataclass(frozen=True)
class Sweep:
    """A scenario run at every point of some axes; the last axis varies fastest.

    An axis is an :class:`Axis`, or a mapping from the names of its values to what each sets,
    ``{"sender": {"Reno": {"flow[0].sender": "newreno"}, …}}``. ``set`` holds for all points, where
    no axis sets otherwise. What is set (``Given``) is a mapping whose texts may name axes in
    braces, ``{"flow[0].count": "{flows}"}``, the same by scale, ``{"full": …, "quick": …}``, a
    function from a point to settings, or a list of such. ``columns`` are those of the frame:
    names of figures of the summary or functions of a :class:`Run`; all figures where none are
    named. ``without`` lists points that make no sense and are left out.
    """

    scenario: Source
    axes: Mapping[str, Axis | Mapping[str, Given]] = field(default_factory=dict)
    set: Given = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    tables: bool = False
    """Whether the sampled tables are wanted too."""
    without: Sequence[Point] = ()

    def points(self, scale: str) -> list[dict[str, Any]]:
        """All points at a scale."""
        values = [self.values(name, scale) for name in self.axes]
        points = [
            dict(zip(self.axes, chosen, strict=True)) for chosen in itertools.product(*values)
        ]
        return [point for point in points if not any(matches(point, w) for w in self.without)]

    def values(self, name: str, scale: str = "full") -> list[Any]:
        """The values of an axis."""
        axis = self.axes[name]
        return list(axis.values(scale) if isinstance(axis, Axis) else axis)

    def overrides(self, point: Point, scale: str) -> Overrides:
        """All that is set at a point."""
        found = [*_filled(self.set, point, scale)]
        for name, axis in self.axes.items():
            settings = axis.set if isinstance(axis, Axis) else axis[point[name]]
            found += _filled(settings, point, scale)
        return tuple(found)


def _filled(settings: Given, point: Point, scale: str) -> Iterator[tuple[str, str]]:
    """Settings at a scale, with the axes that they name put in."""
    if callable(settings):
        settings = settings(point)
    if isinstance(settings, Mapping):
        if set(settings) == {"full", "quick"}:
            yield from _filled(settings[scale], point, scale)
        else:
            yield from overrides_of({path: _put(v, point) for path, v in settings.items()})
    elif isinstance(settings, list):
        for part in settings:
            yield from _filled(part, point, scale)
    elif settings is not None:
        yield from overrides_of([settings] if isinstance(settings, str) else settings)


def _put(value: Any, point: Point) -> Any:
    if isinstance(value, str):
        for name, chosen in point.items():
            if value == f"{{{name}}}":
                return chosen
            text = f"{chosen:g}" if isinstance(chosen, int | float) else str(chosen)
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, Mapping):
        return {key: _put(inner, point) for key, inner in value.items()}
    return [_put(inner, point) for inner in value] if isinstance(value, list) else value


def matches(point: Point, wanted: Mapping[str, Any]) -> bool:
    """Whether a point has the wanted values: one, one of a list, or a range of numbers.

    A range is ``{"from": 30}``, ``{"upto": 300}`` or both; ``"all"`` is any value.
    """
    return all(name in point and _fits(point[name], value) for name, value in wanted.items())


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return bool(wanted.get("from", value) <= value <= wanted.get("upto", value))
    if isinstance(wanted, list | tuple):
        return any(_fits(value, one) for one in wanted)
    if isinstance(wanted, int | float) and isinstance(value, int | float):
        return abs(value - wanted) <= 1e-9 * max(abs(value), abs(wanted))
    return bool(wanted in ("all", value))


Table = Callable[["Lab"], "pd.DataFrame"]
"""What makes a frame that is no plain sweep; it has a column ``seed`` and a row a run."""


@dataclass(frozen=True)
class Parted:
    """A table in parts, one for each value of a column, each made when it is first asked for."""

    column: str
    values: Sequence[Any]
    make: Callable[..., pd.DataFrame]
    """Makes a part of a lab and, by the column's name, the value."""


Key = tuple[Scenario, tuple[tuple[str, Any], ...], Overrides, int, bool]


@dataclass
class Lab:
    """Where sweeps are carried out: with which seeds, at which scale, by whom.

    Every run is carried out once, however often it is asked for.
    """

    sweeps: Mapping[str, Sweep | Table | Parted] = field(default_factory=dict)
    seeds: Sequence[int] = (1, 2, 3)
    scale: str = "full"
    runner: Runner = field(default_factory=Runner, repr=False)
    used: set[Scenario] = field(default_factory=set, repr=False)
    """The scenarios behind what was asked for so far; whoever wants to know what is behind one
    thing empties it before."""
    _runs: dict[Key, Run] = field(default_factory=dict, repr=False)
    _tables: dict[str, tuple[tuple[int, ...], pd.DataFrame]] = field(
        default_factory=dict, repr=False
    )
    _behind: dict[str, set[Scenario]] = field(default_factory=dict, repr=False)

    def sweep(self, name: str) -> Sweep:
        """A sweep by its name."""
        found = self._find(name)
        if not isinstance(found, Sweep):
            raise UserError(f"{name}: wanted a sweep of a scenario: this one is a table")
        return found

    def _find(self, name: str) -> Sweep | Table | Parted:
        if name not in self.sweeps:
            raise UserError(f"{name}: no such sweep: wanted one of {', '.join(self.sweeps)}")
        return self.sweeps[name]

    def runs(self, name: str, /, **where: Any) -> list[Run]:
        """The runs of a sweep, or those of some points, by point and then by seed."""
        return self.runs_of(self.sweep(name), name, **where)

    def runs_of(self, sweep: Sweep, label: str = "", /, **where: Any) -> list[Run]:
        """The runs of a sweep that has no name here."""
        source = of(sweep.scenario)
        self.used.add(source)
        points = [
            (tuple(point.items()), sweep.overrides(point, self.scale))
            for point in sweep.points(self.scale)
            if matches(point, where)
        ]
        keys: list[Key] = [
            (source, point, overrides, seed, sweep.tables)
            for point, overrides in points
            for seed in self.seeds
        ]
        missing = list(dict.fromkeys(key for key in keys if key not in self._runs))
        requests = [
            Request(source, overrides, seed, t) for source, _, overrides, seed, t in missing
        ]
        records = self.runner.run(requests, label=label or source.label)
        for key, record in zip(missing, records, strict=True):
            self._runs[key] = Run(dict(key[1]), key[3], record)
        return [self._runs[key] for key in keys]

    def run(self, name: str, /, **where: Any) -> Run:
        """The run of one point with the first seed, for a picture."""
        return replace(self, seeds=self.seeds[:1]).runs(name, **where)[0]

    def frame(self, name: str, /, **where: Any) -> pd.DataFrame:
        """A sweep, or some points of it, as a frame: a row a run, first its axes and its seed."""
        found = self._find(name)
        if isinstance(found, Sweep):
            return self.frame_of(found, name, **where)
        frame = (
            self._parts(name, found, where)
            if isinstance(found, Parted)
            else self._table(name, found)
        )
        points = frame[list(where)].itertuples(index=False, name=None)
        chosen = [matches(dict(zip(where, point, strict=True)), where) for point in points]
        return frame[chosen] if where else frame

    def _parts(self, name: str, table: Parted, where: Mapping[str, Any]) -> pd.DataFrame:
        """The parts of a table that have what is wanted of its column."""
        import pandas as pd

        wanted = where.get(table.column, "all")
        parts = [
            self._table(f"{name}, {value}", partial(table.make, **{table.column: value}))
            for value in table.values
            if matches({table.column: value}, {table.column: wanted})
        ]
        if not parts:
            known = ", ".join(map(str, table.values))
            raise UserError(f"{name}: {table.column} {wanted}: no such part: wanted one of {known}")
        return pd.concat(parts)

    def _table(self, name: str, make: Table) -> pd.DataFrame:
        """A table that is no plain sweep; of seeds that are new, where others are known."""
        import pandas as pd

        known, frame = self._tables.get(name, ((), None))
        new = tuple(seed for seed in self.seeds if seed not in known)
        behind = self._behind.setdefault(name, set())
        if frame is None:
            frame = make(replace(self, used=behind))
        elif new and "seed" in frame:
            frame = pd.concat([frame, make(replace(self, seeds=new, used=behind, _tables={}))])
        self.used |= behind
        self._tables[name] = ((*known, *new), frame)
        return frame[frame["seed"].isin(list(self.seeds))] if "seed" in frame else frame

    def frame_of(self, sweep: Sweep, label: str = "", /, **where: Any) -> pd.DataFrame:
        """The frame of a sweep that has no name here."""
        import pandas as pd

        return pd.DataFrame(
            [
                {**run.point, "seed": run.seed, **row_of(sweep, run)}
                for run in self.runs_of(sweep, label, **where)
            ]
        )


def row_of(sweep: Sweep, run: Run) -> dict[str, Any]:
    """The columns of a run."""
    if not sweep.columns:
        return run.figures
    return {name: value_of(column, run) for name, column in sweep.columns.items()}


def value_of(column: Column, run: Run) -> Any:
    """One column of a run; NaN where the run has no such figure."""
    if callable(column):
        return column(run)
    figures = run.totals if column in run.totals else run.figures
    if column not in figures:
        raise UserError(f"{column}: no such figure of the run, e.g. {next(iter(figures))}")
    found = figures[column]
    return float("nan") if found is None else found
