# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured of a run of ``qfcp``, and its table."""

from __future__ import annotations

import pandas as pd

from ..._lasthop import settling_time
from ...lab import Lab, Run, acknowledged, count_at, moving_rate, rates, settled_s

PAYLOAD_BYTES = 1300
PACKET_BYTES = 1340
STEADY_S = 5.0
STEPS_S = (15, 30, 45, 60)
"""When the WLAN's rate steps."""

TABLE = """
2.9 2.4 2.4 2.5 0.7 2.7 2.0 2.9 1.5 2.4
2.9 2.1 1.9 1.8 0.7 1.8 1.4 1.8 1.1 1.5
3.0 2.0 1.7 1.6 0.7 1.5 1.3 1.5 1.0 1.3
3.0 1.9 1.6 1.5 0.8 1.3 1.1 1.3 0.9 1.1
2.9 1.9 1.5 1.4 0.8 1.2 1.0 1.2 0.9 1.0
2.9 1.8 1.4 1.3 0.8 1.1 1.0 1.1 0.8 0.9
2.9 1.8 1.4 1.2 0.8 1.0 0.9 1.0 0.8 0.8
2.9 1.7 1.3 1.2 0.8 1.0 0.8 0.9 0.7 0.8
2.8 1.7 1.3 1.1 0.8 0.9 0.8 0.8 0.7 0.7
2.8 1.6 1.2 1.0 0.8 0.8 0.7 0.7 0.6 0.6
"""
"""The paper's Table I in s: rows β, columns α, each from 0.1 to 1.0."""


def table_cells(lab: Lab) -> list[float]:
    """How many cells of Table I are equal."""
    cells = [[float(cell) for cell in row.split()] for row in TABLE.split("\n") if row]
    equal = [
        settling_time(0.1 * (column + 1), 0.1 * (row + 1)) == _tenths(cell)
        for row, found in enumerate(cells)
        for column, cell in enumerate(found)
    ]
    return [float(sum(equal))] * len(lab.seeds)


def _tenths(seconds: float) -> float:
    """A time as the model counts it: whole intervals of a tenth of a second."""
    return round(seconds * 10) * 0.1


def queue_packets(run: Run) -> float:
    """The mean queue in packets, at the base station or before the wire."""
    return float(run.summary["queues"][0]["mean_bytes"] / PACKET_BYTES)


def drops(run: Run) -> float:
    """Packets dropped there."""
    return float(run.summary["queues"][0]["drops"])


def downloads_percent(run: Run) -> float:
    """The downloads' share of the goodput."""
    down = sum(f["goodput_bps"] for f in run.summary["flows"] if f["name"].startswith("down"))
    return float(100 * down / run.figures["total_goodput_bps"])


def found_s(run: Run) -> float:
    """Seconds until one download has its rate."""
    return settled_s(_rate(run))


def follows_s(run: Run) -> float:
    """Seconds until the rate is found after a step of the WLAN's, the slowest of the steps."""
    return max(settled_s(_rate(run), since_s=step) for step in STEPS_S)


def _rate(run: Run) -> pd.Series:
    return moving_rate(acknowledged(run.tables).sum(axis=1))


def astray(run: Run) -> float:
    """By what share the rate 3 to 5 s after a step differs from that 10 to 14 s after it; most."""
    return max(astray_after(acknowledged(run.tables).sum(axis=1), step) for step in STEPS_S)


def astray_after(so_far: pd.Series, step_s: float) -> float:
    """That share after one step, from a count of bytes by the time in s."""
    count = count_at(so_far, [step_s + s for s in (3, 5, 10, 14)])
    return float(abs((count[1] - count[0]) / 2 / ((count[3] - count[2]) / 4) - 1))


def jain(frame: pd.DataFrame) -> pd.Series:
    """Jain's index (qfcp eq. 12) of each row."""
    total = frame.sum(axis=1)
    squares = (frame**2).sum(axis=1)
    return total**2 / (frame.shape[1] * squares.where(squares > 0))


def jain_per_second(run: Run) -> float:
    """Jain's index per second, its mean after the first seconds."""
    index = jain(rates(acknowledged(run.tables)))
    return float(index[index.index > STEADY_S + 1].mean())
