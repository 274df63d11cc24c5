# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured of a run of ``clamp-report``."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np
import pandas as pd

from ... import _lasthop
from ...lab import Lab, Run, acknowledged, megabyte_s, rates

PAYLOAD_BYTES = 460
"""Of a packet of 500 B."""
UNQUEUED_S = 0.1345 / 2 + 0.001 + 500 * 8 / 10e6
"""One way of flow 1: propagation, the access point's delay, its access link."""
LOWER_SNR, UPPER_SNR = 0.004, 4.0
"""SNR_l and SNR_u of Table I."""
DATA = 2
"""The kind of a data packet in a table of packets."""


def queue_bytes(run: Run) -> float:
    """The mean of all queues together."""
    return float(sum(queue["mean_bytes"] for queue in run.summary["queues"]))


def download_s(run: Run) -> float:
    """The time for 1 MB of payload, mean over the flows."""
    return fmean(megabyte_s(flow["goodput_bps"]) for flow in run.summary["flows"])


def awnd_limited(run: Run) -> float:
    """The share of time in which the advertised window bounds, mean over the flows."""
    return fmean(flow["awnd_limited_fraction"] for flow in run.summary["flows"])


def window_packets(run: Run, figure: str) -> float:
    """A window in packets, mean over the flows."""
    return fmean(flow[figure] for flow in run.summary["flows"]) / PAYLOAD_BYTES


def loss_rate(run: Run) -> float:
    """The loss rate that is set."""
    return float(run.point["loss"])


def _rates_bps(run: Run, flows: Sequence[str], start_s: float, end_s: float) -> list[float]:
    """Mean rates of flows in a span."""
    found = rates(acknowledged(run.tables)[list(flows)])
    return [float(rate) for rate in found[(found.index >= start_s) & (found.index < end_s)].mean()]


def most_bps(run: Run, flows: Sequence[str], start_s: float, end_s: float) -> float:
    """The greatest of the rates of flows in a span."""
    return max(_rates_bps(run, flows, start_s, end_s))


def unequal(run: Run, flows: Sequence[str], start_s: float, end_s: float) -> float:
    """The greatest of the rates of flows in a span over the least."""
    found = _rates_bps(run, flows, start_s, end_s)
    return max(found) / max(min(found), 1e-9)


def first_over_second(run: Run, flows: Sequence[str], start_s: float, end_s: float) -> float:
    """The rate of one flow in a span over that of another."""
    first, second = _rates_bps(run, flows, start_s, end_s)
    return first / max(second, 1e-9)


def waits_s(run: Run) -> np.ndarray:
    """How long each packet of flow 1 waited at the access point.

    Packets do not overtake, and of copies of one segment the first are lost: the last to arrive is
    the last that was sent.
    """
    packets = run.tables["packets"]
    data = packets[(packets["flow"].astype(str) == "flow-1") & (packets["kind"] == DATA)]

    def seen(at_receiver: int) -> pd.Series:
        found = data[data["at_receiver"] == at_receiver]
        copies = found.groupby("number_bytes").cumcount(ascending=False)
        index = pd.MultiIndex.from_arrays([found["number_bytes"], copies])
        return pd.Series(found["time_s"].to_numpy(), index)

    waits = (seen(1) - seen(0)).dropna().to_numpy(dtype=float) - UNQUEUED_S
    return np.asarray(waits[waits > 0])


def mean_wait_s(run: Run) -> float:
    """Its mean."""
    return float(waits_s(run).mean())


def late_share(run: Run, limit_s: float) -> float:
    """The share of the packets of flow 1 that wait for longer."""
    return float((waits_s(run) > limit_s).mean())


def frame_error(lab: Lab, worst: float, at: str) -> list[float]:
    """The probability of a frame error below, between or above SNR_l and SNR_u, for each seed."""
    middle = (LOWER_SNR + UPPER_SNR) / 2
    snr = {"below": 0.99 * LOWER_SNR, "middle": middle, "above": 1.01 * UPPER_SNR}[at]
    return [float(_lasthop.frame_error(snr, worst, LOWER_SNR, UPPER_SNR)) for _ in lab.seeds]
