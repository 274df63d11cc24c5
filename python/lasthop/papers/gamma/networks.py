# SPDX-License-Identifier: MIT OR Apache-2.0
"""The networks of ``gamma`` where what is set must be computed."""

from __future__ import annotations

from typing import Any

from ...lab.sweeps import Point

PACKET_BITS = 8320
"""A packet on the wire."""

Set = dict[str, Any]


def _dumbbell(flows: float, mbps: float, access_mbps: float | None = None) -> Set:
    """N flows over a bottleneck of so many Mbit/s, with a buffer of rate × 100 ms."""
    access = mbps if access_mbps is None else access_mbps
    return {
        "link[0].rate": f"{mbps:g} Mbit/s",
        "link[0].queue.limit": f"{int(mbps * 1e5 / PACKET_BITS)} packets",
        "flow[0].access": f"{access:g} Mbit/s",
        "flow[0].sink.rate": f"{access:g} Mbit/s",
        "flow[0].count": int(flows),
    }


def dumbbell(point: Point, mbps: float | None = None) -> Set:
    """A dumbbell of so many Mbit/s; of 1 Mbit/s a flow if none are given."""
    return _dumbbell(point["flows"], point["flows"] if mbps is None else mbps)


def _reading(share: float) -> Set:
    """Applications of 1 Mbit/s, whose readers want that share of it each second."""
    return {
        "flow[0].app": {"kind": "cbr", "rate": "1 Mbit/s"},
        "flow[0].reader.share": share,
    }


def readers(point: Point) -> Set:
    """Readers on a dumbbell of 1 Mbit/s a flow."""
    return {**_dumbbell(point["flows"], point["flows"], 10), **_reading(0.9)}


def lossy(
    point: Point,
    flows: int,
    mbps: float,
    wireless_mbps: float,
    reading: float | None = None,
    burst: float | None = None,
) -> Set:
    """A dumbbell whose wireless links lose a share of the data, in bursts or each alone."""
    found = {**_dumbbell(flows, mbps), "flow[0].sink.rate": f"{wireless_mbps:g} Mbit/s"}
    if point["loss"] > 0:
        found["flow[0].sink.loss"] = (
            {"kind": "bernoulli", "p": point["loss"]}
            if burst is None
            else {"kind": "gilbert-elliott", "mean_loss": point["loss"], "mean_burst": burst}
        )
    return found if reading is None else {**found, **_reading(reading)}


def diverse(point: Point) -> Set:
    """Twenty flows with round-trip times from 30 ms to the longest."""
    return {"flow[0].rtt_step": f"{(point['longest_ms'] - 30) / 19 * 1e6:.0f} ns"}


def fixed_windows(point: Point) -> Set:
    """Ten flows whose windows are limited to a tenth of the total."""
    limit = f"{point['window_packets'] / 10:.0f} packets"
    return {**_dumbbell(10, 10), "flow[0].sender.window_limit": limit}


def newreno(point: Point) -> Set:
    """One flow that losses alone limit, long enough to meet some hundred."""
    return {
        **{k: v for k, v in lossy(point, 1, 100, 100).items() if k != "link[0].queue.limit"},
        "duration": "350 s" if point["loss"] > 0.001 else "2050 s",
        "warmup": "50 s",
    }


def path(point: Point) -> Set:
    """A round-trip time from end to end."""
    rtt_s = point["rtt_s"]
    return {
        "flow[0].rtt": f"{rtt_s * 1e3 - 80:g} ms" if rtt_s > 0.09 else "0 ms",
        "link[0].delay": "30 ms" if rtt_s > 0.09 else "15 ms",
    }
