# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files of lasthop read back, and what they record done again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .archive import (
    decode_files,
    read_frame,
    record_in,
    repeat,
    sound,
    summary_differences,
    without_clock,
)
from .errors import UserError
from .record import record_of
from .result import Result
from .sweeps import Sweep, read_sweep, rerun_sweep
from .tables import honest, parted

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from . import _lasthop


def read(path: str | os.PathLike[str]) -> Result | Sweep | pd.DataFrame:
    """Reads a file of lasthop: a :class:`Result`, a :class:`Sweep`, or the data of a figure."""
    return _read(path)[0]


def _read(path: str | os.PathLike[str]) -> tuple[Result | Sweep | pd.DataFrame, pa.Table]:
    """What a file records, and the table in it."""
    table, document = read_frame(path)
    with sound(os.fspath(path)):
        if document["kind"] == "sweep":
            return read_sweep(table, document), table
        if document["kind"] != "run":
            frame: pd.DataFrame = table.to_pandas()
            return frame, table
        result = Result(
            record_in(table, document),
            directory=os.path.dirname(os.path.abspath(path)),
            label=str(document["label"]),
            files=decode_files(document["files"]),
        )
        return result, table


def rerun(path: str | os.PathLike[str]) -> list[str]:
    """Repeats what a file records; returns the differences, none where all bits are equal."""
    (found, table), name = _read(path), os.fspath(path)
    if isinstance(found, Result):
        if found.summary.get("emulation"):
            raise UserError(f"{name}: an emulation is never the same twice: wanted a simulation")
        with sound(name):
            return _differences(found, table, repeat(found))
    if isinstance(found, Sweep):
        with sound(name):
            return rerun_sweep(found)
    raise UserError(f"{name}: data of a figure: wanted the result of a run or sweep")


def _differences(old: Result, table: pa.Table, native: _lasthop.RunResult) -> list[str]:
    new = Result(record_of(native), directory=old.directory, label=old.label)
    differences = summary_differences(
        honest(without_clock(old.summary)), without_clock(new.summary)
    )
    # The file's rows of figures stand beside its summary, and may say something else.
    told, again = old.arrow, new.arrow
    rows = parted(table, {name: again[name].column_names for name in ("flow", "queue")})
    for name, part in rows.items():
        recorded = part.to_pylist()
        if recorded != told[name].to_pylist():
            differences += summary_differences({name: recorded}, {name: again[name].to_pylist()})
    before_all, after_all = old.raw_tables, new.raw_tables
    for name in sorted(before_all.keys() | after_all.keys()):
        before, after = before_all.get(name, {}), after_all.get(name, {})
        for column in sorted(before.keys() | after.keys()):
            if before.get(column) != after.get(column):
                differences.append(f"table {name}, column {column}")
    return differences
