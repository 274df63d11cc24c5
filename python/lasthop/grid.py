# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps: a scenario over a grid of values and a row of seeds."""

from __future__ import annotations

import itertools
import os
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _lasthop
from .archive import decode_files, encode_files, summary_differences, write_frame
from .atomic import check_writable
from .bundle import pack, unpack
from .errors import UserError
from .runs import Record, Request, Runner
from .scenario import Overrides, Scenario, Settings, Source, of, overrides_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Grid = Sequence[tuple[str, Sequence[str]]]
"""Paths of keys, each with its values; the last varies fastest."""


class Sweep(NamedTuple):
    """A finished sweep."""

    scenario: Scenario
    grid: Grid
    requests: Sequence[Request]
    records: Sequence[Record]

    def frame(self) -> pd.DataFrame:
        """One row a run: grid values, seed, then the summary with dotted names."""
        import pandas as pd

        rows = []
        for request, record in zip(self.requests, self.records, strict=True):
            values = dict(request.overrides)
            row: dict[str, Any] = {path: values[path] for path, _ in self.grid}
            row["seed"] = request.seed
            row.update(flatten(record.summary))
            rows.append(row)
        return pd.DataFrame(rows)

    def write(self, out: str | os.PathLike[str]) -> None:
        """Writes the frame as Parquet, with all that it takes to run the sweep again."""
        text, directory, label = self.scenario
        first = self.requests[0].overrides
        write_frame(
            out,
            self.frame(),
            {
                "kind": "sweep",
                "label": os.path.basename(label),
                "scenario": text,
                "set": first[: len(first) - len(self.grid)],
                "grid": self.grid,
                "seed": self.requests[0].seed,
                "seeds": len({request.seed for request in self.requests}),
                "files": encode_files(pack(_lasthop.check(text, directory, first), directory)),
            },
        )


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
) -> pd.DataFrame:
    """Runs a scenario at every point of ``grid`` with ``seeds`` seeds from ``seed`` on.

    One row a run: the grid's values, the seed, then the summary with dotted names
    (``flow.near.goodput_bps``). The rows are in the order of the grid and the same, bit for
    bit, for any number of ``jobs`` and on Dask. With ``out`` the frame is written as Parquet,
    and finished runs are kept in a journal beside it until it is: interrupted, the same call
    goes on where it stopped.
    """
    done = run_sweep(
        of(scenario), grid=grid, set=set, seed=seed, seeds=seeds, jobs=jobs, dask=dask, out=out
    )
    return done.frame()


def run_sweep(
    scenario: Scenario,
    *,
    grid: Mapping[str, Iterable[Any]] | Iterable[str],
    set: Settings,
    seed: int | None,
    seeds: int,
    jobs: int | None,
    dask: str | None,
    out: str | os.PathLike[str] | None,
) -> Sweep:
    """As :func:`sweep`, but returns the runs themselves."""
    points = parse_grid(grid)
    if out is not None:
        check_writable(out)
    requests = requests_of(scenario, points, overrides_of(set), seed=seed, seeds=seeds)
    journal = f"{os.fspath(out)}.journal" if out is not None else None
    with Runner(jobs=jobs, dask=dask, journal=journal) as runner:
        records = runner.run(requests, label=os.path.basename(scenario.label))
        done = Sweep(scenario, points, requests, records)
        if out is not None:
            done.write(out)
    return done


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
    first = seed if seed is not None else default_seed(scenario, overrides)
    return [
        Request(scenario, (*overrides, *point), number)
        for point in points_of(grid)
        for number in range(first, first + seeds)
    ]


def points_of(grid: Grid) -> list[tuple[tuple[str, str], ...]]:
    """The points of a grid, each as the overrides that lead to it."""
    axes = [[(path, value) for value in values] for path, values in grid]
    return list(itertools.product(*axes))


def default_seed(scenario: Scenario, overrides: Overrides) -> int:
    """The seed that the scenario itself asks for, 1 where it does not."""
    effective = _lasthop.check(scenario.text, scenario.directory, overrides)
    return int(tomllib.loads(effective).get("seed", 1))


def flatten(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary as one row: totals first, then every flow and queue by name."""
    row: dict[str, Any] = {
        "total_goodput_bps": total_goodput(summary),
        "mean_delay_s": mean_delay(summary),
    }
    for key, value in summary.items():
        if key in ("scenario", "seed", "version", "notes"):
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


def total_goodput(summary: Mapping[str, Any]) -> float:
    """The sum of the flows' goodputs in bit/s."""
    return float(sum(flow["goodput_bps"] or 0.0 for flow in summary["flows"]))


def mean_delay(summary: Mapping[str, Any]) -> float | None:
    """The mean queueing delay in s: each queue's mean, averaged over the queues that have one."""
    delays = [q["mean_delay_s"] for q in summary["queues"] if q["mean_delay_s"] is not None]
    return sum(delays) / len(delays) if delays else None


def rerun_sweep(table: pa.Table, document: dict[str, Any]) -> list[str]:
    """Repeats a sweep that was written; returns the differences."""
    import pyarrow as pa

    grid: Grid = [(path, values) for path, values in document["grid"]]
    with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:
        moved = unpack(decode_files(document["files"]), folder)
        overrides = (*(tuple(pair) for pair in document["set"]), *moved)
        scenario = Scenario(document["scenario"], folder, document["label"])
        requests = requests_of(
            scenario, grid, overrides, seed=document["seed"], seeds=document["seeds"]
        )
        records = Runner().run(requests, label=document["label"])
    frame = Sweep(scenario, grid, requests, records).frame()
    again = pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
    return summary_differences({"row": table.to_pylist()}, {"row": again})
