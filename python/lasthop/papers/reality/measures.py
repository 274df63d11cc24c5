# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long a flow takes to come back in either world: after handoffs, and after steps of a rate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
import pandas as pd

from ...lab import Lab, Run, acknowledged, count_at, reached_s

WINDOW_S = 0.25
"""Rates are over six round trips of 40 ms."""
SHARE = 0.9
"""Who has so much of what the line gives is back."""
LINE_BPS = 10e6 * 1448 / 1500
"""What 10 Mbit/s carry of payload."""
LEAST_S = 0.1
"""A shorter handoff spares part of a window: a round trip and a full queue take so long."""
SILENT_S = 0.02
"""What sounds for handoffs gets through every millisecond, and is looked at every five."""
STEPS_S = (15.0, 30.0, 45.0, 60.0)
"""When the WLAN's rate steps."""
STEADY_S = 5.0
"""So long after a step a flow is taken to have what the line gives."""

Span = tuple[float, float]


def recovery_s(lab: Lab, place: str, run: Run) -> float | None:
    """How long a flow takes to come back, at the places where something happens to it."""
    if place == "law-handoff":
        return after_handoffs_s(lab, run)
    return after_steps_s(run) if place == "rate-steps" else None


def after_handoffs_s(lab: Lab, run: Run) -> float:
    """Mean time to come back from the handoffs of a run; NaN if there were none."""
    sounding = replace(lab, seeds=[run.seed]).run("handoffs")
    spans = silences(acknowledged(sounding.tables).sum(axis=1), SILENT_S)
    warmup_s = run.summary["warmup_s"]
    counted = [span for span in spans if span[0] >= warmup_s and span[1] - span[0] >= LEAST_S]
    times = recoveries(acknowledged(run.tables).sum(axis=1), counted, LINE_BPS)
    return fmean(times) if times else math.nan


def after_steps_s(run: Run) -> float:
    """Time to come back after a step of the WLAN's rate, the slowest of the steps."""
    so_far = acknowledged(run.tables).sum(axis=1)
    end_s = float(so_far.index[-1])
    steps = [*(step for step in STEPS_S if step + STEADY_S < end_s), end_s]
    times = []
    for step, following in itertools.pairwise(steps):
        bytes_then, bytes_at_last = count_at(so_far, [step + STEADY_S, following])
        gives_bps = 8 * (bytes_at_last - bytes_then) / (following - step - STEADY_S)
        times.append(came_back_s(so_far, step, following, gives_bps))
    return max(times)


def silences(so_far: pd.Series, least_s: float) -> list[Span]:
    """From when until when a count does not rise, where that is longer than ``least_s``."""
    rises = so_far.index[so_far.diff() > 0].to_numpy(dtype=float)
    return [(float(a), float(b)) for a, b in itertools.pairwise(rises) if b - a > least_s]


def recoveries(so_far: pd.Series, handoffs: Sequence[Span], gives_bps: float) -> list[float]:
    """Times to come back from handoffs, in s.

    From the end of the handoff to the end of the first window whose goodput is 90 % of what the
    line gives. Who is not back when the next handoff comes counts with the time until then, or
    until the end of the run. ``so_far`` counts the payload in bytes by the instant in s.
    """
    following = [*(start for start, _ in handoffs[1:]), float(so_far.index[-1])]
    return [
        came_back_s(so_far, end, until, gives_bps)
        for (_, end), until in zip(handoffs, following, strict=False)
    ]


def came_back_s(so_far: pd.Series, since_s: float, until_s: float, gives_bps: float) -> float:
    """From ``since_s`` to the end of the first window with 90 % of it; at most to ``until_s``."""
    ends = so_far.index.to_numpy(dtype=float)
    rates = 8 * (count_at(so_far, ends) - count_at(so_far, ends - WINDOW_S)) / WINDOW_S
    return reached_s(
        ends, np.asarray(rates), SHARE * gives_bps,
        since_s=since_s, window_s=WINDOW_S, until_s=until_s,
    )  # fmt: skip
