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


def beside(point: Point) -> dict[str, Any]:
    """QFCP beside as many TCP flows, each of a station: "up beside down" is QFCP's uploads."""
    ways = {"down": "station", "up": "source"}
    qfcp, tcp = point["ways"].split(" beside ")
    flows = [
        {
            "name": f"{name}-{i}",
            ways[way]: f"{name}-{i}",
            "rtt": "40 ms",
            "packet": "1340 B",
            "sender": sender,
        }
        for name, sender, way in (("qfcp", "qfcp", qfcp), ("tcp", "newreno", tcp))
        for i in range(1, point["each"] + 1)
    ]
    return {"flow": flows}
