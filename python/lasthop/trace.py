# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rate traces. A mahimahi trace lists the milliseconds at which one 1500-byte packet may leave.

Reading and checking is done in Rust, by the code that simulates from a trace.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _lasthop
from .atomic import write_text
from .errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

MTU_BITS = 1500 * 8
"""What one line of a mahimahi trace lets through."""

MOST_LINES = 10_000_000
"""Longer files are refused: nobody has recorded one, and they fill the memory."""


LONGEST_MADE_S = 86_400
"""A day: longer synthetic traces take hours to make."""

LONGEST_S = 1e6
"""What the simulator reads; what is longer has its times in another unit."""


def read(path: str | os.PathLike[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The instants in ms of a mahimahi trace or of rows ``time_s,rate_bps``.

    Raises :class:`lasthop.UserError`.
    """
    return _read(path)[0]


def _read(path: str | os.PathLike[str]) -> tuple[np.ndarray[Any, np.dtype[np.int64]], float | None]:
    """The instants, and of rows ``time_s,rate_bps`` also the time that became 0 s."""
    import numpy as np

    name = os.fspath(path)
    try:
        kind, raw, start_s = _lasthop.trace(name)
    except _lasthop.TraceError as error:
        raise UserError(f"{name}: {error}") from error
    return np.frombuffer(raw, dtype=kind).astype(np.int64), start_s


def stamps_of(path: str | os.PathLike[str]) -> tuple[Sequence[int], float | None]:
    """The opportunities in ms of a trace or a log, and of a CSV the time that became 0 s."""
    from . import mmlog

    if mmlog.is_log(path):
        return mmlog.opportunities(path), None
    stamps, start_s = _read(path)
    return stamps.tolist(), start_s


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Length, mean rate, spread of the rate and longest silence of a trace."""
    import numpy as np

    stamps = np.array(stamps_of(path)[0], dtype=np.int64)
    length_ms = max(int(stamps[-1]), 1)
    gaps = np.diff(stamps, prepend=0)
    # Whole bins alone; a trace that is shorter than one is a bin of its own length.
    width = min(100, length_ms)
    bins = length_ms // width
    counts = np.bincount(_bins(stamps[stamps <= bins * width], width), minlength=bins)
    p5, median, p95 = np.percentile(counts * MTU_BITS * 1000 / width, (5, 50, 95))
    return {
        "file": os.fspath(path),
        "opportunities": len(stamps),
        "duration_s": length_ms / 1e3,
        "mean_rate_bps": len(stamps) * MTU_BITS / (length_ms / 1e3),
        "p5_rate_bps": float(p5),
        "median_rate_bps": float(median),
        "p95_rate_bps": float(p95),
        "longest_silence_s": float(gaps.max()) / 1e3,
    }


def _bins(stamps: np.ndarray[Any, Any], bin_ms: int) -> np.ndarray[Any, Any]:
    """The bin of each opportunity: one at the very end of a bin belongs to it."""
    import numpy as np

    bins: np.ndarray[Any, Any] = (np.maximum(stamps, 1) - 1) // bin_ms
    return bins


def to_csv(path: str | os.PathLike[str], out: str | os.PathLike[str], bin_ms: int) -> int:
    """Writes the rate of a mahimahi trace in bins; returns the number of rows."""
    import numpy as np

    stamps = np.array(stamps_of(path)[0], dtype=np.int64)
    bins = int(_bins(stamps[-1:], bin_ms)[0]) + 1
    if bins > MOST_LINES:
        raise UserError(
            f"{os.fspath(path)}: {bins} rows of {bin_ms} ms: wanted at most {MOST_LINES} (--bin)"
        )
    counts = np.bincount(_bins(stamps, bin_ms), minlength=bins)
    lines = ["time_s,rate_bps"]
    lines += [
        f"{index * bin_ms / 1e3!r},{int(count) * MTU_BITS * 1000 / bin_ms!r}"
        for index, count in enumerate(counts)
    ]
    write_text(out, "\n".join(lines) + "\n")
    return bins


@dataclass(frozen=True)
class Manner:
    """How the rate of a synthetic trace wanders: the logarithm of it has two Gaussian parts."""

    fast: float
    """What is left of the fast part, fading, after 20 ms."""
    fast_noise: float
    """What is added to it, so that its deviation stays 1."""
    slow: float
    """What is left of the slow part, the way through the cell, after 20 ms."""
    slow_noise: float
    weights: tuple[float, float]
    """Deviations that the two parts give to the logarithm of the rate."""
    silences_every_ms: int
    """Mean time between silences."""
    silence_ms: tuple[int, int]
    """Shortest and longest silence."""


MANNERS = {
    # Correlation times of 0.2 s and 8 s; handovers of a fraction of a second.
    "driving": Manner(0.905, 0.425, 0.9975, 0.0706, (0.6, 0.7), 25_000, (150, 700)),
    # Of 1 s and 20 s; behind a corner the link is gone for seconds.
    "walking": Manner(0.9802, 0.198, 0.999, 0.0447, (0.8, 0.7), 20_000, (500, 3000)),
}
"""The kinds of synthetic traces."""


def lte_like(
    *,
    seconds: float,
    seed: int,
    mean_bps: float = 8e6,
    fastest_bps: float = 30e6,
    manner: str = "driving",
) -> list[int]:
    """A synthetic trace with the manners of a phone on the move, in ms.

    The logarithm of the rate wanders with two correlation times, one of fading and one of the
    way through the cell, and now and then the link falls silent.
    """
    import random

    if not mean_bps <= fastest_bps:
        raise UserError(f"--rate {mean_bps:.0f}: wanted at most {fastest_bps:.0f}, the fastest")
    if seconds * max(mean_bps / MTU_BITS, 1) > MOST_LINES:
        raise UserError(
            f"--duration {seconds:g} s: wanted at most {MOST_LINES} packets in all (--rate)"
        )
    if not 1e-3 <= seconds <= LONGEST_MADE_S:
        raise UserError(f"--duration {seconds:g} s: wanted 1 ms to {LONGEST_MADE_S} s")
    moves = MANNERS[manner]
    draw = random.Random(seed)
    fast = slow = 0.0
    silent_until = 0
    credit = 0.0
    stamps = []
    # exp(x) has the mean exp(s²/2), s² the sum of the variances of the two parts.
    fast_weight, slow_weight = moves.weights
    bias = (fast_weight * fast_weight + slow_weight * slow_weight) / 2
    for ms in range(round(seconds * 1000)):
        if ms % 20 == 0:
            fast = moves.fast * fast + moves.fast_noise * draw.gauss(0, 1)
            slow = moves.slow * slow + moves.slow_noise * draw.gauss(0, 1)
            if draw.random() < 20 / moves.silences_every_ms:
                silent_until = ms + draw.randrange(*moves.silence_ms)
        level = math.e ** (fast_weight * fast + slow_weight * slow - bias)
        rate = 0.0 if ms < silent_until else min(mean_bps * level, fastest_bps)
        credit += rate / 1000 / MTU_BITS
        while credit >= 1:
            credit -= 1
            stamps.append(ms + 1)
    return stamps
