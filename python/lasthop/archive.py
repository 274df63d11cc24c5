# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results on disk: Parquet files that describe themselves, and their verification.

A file holds one long table. Its column ``table`` says what a row is: ``flow`` and ``queue``
rows are the summary (one a flow or queue), ``flows``, ``queues`` and ``packets`` rows the
sampled tables. The schema's metadata holds, under the key ``lasthop``, the scenario's text,
the seed, the version, the summary and the trace files that the scenario reads; each
column's metadata holds its unit.
"""

from __future__ import annotations

import base64
import json
import math
import os
import tempfile
import zlib
from typing import TYPE_CHECKING, Any

from . import _lasthop
from .atomic import replacing
from .bundle import pack, unpack
from .errors import UserError
from .result import Result, unit_of
from .runs import Record, Summary
from .scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMAT = 1
"""Raised when old files can no longer be read."""

SUMMARY_TABLES = {"flow": "flows", "queue": "queues"}


def write_frame(path: str | os.PathLike[str], table: Any, metadata: dict[str, Any]) -> None:
    """Writes an Arrow table or data frame with ``metadata`` and the unit of each column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not isinstance(table, pa.Table):
        table = pa.Table.from_pandas(table, preserve_index=False)
    fields = []
    for old in table.schema:
        unit = unit_of(old.name.rpartition(".")[2])
        fields.append(old.with_metadata({"unit": unit}) if unit else old)
    document = {"format": FORMAT, "version": _lasthop.version(), **metadata}
    schema = pa.schema(
        fields, {**(table.schema.metadata or {}), b"lasthop": json.dumps(document).encode()}
    )
    with replacing(path) as temporary:
        pq.write_table(pa.Table.from_arrays(table.columns, schema=schema), temporary)


def read_frame(path: str | os.PathLike[str]) -> tuple[pa.Table, dict[str, Any]]:
    """Reads what :func:`write_frame` wrote. Raises :class:`UserError` for any other file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            table = pq.read_table(file)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UserError(f"{name}: not a Parquet file: wanted a result of lasthop") from error
    except OSError as error:
        raise UserError(f"{name}: cannot read: {error.strerror or error}") from error
    raw = (table.schema.metadata or {}).get(b"lasthop")
    if raw is None:
        raise UserError(f"{name}: not written by lasthop: wanted a result of lasthop")
    document: dict[str, Any] = json.loads(raw)
    if document["format"] > FORMAT:
        raise UserError(f"{name}: written by a newer lasthop ({document['version']})")
    return table, document


def write_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Writes a run's result."""
    import pyarrow as pa

    parts = []
    for name, key in SUMMARY_TABLES.items():
        rows = result.summary[key]
        if rows:
            parts.append(_labelled(pa.Table.from_pylist(rows), name))
    for name, columns in result.raw_tables.items():
        parts.append(_labelled(_arrow(columns, result.names.get(name)), name))
    table = pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})
    files = pack(result.scenario, result.directory)
    write_frame(
        path,
        table,
        {
            "kind": "run",
            "label": os.path.basename(result.label),
            "scenario": result.scenario,
            "seed": result.seed,
            "summary": _without_clock(result.summary),
            "names": result.names,
            "columns": {
                name: {column: kind for column, (kind, _) in columns.items()}
                for name, columns in result.raw_tables.items()
            },
            "files": encode_files(files),
        },
    )


def read(path: str | os.PathLike[str]) -> Result | pd.DataFrame:
    """Reads a file of lasthop: the :class:`Result` of a run, or the data frame of a sweep."""
    table, document = read_frame(path)
    if document["kind"] != "run":
        frame: pd.DataFrame = table.to_pandas()
        return frame
    return Result(
        _record(table, document),
        directory=os.path.dirname(os.path.abspath(path)),
        label=document["label"],
    )


def rerun(path: str | os.PathLike[str]) -> list[str]:
    """Repeats what a file records; returns the differences, none where all bits are equal."""
    table, document = read_frame(path)
    kind = document["kind"]
    if kind == "run":
        if document["summary"].get("emulation"):
            name = os.fspath(path)
            raise UserError(f"{name}: an emulation is never the same twice: wanted a simulation")
        return _rerun_run(table, document)
    if kind == "sweep":
        from .grid import rerun_sweep

        return rerun_sweep(table, document)
    raise UserError(f"{os.fspath(path)}: data of a {kind}: wanted the result of a run or sweep")


def _rerun_run(table: pa.Table, document: dict[str, Any]) -> list[str]:
    old = _record(table, document)
    with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:
        overrides = unpack(decode_files(document["files"]), folder)
        scenario = Scenario(document["scenario"], folder, document["label"])
        native = _lasthop.run(scenario.text, folder, overrides, document["seed"])
    differences = summary_differences(old.summary, json.loads(native.summary_json))
    new = native.tables
    for name in sorted(old.tables.keys() | new.keys()):
        before, after = old.tables.get(name, {}), new.get(name, {})
        for column in sorted(before.keys() | after.keys()):
            if before.get(column) != after.get(column):
                differences.append(f"table {name}, column {column}")
    return differences


def summary_differences(old: Any, new: Any, path: str = "") -> list[str]:
    """Lists where two summaries differ, the version and the clock aside."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in [*old, *(key for key in new if key not in old)]:
            if not path and key in ("version", "wall_s"):
                continue
            inner = f"{path}.{key}" if path else key
            found += summary_differences(old.get(key), new.get(key), inner)
        return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            difference
            for index, (a, b) in enumerate(zip(old, new, strict=True))
            for difference in summary_differences(a, b, f"{path}[{index}]")
        ]
    same = old == new or (
        isinstance(old, float) and isinstance(new, float) and math.isnan(old) and math.isnan(new)
    )
    return [] if same else [f"{path}: {old} was recorded, {new} came out"]


def encode_files(files: dict[str, bytes]) -> dict[str, str]:
    """Packs files into text for the metadata."""
    return {
        key: base64.b64encode(zlib.compress(content, 9)).decode() for key, content in files.items()
    }


def decode_files(files: dict[str, str]) -> dict[str, bytes]:
    """Undoes :func:`encode_files`."""
    return {key: zlib.decompress(base64.b64decode(content)) for key, content in files.items()}


def _without_clock(summary: Summary) -> Summary:
    return {key: value for key, value in summary.items() if key != "wall_s"}


def _arrow(columns: dict[str, tuple[str, bytes]], names: list[str] | None) -> pa.Table:
    """A sampled table in Arrow, with the name of its flow or queue beside the index."""
    import numpy as np
    import pyarrow as pa

    arrays = {}
    for column, (kind, raw) in columns.items():
        values = np.frombuffer(raw, dtype=kind)
        arrays[column] = pa.array(values.view("<i8") if kind == "<u8" else values)
    if names:
        index = columns["flow"] if "flow" in columns else columns["queue"]
        positions = np.frombuffer(index[1], dtype=index[0]).astype("int32")
        arrays["name"] = pa.DictionaryArray.from_arrays(positions, pa.array(names)).cast(
            pa.string()
        )
    return pa.table(arrays)


def _labelled(table: pa.Table, name: str) -> pa.Table:
    import pyarrow as pa

    label = pa.DictionaryArray.from_arrays(
        pa.array([0] * table.num_rows, pa.int8()), pa.array([name])
    )
    return table.add_column(0, "table", label.cast(pa.string()))


def _record(table: pa.Table, document: dict[str, Any]) -> Record:
    """Takes the sampled tables out of the long table again, with their own types."""
    import pyarrow.compute as pc

    tables = {}
    for name, columns in document["columns"].items():
        rows = table.filter(pc.equal(table["table"], name))
        tables[name] = {
            column: (
                kind,
                rows[column].combine_chunks().to_numpy(zero_copy_only=False).astype(kind).tobytes(),
            )
            for column, kind in columns.items()
        }
    return Record(document["scenario"], document["summary"], tables, document["names"])
