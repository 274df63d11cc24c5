# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps: a scenario at every point of a grid, each with a row of seeds, as tidy tables."""

from __future__ import annotations

import hashlib
import html
import os
import platform
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import _lasthop
from .archive import decode_files, encode_files, summary_differences, write_frame
from .atomic import check_writable
from .bundle import check_whole, pack
from .errors import UserError
from .grid import Grid, parse_grid, points_of, requests_of
from .journal import shards_of
from .record import Record
from .request import Outcome, Request
from .runs import Runner
from .scenario import Scenario, Settings, Source, of, overrides_of
from .tables import fairness, field, fields, figures, joined, parted, sampled, table_of
from .totals import mean_delay, over_queues, total_goodput

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.figure import Figure

TABLES = ("runs", "flows", "queues")
"""The tables of the figures; those of the samples are ``samples.flows`` and so on."""


class Sweep:
    """A finished sweep: the tables ``runs``, ``flows`` and ``queues``, a row a run, flow or queue.

    Each row has the values of the grid, as they were written and, where all of an axis are
    numbers of one unit, as numbers in plain units in a column that ends in the unit:
    ``ap[0].price.a`` and ``ap[0].price.a_bytes``, or ``…_value`` for pure numbers. The columns
    are the same whatever occurs in the runs. ``attrs`` says where it all comes from.
    """

    def __init__(self, tables: Mapping[str, pa.Table], document: Mapping[str, Any]) -> None:
        self.arrow = dict(tables)
        """The tables in Arrow, with a unit in the metadata of every column of numbers."""
        self.document = dict(document)
        """All that it takes to run the sweep again."""

    @property
    def runs(self) -> pd.DataFrame:
        """One row a run: grid values, seed, totals and means, and why it was ``refused``."""
        return self._frame("runs")

    @property
    def flows(self) -> pd.DataFrame:
        """One row a flow of a run: its figures."""
        return self._frame("flows")

    @property
    def queues(self) -> pd.DataFrame:
        """One row a queue of a run: its figures."""
        return self._frame("queues")

    @property
    def table_names(self) -> list[str]:
        """The sampled tables that there are."""
        return [name.partition(".")[2] for name in self.arrow if name not in TABLES]

    def table(self, name: str) -> pd.DataFrame:
        """The samples ``flows``, ``queues``, ``packets`` or ``system`` of all runs.

        They are there if the scenario has a ``[probe]``; ``run`` says whose they are.
        """
        frame = self._frame(f"samples.{name}")
        frame.insert(1, "time_s", frame["time_ns"] / 1e9)
        if "name" in frame:
            frame["flow" if "flow" in frame else "queue"] = frame.pop("name").astype("category")
        return frame

    @property
    def grid(self) -> Grid:
        """The paths of the grid with their values."""
        return [(path, list(values)) for path, values in self.document["grid"]]

    @property
    def seeds(self) -> range:
        """The seeds of each point."""
        return range(self.document["seed"], self.document["seed"] + self.document["seeds"])

    @property
    def attrs(self) -> dict[str, Any]:
        """Scenario, overrides, grid, seeds, version, command and host."""
        document = self.document
        return {
            **{key: document[key] for key in ("label", "scenario", "set", "grid")},
            "seeds": list(self.seeds),
            **{key: document[key] for key in ("version", "command", "host")},
        }

    @property
    def refused(self) -> list[str]:
        """What was wrong with runs that were refused; empty if none was."""
        return list(dict.fromkeys(self.runs["refused"].dropna()))

    @property
    def notes(self) -> list[str]:
        """What a reader of the figures should know."""
        from .means import unused_seeds

        return unused_seeds(self)

    def mean(self, table: str = "runs") -> pd.DataFrame:
        """The means over the seeds by point, of ``flows`` and ``queues`` by name too.

        For each figure its mean and, with ``low_`` and ``high_`` in front, the ends of its 95 %
        confidence interval (Student's t); ``n`` is the number of runs. Seeds that make no
        difference count as one, which has no interval.
        """
        from .means import mean_by_point

        return mean_by_point(self, table)

    def plot(
        self, x: str, y: str, *, path: str | os.PathLike[str] | None = None
    ) -> Figure:  # fmt: skip
        """Draws ``y`` over ``x``, with 95 % confidence intervals.

        Either is a path of the grid or a column of :attr:`runs`, or for short ``goodput``,
        ``delay``, ``fairness``; ``flows.goodput_bps`` draws a line a flow. Two figures,
        ``x="delay", y="goodput"``, make the plane of the two, a mark a point of the grid.
        """
        from .means import draw_sweep
        from .plot import save

        figure = draw_sweep(self, x, y)
        if path is not None:
            save(figure, path)
        return figure

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the tables to a file that describes itself and can be run again."""
        columns = {name: part.column_names for name, part in self.arrow.items()}
        write_frame(path, joined(self.arrow), {**self.document, "columns": columns})

    def _frame(self, name: str) -> pd.DataFrame:
        if name not in self.arrow:
            have = ", ".join(self.table_names) or "none"
            raise UserError(f"{name}: wanted a table that there is: {have} (see [probe])")
        frame: pd.DataFrame = self.arrow[name].to_pandas()
        frame.attrs.update(self.attrs)
        return frame

    def __repr__(self) -> str:
        axes = " × ".join(str(len(values)) for _, values in self.grid) or "1"
        return f"<lasthop.Sweep {self.document['label']}: {axes} points × {len(self.seeds)} seeds>"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>note: {html.escape(note)}</p>" for note in self.notes)
        table: str = self.mean().to_html(index=False, max_rows=60)
        return f"<p>{html.escape(repr(self))}</p>{notes}{table}"


def sweep(
    scenario: Source,
    *,
    grid: Mapping[str, Iterable[Any]] | Iterable[str] = (),
    set: Settings = None,
    seed: int | None = None,
    seeds: int = 1,
    jobs: int | None = None,
    dask: str | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Sweep:
    """Runs a scenario at every point of ``grid`` with ``seeds`` seeds from ``seed`` on.

    The rows of the tables are in the order of the grid and the same, bit for bit, for any number
    of ``jobs`` and on Dask. With ``out`` they are written as Parquet, and finished runs are kept
    in a journal beside it until they are: interrupted, the same call goes on where it stopped.
    A run that is refused on its way, when others are done, has a row that says why.
    """
    points = parse_grid(grid)
    if out is not None:
        check_writable(out)
    requests = requests_of(of(scenario), points, overrides_of(set), seed=seed, seeds=seeds)
    journal = f"{os.fspath(out)}.journal" if out is not None else None
    return run_sweep(requests, points, jobs=jobs, dask=dask, journal=journal, out=out)


def run_sweep(
    requests: Sequence[Request],
    grid: Grid,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    journal: str | None = None,
    out: str | os.PathLike[str] | None = None,
    command: str | None = None,
    patience_s: float = 60.0,
) -> Sweep:
    """Carries out the runs of a sweep, takes in what shards of it have done, and writes it."""
    shards = shards_of(journal) if journal else []
    label = os.path.basename(requests[0].scenario.label)
    with Runner(
        jobs=jobs, dask=dask, journal=journal, shards=shards, patience_s=patience_s
    ) as runner:
        outcomes = runner.outcomes(requests, label=label)
        if not any(isinstance(outcome, Record) for outcome in outcomes):
            raise next(error for error in outcomes if not isinstance(error, Record))
        done = Sweep(tables_of_runs(requests, outcomes, grid), document_of(requests, grid, command))
        if out is not None:
            done.to_parquet(out)
    return done


def run_shard(
    requests: Sequence[Request],
    shard: tuple[int, int],
    *,
    journal: str,
    jobs: int | None,
    dask: str | None,
    patience_s: float,
) -> tuple[int, str, list[str]]:
    """Carries out every n-th run alone; how many, the journal that keeps them, and refusals."""
    index, count = shard
    own = requests[index - 1 :: count]
    path = f"{journal}.shard-{index}-of-{count}"
    runner = Runner(jobs=jobs, dask=dask, journal=path, patience_s=patience_s)
    label = os.path.basename(requests[0].scenario.label)
    try:
        outcomes = runner.outcomes(own, label=f"{label} {index}/{count}")
    finally:
        if runner.journal:
            runner.journal.close()
    refused = [str(outcome) for outcome in outcomes if not isinstance(outcome, Record)]
    return len(own) - len(refused), path, list(dict.fromkeys(refused))


def document_of(requests: Sequence[Request], grid: Grid, command: str | None) -> dict[str, Any]:
    """What a sweep's file says of it."""
    text, directory, label = requests[0].scenario
    first = requests[0].overrides
    seeds = sorted({request.seed for request in requests})
    files: dict[str, bytes] = {}
    points = []
    for overrides in dict.fromkeys(request.overrides for request in requests):
        point = pack(_lasthop.check(text, directory, overrides), directory)
        names = {key: hashlib.sha256(content).hexdigest() for key, content in point.items()}
        files |= {names[key]: content for key, content in point.items()}
        points.append(names)
    return {
        "kind": "sweep",
        "label": os.path.basename(label),
        "scenario": text,
        "set": [list(pair) for pair in first[: len(first) - len(grid)]],
        "grid": [[path, list(values)] for path, values in grid],
        "seed": int(seeds[0]),
        "seeds": len(seeds),
        "files": encode_files(files),
        "points": points if any(point != points[0] for point in points) else points[:1],
        "version": _lasthop.version(),
        "command": command or "",
        "host": platform.node(),
    }


RUN_COLUMNS = ("total_goodput_bps", "mean_delay_s", "p95_delay_s", "utilisation")
RUN_COUNTS = ("retransmits", "timeouts", "drops")


def tables_of_runs(
    requests: Sequence[Request], outcomes: Sequence[Outcome], grid: Grid
) -> dict[str, pa.Table]:
    """The tables of a sweep, from what its runs gave."""
    import pyarrow as pa

    axes = _axes(grid)
    runs, flows, queues = [], [], []
    samples: dict[str, list[pa.Table]] = {}
    for number, (request, outcome) in enumerate(zip(requests, outcomes, strict=True)):
        values = dict(request.overrides)
        place: dict[str, Any] = {"run": number}
        for path, (column, numbers) in axes.items():
            place[path] = values[path]
            if column:
                place[column.name] = numbers[values[path]]
        place["seed"] = request.seed
        if not isinstance(outcome, Record):
            runs.append({**place, "refused": str(outcome)})
            continue
        summary = outcome.summary
        runs.append({**_totals(summary), **place})
        flows += [{**place, **flow} for flow in figures(summary, "flows")]
        queues += [{**place, **queue} for queue in summary["queues"]]
        for name, columns in outcome.tables.items() if request.tables else ():
            part = sampled(columns, outcome.names)
            index = pa.array([number] * part.num_rows, pa.int64())
            samples.setdefault(f"samples.{name}", []).append(
                part.add_column(0, field("run", pa.int64()), index)
            )
    whole, real = pa.int64(), pa.float64()
    place_columns = [field("run", whole)]
    for path, (column, _) in axes.items():
        place_columns += [field(path, pa.string()), *([column] if column else [])]
    place_columns.append(field("seed", whole))
    own = [
        *(field(name, real) for name in RUN_COLUMNS),
        *fields("fairness"),
        *(column for column in fields("system") if column.name != "goodput_bps"),
        *(field(name, whole) for name in (*RUN_COUNTS, "events", "packets")),
        *(field(name, real) for name in ("duration_s", "warmup_s")),
        field("refused", pa.string()),
    ]
    # A grid over the duration has its column already.
    taken = {column.name for column in place_columns}
    run_columns = [*place_columns, *(f for f in own if f.name not in taken)]
    return {
        "runs": table_of(runs, run_columns),
        "flows": table_of(flows, [*place_columns, *fields("flows")]),
        "queues": table_of(queues, [*place_columns, *fields("queues")]),
        **{name: pa.concat_tables(parts) for name, parts in samples.items()},
    }


def _axes(grid: Grid) -> dict[str, tuple[pa.Field | None, dict[str, float]]]:
    """For each path the column of its numbers, if all its values are numbers of one unit."""
    import pyarrow as pa

    axes: dict[str, tuple[Any, dict[str, float]]] = {}
    for path, values in grid:
        found = {value: _lasthop.quantity(value) for value in values}
        endings = {number[1] for number in found.values() if number}
        if None in found.values() or len(endings) != 1:
            axes[path] = (None, {})
            continue
        column = field(f"{path}_{endings.pop() or 'value'}", pa.float64())
        axes[path] = (column, {value: number[0] for value, number in found.items() if number})
    return axes


def _totals(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A run's own figures: sums over its flows and queues, and means over its queues."""
    flows, queues = summary["flows"], summary["queues"]
    return {
        **{key: summary[key] for key in ("events", "packets", "duration_s", "warmup_s")},
        **fairness(summary),
        **{key: value for key, value in summary["system"].items() if key != "goodput_bps"},
        "total_goodput_bps": total_goodput(summary),
        "mean_delay_s": mean_delay(summary),
        "p95_delay_s": over_queues(summary, "p95_delay_s"),
        "utilisation": over_queues(summary, "utilisation"),
        "retransmits": sum(flow["retransmits"] or 0 for flow in flows),
        "timeouts": sum(flow["timeouts"] or 0 for flow in flows),
        "drops": sum(queue["drops"] or 0 for queue in queues),
    }


def read_sweep(table: pa.Table, document: dict[str, Any]) -> Sweep:
    """A sweep from the long table of its file."""
    parts = parted(table, document["columns"])
    found = Sweep(parts, {key: value for key, value in document.items() if key != "columns"})
    # What is missing in a damaged file is missed here, and not when it is looked at.
    repr(found), found.attrs, [found.arrow[name] for name in TABLES]
    return found


def rerun_sweep(old: Sweep) -> list[str]:
    """Repeats a sweep that was written; returns the differences."""
    document = old.document
    grid = old.grid
    with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:
        paths = {}
        for number, (name, content) in enumerate(decode_files(document["files"]).items()):
            paths[name] = os.path.join(folder, f"{number}.trace")
            with open(paths[name], "wb") as file:
                file.write(content)
        overrides = tuple((str(path), str(value)) for path, value in document["set"])
        scenario = Scenario(document["scenario"], folder, document["label"])
        axes = points_of(grid)
        files = document["points"] if len(document["points"]) == len(axes) else (
            document["points"] * len(axes)
        )  # fmt: skip
        points = [
            (*overrides, *point, *((key, paths[name]) for key, name in own.items()))
            for point, own in zip(axes, files, strict=True)
        ]
        moved = {path: path for path in paths.values()}
        for point in points:
            check_whole(_lasthop.check(scenario.text, folder, point), moved)
        requests = [
            Request(scenario, point, seed, bool(old.table_names))
            for point in points
            for seed in old.seeds
        ]
        outcomes = Runner().outcomes(requests, label=document["label"])
    asked = [replace(r, overrides=p) for p in points_of(grid) for r in requests[: len(old.seeds)]]
    again = tables_of_runs(asked, outcomes, grid)
    differences = []
    for name in [*old.arrow, *(name for name in again if name not in old.arrow)]:
        before, after = old.arrow.get(name), again.get(name)
        if before is None or after is None or not before.equals(after):
            rows = [part.to_pylist() if part is not None else [] for part in (before, after)]
            differences += summary_differences({name: rows[0]}, {name: rows[1]})
    return differences
