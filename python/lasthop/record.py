# SPDX-License-Identifier: MIT OR Apache-2.0
"""What one run left behind, in plain Python, so that it can cross the wire."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .tables import honest

if TYPE_CHECKING:
    from . import _lasthop

Summary = dict[str, Any]
Tables = dict[str, dict[str, tuple[str, bytes]]]


@dataclass(frozen=True)
class Record:
    """What one run left behind."""

    scenario: str
    summary: Summary
    tables: Tables = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)


def record_of(result: _lasthop.RunResult, *, tables: bool = True) -> Record:
    """What a run of the simulator left behind, taken over into plain Python."""
    flows, queues = result.names
    return Record(
        result.scenario,
        honest(json.loads(result.summary_json)),
        result.tables if tables else {},
        {"flows": list(flows), "queues": list(queues)},
    )
