# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured of a run, and the claims of ``gamma`` that are not a point, ratio or order."""

from __future__ import annotations

from statistics import fmean

import numpy as np

from ... import _lasthop
from ...lab import Lab, Run, reached_s

HANDOFF_ENDS_S = 21.0
SAMPLE_S = 0.25
FULL_BPS = 10e6 * 1000 / 1040
"""What 10 Mbit/s carry of payload."""


def recovery_s(run: Run) -> float:
    """Seconds from the handoff's end to that of the first interval with 95 % of the goodput."""
    table = run.tables["system"]
    return reached_s(
        table["time_s"] + SAMPLE_S, table["goodput_bps"], 0.95 * FULL_BPS,
        since_s=HANDOFF_ENDS_S, window_s=SAMPLE_S,
    )  # fmt: skip


def packets_per_s(run: Run) -> float:
    """Goodput in packets."""
    return float(run.figures["system.goodput_bps"] / 8000)


def far_bps(run: Run) -> float:
    """Goodput of the half of the flows with the longer paths."""
    flows = run.summary["flows"]
    return float(sum(flow["goodput_bps"] for flow in flows[len(flows) // 2 :]))


def over_equation(run: Run) -> float:
    """Goodput over what equation 1 gives."""
    return packets_per_s(run) / throughput(1.0, 0.5, run.point["loss"], run.point["rtt_s"])


def throughput(alpha: float, beta: float, loss: float, rtt_s: float) -> float:
    """Equation 1 in packets/s, with a time-out of 0.2 s or a little more than a round trip."""
    return _lasthop.throughput(loss, rtt_s, max(0.2, 1.1 * rtt_s), alpha=alpha, beta=beta)


def smooth_under_red(lab: Lab, upto_ms: float) -> list[float]:
    """How far the smooth protocol's fairness is from Reno's under RED, where most in the mean."""
    frame = lab.frame("diverse-red", contender=["smooth", "reno"], longest_ms={"upto": upto_ms})
    table = frame.pivot_table(
        index=["longest_ms", "seed"], columns="contender", values="fairness"
    )  # fmt: skip
    gap = table["smooth"] - table["reno"]
    gaps = [[float(value) for value in of_value] for _, of_value in gap.groupby("longest_ms")]
    most = max(gaps, key=lambda values: abs(fmean(values)))
    return most if fmean(most) > 0 else [-value for value in most]


def lead(lab: Lab) -> list[float]:
    """Short-term fairness less that of γ to the knee, mean over the numbers of flows."""
    frame = lab.frame("variant")
    table = frame.pivot_table(
        index=["seed", "flows"], columns="contender", values="short_term_fairness"
    )  # fmt: skip
    gap = table["drain"] - table["gamma"]
    return [float(np.mean(of_seed)) for _, of_seed in gap.groupby("seed")]
