# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured of a run of ``clamp-mice``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median

import numpy as np

from ...lab import Lab, Run
from ..clamp_report.measures import PAYLOAD_BYTES
from ..clamp_report.measures import download_s as download_s

MOUSE_BITS = 5 * 8 * PAYLOAD_BYTES
"""A mouse's five packets of payload."""
AVERAGES: dict[str, tuple[str, Callable[[Sequence[float]], float]]] = {
    "mean": ("mean of the rates", lambda times: fmean(MOUSE_BITS / time for time in times)),
    "time": ("bytes over the mean time", lambda times: MOUSE_BITS / fmean(times)),
    "median": ("median of the rates", lambda times: MOUSE_BITS / median(times)),
}
"""What the mice together have, of the times that they took."""
NEGLIGIBLE = 0.95
"""The share of its most that leaves the elephant's loss negligible."""


def elephant_bps(run: Run) -> float:
    """The goodput of the elephant, the first of the flows."""
    return float(run.summary["flows"][0]["goodput_bps"])


def mouse_bps(run: Run, rtt: str, average: str) -> float:
    """What the mice of one round-trip time have; one that is not through had until the end."""
    flows = [flow for flow in run.summary["flows"] if flow["name"].startswith(f"mouse-{rtt}-")]
    left = run.summary["duration_s"] - run.summary["warmup_s"]
    times = [left if flow["finish_s"] is None else flow["finish_s"] for flow in flows]
    return AVERAGES[average][1](times)


def each_queue_bytes(run: Run) -> float:
    """The mean queue, averaged over the queues."""
    return fmean(queue["mean_bytes"] for queue in run.summary["queues"])


def packet_delay_s(run: Run) -> float:
    """The mean queueing delay of all packets, whatever their queue."""
    queues = run.summary["queues"]
    waited = sum(queue["mean_delay_s"] * queue["throughput_bps"] for queue in queues)
    return float(waited / sum(queue["throughput_bps"] for queue in queues))


def mice_beside(
    lab: Lab, sweep: str, sender: str, column: str, share: float = NEGLIGIBLE
) -> list[float]:
    """What mice have where the elephant has a share of the most that it has with CLAMP, by seed.

    Along the curve by straight lines; NaN where the elephant never has as much.
    """
    found = []
    for seed in lab.seeds:
        frames = {name: lab.frame(name, sender=sender) for name in ("mice-clamp", sweep)}
        of_seed = {name: frame[frame["seed"] == seed] for name, frame in frames.items()}
        wanted = share * of_seed["mice-clamp"]["elephant_bps"].max()
        curve = of_seed[sweep].sort_values("elephant_bps")
        x, y = curve["elephant_bps"], curve[column]
        found.append(float(np.interp(wanted, x, y, left=np.nan, right=np.nan)))
    return found


def gain(lab: Lab, sender: str, rtt: str, average: str, share: float = NEGLIGIBLE) -> list[float]:
    """What the mice have with CLAMP over what they have with TCP, beside an equal elephant."""
    column = f"mouse-{rtt}_{average}_bps"
    sides = [mice_beside(lab, name, sender, column, share) for name in ("mice-clamp", "mice-tcp")]
    return [clamp / tcp for clamp, tcp in zip(*sides, strict=True)]


def kept(lab: Lab, sweep: str, sender: str, rtt: str, average: str) -> list[float]:
    """What mice have beside an elephant with 95 % of its most, over their own most with CLAMP."""
    column = f"mouse-{rtt}_{average}_bps"
    frame = lab.frame("mice-clamp", sender=sender)
    most = frame.groupby("seed")[column].max()
    beside = mice_beside(lab, sweep, sender, column)
    return [value / float(most[seed]) for seed, value in zip(lab.seeds, beside, strict=True)]


def greatest_gain(lab: Lab, sender: str, rtt: str, average: str) -> list[float]:
    """The greatest of the gains where the elephant has from 80 to 99 % of its most."""
    shares = [0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99]
    by_share = [gain(lab, sender, rtt, average, share) for share in shares]
    return [float(np.nanmax(values)) for values in zip(*by_share, strict=True)]
