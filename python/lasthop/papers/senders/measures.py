# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured of a run of ``senders``, and places that a user's recordings add."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ...lab import Lab, Run, Sweep, count_at, reached_s
from ...trace import describe

PLACES = {
    "fading": "access point, fast fading",
    "driving": "LTE, driving",
    "walking": "LTE, walking",
}

HANDOFF_S = 1.0
SPACING_S = 30.0
FIRST_S = 40.0
BEFORE_S = 10.0
"""Goodput before a handoff is averaged over so much."""
WINDOW_S = 1.0
SAMPLE_S = 0.1
SHARE = 0.9


def over_queues(run: Run, figure: str) -> float:
    """A figure of the queues, mean over the mobiles."""
    return float(np.mean([queue[figure] for queue in run.summary["queues"]]))


def cov(run: Run) -> float:
    """Coefficient of variation of a flow's goodput, mean over the flows."""
    return float(np.mean([flow["cov"] for flow in run.summary["flows"]]))


def timeouts(run: Run) -> int:
    """Time-outs of all flows."""
    return sum(flow["timeouts"] for flow in run.summary["flows"])


def recovery_s(run: Run) -> float:
    """Mean time to recover from the handoffs of a run."""
    starts = np.arange(FIRST_S, run.summary["duration_s"] - HANDOFF_S, SPACING_S)
    goodput = run.tables["system"]["goodput_bps"]
    ends = run.tables["system"]["time_s"].to_numpy() + SAMPLE_S
    so_far = pd.Series((goodput.cumsum() * SAMPLE_S / 8).to_numpy(), index=ends)
    return float(np.mean(recoveries(so_far, list(starts))))


def recoveries(so_far: pd.Series, starts: Sequence[float]) -> list[float]:
    """Times to recover from handoffs that begin at ``starts``, in s.

    From the end of the handoff to the end of the first second whose goodput is 90 % of what it
    was on average in the 10 s before the handoff: 1 s at least. Who has not recovered when the
    next handoff comes counts with the time until then, or until the end of the run. ``so_far``
    counts the payload in bytes that all flows together have delivered, by the instant in s.
    """
    ends = so_far.index.to_numpy(dtype=float)
    rates = (count_at(so_far, ends) - count_at(so_far, ends - WINDOW_S)) / WINDOW_S
    times = []
    for start in starts:
        before = (count_at(so_far, start) - count_at(so_far, start - BEFORE_S)) / BEFORE_S
        times.append(
            reached_s(
                ends, rates, SHARE * before, since_s=start + HANDOFF_S, window_s=WINDOW_S,
                until_s=min(start + SPACING_S, float(ends[-1])),
            )
        )  # fmt: skip
    return times


PRICED_DELAY_S = 0.05
"""What CLAMP's a is worth at the mean rate of a trace."""


def recorded(lab: Lab) -> dict[str, Sweep]:
    """Places of all recordings in the folder that LASTHOP_TRACES names, by name."""
    folder = os.environ.get("LASTHOP_TRACES")
    found = sorted(Path(folder).glob("*.down")) if folder else []
    return {path.stem: _of_trace(lab.sweep("driving"), str(path.resolve())) for path in found}


def _of_trace(like: Sweep, path: str) -> Sweep:
    """A place where the radio follows a trace."""
    a_bytes = describe(path)["mean_rate_bps"] * PRICED_DELAY_S / 8
    queues = like.axes["queue"]
    assert isinstance(queues, Mapping)
    priced = [queues["clamp"], {"ap[0].price.a": f"{a_bytes:.0f} B"}]
    return replace(
        like,
        axes={**like.axes, "queue": {**queues, "clamp": priced}},
        set=[like.set, {"ap[0].radio.file": path}],
    )
