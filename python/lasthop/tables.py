# SPDX-License-Identifier: MIT OR Apache-2.0
"""The columns of results: what there is, of which type, in which unit.

The summary's columns come from its JSON Schema, and so from the Rust structs; those of the
samples come with them. Every table of a kind has one schema, whatever occurs in a run.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from . import _lasthop

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    import pyarrow as pa

UNITS = {
    "ns": "ns",
    "s": "s",
    "ms": "ms",
    "bytes": "byte",
    "bps": "bit/s",
    "hz": "Hz",
    "db": "dB",
    "packets": "packet",
}
"""Endings of column names and the units they stand for."""

UNBOUNDED = 2**63 - 1
"""What the simulator notes for a window that nobody bounds, in bytes."""

MAY_BE_UNBOUNDED = ("awnd_bytes", "ssthresh_bytes")
"""Samples that can be that: real numbers in data frames, NaN where nobody bounds them."""

WIDEST = 2**30
"""The greatest window that TCP can advertise with its scale (RFC 7323); more bounds nobody."""

ROWS = {"flows": "FlowSummary", "queues": "QueueSummary", "fairness": "Fairness",
        "system": "System"}  # fmt: skip
"""Parts of a summary and their definitions in its schema."""


FIRST = ("name", "sender", "receiver", "goodput_bps", "mean_delay_s", "p95_delay_s")
"""Columns that stand in front; the others follow by their names."""


def unit_of(column: str) -> str:
    """The unit of a column, read off the ending of its name; empty for pure numbers."""
    if column.endswith("_per_s"):
        return "1/s"
    stem, _, ending = column.rpartition("_")
    return UNITS.get(ending, "") if stem else ""


@cache
def summary_schema() -> dict[str, Any]:
    """The JSON Schema of a run's summary."""
    found: dict[str, Any] = json.loads(_lasthop.summary_schema())
    return found


def fields(part: str) -> list[pa.Field]:
    """The columns of a part of the summary: ``flows``, ``queues``, ``fairness``, ``system``."""
    properties = summary_schema()["$defs"][ROWS[part]]["properties"]
    ordered = sorted(
        properties, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST)
    )
    return [field(name, _arrow_type(properties[name])) for name in ordered]


def field(name: str, kind: Any) -> pa.Field:
    """A column whose metadata say its unit, ``1`` for a pure number; texts have none."""
    import pyarrow as pa

    found = pa.field(name, kind)
    if pa.types.is_string(found.type):
        return found
    return found.with_metadata({"unit": unit_of(name) or "1"})


def _arrow_type(about: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    kinds = about["type"] if isinstance(about["type"], list) else [about["type"]]
    types = {"integer": pa.int64(), "number": pa.float64(), "string": pa.string(),
             "boolean": pa.bool_()}  # fmt: skip
    return next(types[kind] for kind in kinds if kind != "null")


def figures(summary: Mapping[str, Any], part: str) -> list[dict[str, Any]]:
    """The rows of ``flows`` or ``queues``; a window that nobody bounds has no mean."""
    rows: list[dict[str, Any]] = summary[part]
    if part != "flows":
        return rows
    return [
        {**row, "mean_awnd_bytes": None} if (row["mean_awnd_bytes"] or 0) > WIDEST else row
        for row in rows
    ]


def fairness(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """How evenly the flows fared; nothing of a flow alone."""
    found: dict[str, float | None] = summary["fairness"]
    return found if len(summary["flows"]) > 1 else dict.fromkeys(found)


def honest(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary whose figures are null where they say nothing."""
    return {**summary, "flows": figures(summary, "flows"), "fairness": fairness(summary)}


def table_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[pa.Field]) -> pa.Table:
    """Rows as a table of these columns; what a row does not have is null."""
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=pa.schema(columns))


def sampled(columns: Mapping[str, tuple[str, bytes]], names: Mapping[str, list[str]]) -> pa.Table:
    """A sampled table, with the ``name`` of its flow or queue; null where nothing applies."""
    import pyarrow as pa

    arrays, kinds = [], []
    for column, (kind, raw) in columns.items():
        values = values_of(kind, raw)
        missing = values == UNBOUNDED if kind != "<f8" else values != values
        arrays.append(pa.array(values, mask=missing))
        kinds.append(field(column, arrays[-1].type))
    for index, group in (("flow", "flows"), ("queue", "queues")):
        if index in columns and names.get(group):
            places = pa.array(values_of(*columns[index]), pa.int32())
            name = pa.DictionaryArray.from_arrays(places, pa.array(names[group]))
            arrays.append(name.cast(pa.string()))
            kinds.append(field("name", pa.string()))
    return pa.Table.from_arrays(arrays, schema=pa.schema(kinds))


def values_of(kind: str, raw: bytes) -> np.ndarray[Any, Any]:
    """A column as it came from the simulator, without copying it."""
    import numpy as np

    return np.frombuffer(raw, dtype=kind)


def raw_of(column: Any, kind: str) -> tuple[str, bytes]:
    """Undoes :func:`sampled` for a column: null is what the simulator writes for it."""
    import pyarrow as pa

    nothing = float("nan") if kind == "<f8" else UNBOUNDED
    filled = column.combine_chunks().fill_null(pa.scalar(nothing, column.type))
    return kind, filled.to_numpy(zero_copy_only=False).astype(kind).tobytes()


def joined(tables: Mapping[str, pa.Table]) -> pa.Table:
    """Tables under each other as one long table, whose column ``table`` says what a row is."""
    import pyarrow as pa

    parts = []
    for name, part in tables.items():
        label = pa.DictionaryArray.from_arrays(
            pa.array([0] * part.num_rows, pa.int32()), pa.array([name])
        )
        parts.append(part.add_column(0, field("table", pa.string()), label.cast(pa.string())))
    return pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})


def parted(table: pa.Table, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]:
    """Undoes :func:`joined`: the parts by name, each with its own columns."""
    import pyarrow.compute as pc

    table = table.replace_schema_metadata(None)
    return {
        name: table.filter(pc.equal(table["table"], name)).select(list(own))
        for name, own in columns.items()
    }
