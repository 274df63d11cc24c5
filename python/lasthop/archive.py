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
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import _lasthop
from .atomic import replacing
from .bundle import check_whole, unpack
from .errors import UserError
from .record import Record, Summary
from .scenario import Overrides
from .tables import field, joined, parted, raw_of

if TYPE_CHECKING:
    import pyarrow as pa

    from .result import Result

FORMAT = 2
"""Raised when files are written in another way."""

MOST_CELLS = 1 << 30
"""Larger tables are refused: they fill the memory, and nobody has written one."""

LARGEST_FILE = 1 << 28
"""Bytes of a trace file, unpacked, that a result may hold: more than any trace that is read."""


def write_frame(path: str | os.PathLike[str], table: Any, metadata: dict[str, Any]) -> None:
    """Writes an Arrow table or data frame with ``metadata`` and the unit of each column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not isinstance(table, pa.Table):
        table = pa.Table.from_pandas(table, preserve_index=False)
    fields = [
        old if (old.metadata or {}).get(b"unit") else field(old.name, old.type)
        for old in table.schema
    ]
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
        with open(name, "rb") as file, sound(name):
            try:
                metadata = pq.read_metadata(file)
                cells = metadata.num_rows * metadata.num_columns
                if cells > MOST_CELLS:
                    raise UserError(f"{name}: {cells} cells: wanted at most {MOST_CELLS}")
                file.seek(0)
                table = pq.read_table(file)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                wanted = "wanted a result of lasthop"
                raise UserError(f"{name}: not a Parquet file: {wanted}") from error
    except OSError as error:
        reason = error.strerror or "not a Parquet file: wanted a result of lasthop"
        raise UserError(f"{name}: cannot read: {reason}") from error
    raw = (table.schema.metadata or {}).get(b"lasthop")
    if raw is None:
        raise UserError(f"{name}: not written by lasthop: wanted a result of lasthop")
    with sound(name):
        document: dict[str, Any] = json.loads(raw)
        if document["format"] > FORMAT:
            raise UserError(f"{name}: written by a newer lasthop ({document['version']})")
        if document["kind"] == "sweep" and document["format"] < 2:
            raise UserError(f"{name}: written by an older lasthop: wanted the sweep run again")
        return table, document


@contextmanager
def sound(name: str) -> Iterator[None]:
    """Says in one line that a file is damaged, whatever its reader stumbles over."""
    import pyarrow as pa

    try:
        yield
    except UserError:
        raise
    except _lasthop.ScenarioError as error:
        raise UserError(f"{name}: the scenario in it: {error}") from error
    except KeyError as error:
        wanted = f"wanted a result of lasthop ({error} is missing)"
        raise UserError(f"{name}: damaged: {wanted}") from error
    except (
        pa.ArrowException, ValueError, LookupError, TypeError, AttributeError, ArithmeticError,
        RecursionError, zlib.error,
    ) as error:  # fmt: skip
        raise UserError(f"{name}: damaged: wanted a result of lasthop ({error!r})") from error


def write_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Writes a run's result."""
    write_frame(
        path,
        joined(result.arrow),
        {
            "kind": "run",
            "label": os.path.basename(result.label),
            "scenario": result.scenario,
            "seed": result.seed,
            "summary": without_clock(result.summary),
            "names": result.names,
            "columns": {
                name: {column: kind for column, (kind, _) in columns.items()}
                for name, columns in result.raw_tables.items()
            },
            "files": encode_files(result.files()),
        },
    )


def repeat(result: Result, overrides: Overrides = ()) -> _lasthop.RunResult:
    """Runs what a result records once more, with the trace files that it holds."""
    with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:
        moved = unpack(result.files(), folder)
        check_whole(result.scenario, dict(moved))
        return _lasthop.run(result.scenario, folder, (*moved, *overrides), result.seed)


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
    """Undoes :func:`encode_files`, for files of up to :data:`LARGEST_FILE`."""
    found = {}
    for key, content in files.items():
        unpacking = zlib.decompressobj()
        found[key] = unpacking.decompress(base64.b64decode(content, validate=True), LARGEST_FILE)
        if unpacking.unconsumed_tail:
            raise UserError(f"{key}: a file of over {LARGEST_FILE} B: wanted a trace")
        if not unpacking.eof:
            raise ValueError(f"{key}: cut short")
    return found


def without_clock(summary: Summary) -> Summary:
    """A summary without what is never the same twice."""
    return {key: value for key, value in summary.items() if key != "wall_s"}


def record_in(table: pa.Table, document: dict[str, Any]) -> Record:
    """Takes the sampled tables out of the long table again, with their own types."""
    parts = parted(table, document["columns"])
    tables = {
        name: {column: raw_of(parts[name][column], kind) for column, kind in columns.items()}
        for name, columns in document["columns"].items()
    }
    summary = document["summary"]
    if not all(isinstance(summary[key], list) for key in ("flows", "queues")):
        raise TypeError("summary without flows and queues")
    return Record(str(document["scenario"]), summary, tables, document["names"])
