# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is read off sampled tables: spans, rates, and how long it takes until something is so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

UNBOUNDED_BYTES = 2**31
"""What the widest window field cannot say: nobody has bounded the sender yet."""


def of_flow(tables: Mapping[str, pd.DataFrame], name: str) -> pd.DataFrame:
    """The samples of one flow; an advertised window that nobody has bounded yet is NaN."""
    flows = tables["flows"]
    samples = flows[flows["flow"].astype(str) == name].reset_index(drop=True)
    samples["awnd_bytes"] = samples["awnd_bytes"].where(samples["awnd_bytes"] < UNBOUNDED_BYTES)
    return samples


def of_queue(tables: Mapping[str, pd.DataFrame], name: str) -> pd.DataFrame:
    """The samples of one queue, by its own name or that of its station."""
    queues = tables["queues"]
    names = queues["queue"].astype(str)
    return queues[(names == name) | names.str.endswith(f"/{name}")].reset_index(drop=True)


def within(frame: pd.DataFrame, start_s: float, end_s: float = math.inf) -> pd.DataFrame:
    """The samples from ``start_s`` up to but without ``end_s``."""
    return frame[(frame["time_s"] >= start_s) & (frame["time_s"] < end_s)]


def acknowledged(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Payload in bytes that the flows have got through, a column a flow, by the time in s."""
    flows = tables["flows"]
    wide = flows.pivot(index="time_s", columns="flow", values="acknowledged_bytes")
    return wide.astype(float)


def rates(so_far: pd.DataFrame, bin_s: float = 1.0) -> pd.DataFrame:
    """Rates in bit/s in bins, by the time at which a bin ends, of counts of bytes over time."""
    step = round(bin_s / float(so_far.index[1] - so_far.index[0]))
    return so_far.iloc[::step].diff().dropna() * 8 / bin_s


def megabyte_s(rate_bps: float) -> float:
    """Seconds for 1 MB at a rate in bit/s; one of nothing counts as 10⁻⁹ bit/s."""
    return 8e6 / max(rate_bps, 1e-9)


def moving_rate(so_far: pd.Series, window_s: float = 1.0) -> pd.Series:
    """The rate in bit/s over the last ``window_s``, at each sample of a count of bytes."""
    step = round(window_s / float(so_far.index[1] - so_far.index[0]))
    return (so_far.diff(step) * 8 / window_s).dropna()


def reached_s(
    ends_s: ArrayLike,
    rate: ArrayLike,
    wanted: float,
    *,
    since_s: float,
    window_s: float,
    until_s: float = math.inf,
) -> float:
    """Seconds from ``since_s`` to the end of the first window whose rate is the wanted one.

    Windows of ``window_s`` end at ``ends_s``; those count that begin after ``since_s`` and end
    by ``until_s``. If none has the rate, the time until ``until_s``; NaN if that is never.
    """
    ends, rates_found = np.asarray(ends_s, dtype=float), np.asarray(rate, dtype=float)
    there = (ends >= since_s + window_s - 1e-9) & (ends <= until_s) & (rates_found >= wanted)
    if there.any():
        return float(ends[there][0]) - since_s
    return until_s - since_s if math.isfinite(until_s) else math.nan


def settled_s(
    rate: pd.Series, *, since_s: float = 0.0, for_s: float = 10.0, tolerance: float = 0.1
) -> float:
    """Seconds from ``since_s`` until a rate stays within a tolerance of what it comes to.

    What it comes to is its mean over the last 5 s of the ``for_s`` that are looked at.
    """
    time = rate.index.to_numpy() - since_s
    settled = rate[(time > for_s - 5) & (time <= for_s)].mean()
    early = rate[(time > 0) & (time <= for_s)]
    off = early[np.abs(early / settled - 1) > tolerance]
    return float(off.index[-1] - since_s) if len(off) else 0.0


def count_at(so_far: pd.Series, instants: ArrayLike) -> Any:
    """A count over time at any instants, between its samples by straight lines."""
    return np.interp(np.asarray(instants), so_far.index.to_numpy(dtype=float), so_far.to_numpy())
