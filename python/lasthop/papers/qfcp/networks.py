# SPDX-License-Identifier: MIT OR Apache-2.0
"""The networks of ``qfcp`` where what is set must be computed."""

from __future__ import annotations

from typing import Any

from ...lab.sweeps import Point


def mixture(point: Point) -> dict[str, Any]:
    """Uploads and downloads, each of a station: "4+1" are four up and one down."""
    up, down = (int(count) for count in point["flows"].split("+"))
    ways = [("source", "up")] * up + [("station", "down")] * down
    flows = [
        {"name": f"{name}-{i}", way: f"m{i}", "rtt": "40 ms", "packet": "1340 B"}
        for i, (way, name) in enumerate(ways, start=1)
    ]
    return {"flow": flows}
