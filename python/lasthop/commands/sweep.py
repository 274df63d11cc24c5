# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop sweep``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

from ..atomic import check_apart, check_ending, check_writable
from ..cli import DONE, WRONG_INPUT
from ..errors import UserError, tell
from ..grid import parse_grid, requests_of
from ..scenario import from_here, load, overrides_of
from ..sweeps import Sweep, run_shard, run_sweep
from ..text import RATES, TIMES, Column, significant, table

if TYPE_CHECKING:
    from argparse import Namespace


def main(options: Namespace) -> int:
    """Runs the sweep, prints one row a run, or with ``--mean`` a point."""
    pictures = [
        _picture(text, options.out, number) for number, text in enumerate(options.plot, start=1)
    ]
    if options.out:
        check_ending("--out", options.out, ".parquet")
    outputs = [path for path in (options.out, *(path for *_, path in pictures)) if path]
    for path in outputs:
        check_writable(path)
    check_apart(outputs, [options.file])
    scenario = load(options.file)
    points = [
        (path, [value for _, value in from_here(((path, v) for v in values), scenario.directory)])
        for path, values in parse_grid(options.grid)
    ]
    overrides = from_here(overrides_of(options.set), scenario.directory)
    requests = requests_of(scenario, points, overrides, seed=options.seed, seeds=options.seeds)
    journal = f"{options.out}.journal" if options.out else None
    where: Any = {"jobs": options.jobs, "dask": options.dask, "patience_s": options.patience}
    if options.shard:
        if journal is None:
            raise UserError(f"--shard {options.shard[0]}/{options.shard[1]}: wanted --out too")
        done, path, refused = run_shard(requests, options.shard, journal=journal, **where)
        print(f"{path}: {done} of {len(requests)} runs; "
              "the same command without --shard joins all shards")  # fmt: skip
        return _tell(options.file, refused)
    command = shlex.join(["lasthop", *sys.argv[1:]])
    sweep = run_sweep(requests, points, journal=journal, out=options.out, command=command, **where)
    for x, y, path in pictures:
        sweep.plot(x, y, path=path)
    if options.json:
        json.dump(_means(sweep) if options.mean else _runs(sweep), sys.stdout, indent=1)
        print()
    else:
        print(_mean_table(sweep) if options.mean else _run_table(sweep))
    for note in sweep.notes:
        tell(f"note: {note}") if options.json else print(f"note: {note}")
    return _tell(options.file, sweep.refused)


def _tell(file: str, refused: list[str]) -> int:
    """Says which runs were refused; the others are not lost by it."""
    for message in refused:
        tell(f"{file}: {message}")
    return WRONG_INPUT if refused else DONE


def _picture(text: str, out: str | None, number: int) -> tuple[str, str, str]:
    """What the ``number``-th ``--plot x=…,y=…,file=…`` asks for."""
    from ..grid import split_values
    from ..plot import picture_kind

    parts = {}
    for part in split_values(text):
        key, equals, value = part.partition("=")
        if not equals or key.strip() not in ("x", "y", "file") or not value.strip():
            raise UserError(f'--plot {text}: wanted x=…,y=…,file=…, e.g. "x=delay,y=goodput"')
        parts[key.strip()] = value.strip()
    if not {"x", "y"} <= parts.keys():
        raise UserError(f'--plot {text}: wanted x=…,y=…, e.g. "x=delay,y=goodput"')
    stem = os.path.splitext(out)[0] if out else "sweep"
    path = parts.get("file") or (f"{stem}.png" if number == 1 else f"{stem}-{number}.png")
    picture_kind(path)
    return parts["x"], parts["y"], path


def _runs(sweep: Sweep) -> list[dict[str, Any]]:
    """The runs with their flows and queues, as JSON."""
    flows, queues = (_grouped(sweep, name) for name in ("flows", "queues"))
    return [
        {**run, "flows": flows.get(run["run"], []), "queues": queues.get(run["run"], [])}
        for run in sweep.arrow["runs"].to_pylist()
    ]


def _grouped(sweep: Sweep, name: str) -> dict[int, list[dict[str, Any]]]:
    """Rows by their run, without what the run's own row says."""
    place = set(sweep.arrow["runs"].column_names[: sweep.arrow["runs"].column_names.index("seed")])
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in sweep.arrow[name].to_pylist():
        own = {key: value for key, value in row.items() if key not in {*place, "seed"}}
        groups.setdefault(row["run"], []).append(own)
    return groups


def _means(sweep: Sweep) -> list[dict[str, Any]]:
    frame = sweep.mean().astype(object)
    return [
        {str(key): value for key, value in row.items()}
        for row in frame.where(frame.notna(), None).to_dict("records")
    ]


FIGURES = (
    ("goodput", "total_goodput_bps", RATES),
    ("queueing delay", "mean_delay_s", TIMES),
    ("fairness (Jain)", "jain", None),
    ("time-outs", "timeouts", None),
    ("drops", "drops", None),
)


def _run_table(sweep: Sweep) -> str:
    columns = [
        *(Column(path, path) for path, _ in sweep.grid),
        Column("seed", "seed"),
        *(Column(heading, key, scale) for heading, key, scale in FIGURES),
    ]
    rows = sweep.arrow["runs"].to_pylist()
    return table(columns, [{**row, "seed": str(row["seed"])} for row in rows])


def _mean_table(sweep: Sweep) -> str:
    """Means with half of their intervals: ``3.26 ± 0.01``."""
    from ..text import pick

    frame = sweep.mean()
    columns = [*(Column(path, path) for path, _ in sweep.grid), Column("n", "n")]
    rows: list[dict[str, Any]] = [
        {**{path: row[path] for path, _ in sweep.grid}, "n": str(row["n"])}
        for row in frame.to_dict("records")
    ]
    for heading, key, scale in FIGURES:
        factor, unit = pick(scale, frame[key].abs().max()) if scale else (1.0, "")
        columns.append(Column(f"{heading} [{unit}]" if unit else heading, key))
        for row, (_, found) in zip(rows, frame.iterrows(), strict=True):
            mean, half = found[key], found[f"high_{key}"] - found[key]
            if mean != mean:
                continue
            text = significant(mean / factor)
            row[key] = f"{text} ± {significant(half / factor, 2)}" if half > 0 else text
    return table(columns, rows)
