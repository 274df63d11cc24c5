# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured of a run, and the claims of ``clamp`` that are not a point, ratio or order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from ... import _lasthop
from ...lab import Lab, Run, acknowledged, count_at, megabyte_s, rates, within

WHOLE_PACKETS = 1500 / 1460
"""Throughput, which counts whole packets, over goodput, which counts their payload."""
MEASURED_S = 2700
"""Of a full run, for counts."""

STEADY_S = ((15, 50), (215, 250), (65, 100), (165, 200), (115, 150))
"""Spans of Fig. 2 without the first 15 s after a change: one flow, two and three."""


def throughput_bps(run: Run, flow: str) -> float:
    """A flow's rate in whole packets."""
    return float(run.figures[f"flow.{flow}.goodput_bps"] * WHOLE_PACKETS)


def _all(run: Run) -> list[float]:
    return [flow["goodput_bps"] * WHOLE_PACKETS for flow in run.summary["flows"]]


def total_bps(run: Run) -> float:
    """The rate of all flows."""
    return float(sum(_all(run)))


def pair_bps(run: Run) -> float:
    """The rate of the two flows that share a queue."""
    return throughput_bps(run, "flow-3") + throughput_bps(run, "flow-4")


def loss_rate(run: Run) -> float:
    """The share of packets that the radio loses, mean over the queues."""
    return float(np.mean([queue["loss_rate"] for queue in run.summary["queues"]]))


def drops(run: Run) -> float:
    """Packets that found no room."""
    return float(sum(queue["drops"] for queue in run.summary["queues"]))


def empty(run: Run) -> float:
    """The share of the time in which a queue is empty, mean over the queues."""
    return float(np.mean([queue["empty_fraction"] for queue in run.summary["queues"]]))


def jain_of_three(run: Run) -> float:
    """Jain's index of the three flows of Fig. 2 while all are there and settled."""
    so_far = acknowledged(run.tables)
    counts = [count_at(so_far[name], STEADY_S[-1]) for name in ("flow-1", "flow-2", "flow-3")]
    return float(_lasthop.jain([float(count[1] - count[0]) for count in counts]) or 0.0)


def download_s(run: Run) -> float:
    """The time for 1 MB, mean over the flows."""
    return float(np.mean([megabyte_s(rate) for rate in _all(run)]))


def timeouts_10ms(run: Run) -> float:
    """Time-outs of the 10-ms flow in so long as a full run measures."""
    measured_s = run.summary["duration_s"] - run.summary["warmup_s"]
    return float(run.figures["flow.flow-3.timeouts"] * MEASURED_S / measured_s)


def over_square_root_law(run: Run) -> float:
    """The mean window over that of the square-root law."""
    expected = _lasthop.square_root_window(run.point["loss"]) * 1500
    return float(run.figures["flow.flow.mean_cwnd_bytes"] / expected)


def window_spread_bytes(run: Run, window: str) -> float:
    """Spread of a window in the run of Fig. 2, the root mean square over its spans."""
    samples = run.flow("flow-1")
    variances = [float(within(samples, *span)[window].astype(float).var()) for span in STEADY_S]
    return math.sqrt(sum(variances) / len(variances))


def long_rate(run: Run) -> pd.Series:
    """The long flow's rate in bit/s, second by second (Fig. 8)."""
    return rates(acknowledged(run.tables)[["long"]])["long"]


def rate_variation(run: Run) -> float:
    """Coefficient of variation of the long flow's rate, about its running median of 21 s.

    While short flows come and go the rate must follow the load.
    """
    rate = long_rate(run).to_numpy()
    half = 10
    trend = [np.median(rate[max(0, i - half) : i + half + 1]) for i in range(len(rate))]
    return float(np.std(rate - trend) / np.mean(rate))


def timeouts_beyond(lab: Lab, delay_s: float) -> list[float]:
    """The most time-outs of the 10-ms flow at longer delays."""
    frame = lab.frame("fast-clamp")
    return [
        float(rows.loc[rows["delay_s"] > delay_s, "timeouts_10ms"].max())
        for _, rows in frame.groupby("seed")
    ]


def smallest_step(lab: Lab, sweeps: Sequence[str]) -> list[float]:
    """The smallest relative rise of the delay between neighbouring points of the curves."""
    smallest = []
    for seed in lab.seeds:
        steps = []
        for name in sweeps:
            rows = _of_seed(lab, name, seed).sort_values("parameter_bytes")
            steps += [after / before - 1 for before, after in pairwise(rows["delay_s"])]
        smallest.append(min(steps))
    return smallest


def knees(lab: Lab, above: str, below: str) -> list[float]:
    """Delay of one curve's knee over that of another's.

    The knee is where total throughput passes 90 % of the most that the curve reaches.
    """
    found = []
    for seed in lab.seeds:
        delays = []
        for name in (above, below):
            rows = _of_seed(lab, name, seed).sort_values("delay_s")
            share = np.maximum.accumulate(rows["total_bps"]) / rows["total_bps"].max()
            delays.append(float(np.interp(0.9, share, rows["delay_s"], left=np.nan)))
        found.append(delays[0] / delays[1])
    return found


def _of_seed(lab: Lab, name: str, seed: int) -> pd.DataFrame:
    frame = lab.frame(name)
    return frame[frame["seed"] == seed]
