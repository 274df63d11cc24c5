# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rate traces. A mahimahi trace lists the milliseconds at which one 1500-byte packet may leave.

Reading and checking is done in Rust, by the code that simulates from a trace.
"""

from __future__ import annotations

import csv
import os
from typing import TYPE_CHECKING, Any

from . import _lasthop
from .atomic import write_text
from .errors import UserError

if TYPE_CHECKING:
    import numpy as np

MTU_BITS = 1500 * 8
"""What one line of a mahimahi trace lets through."""


def read(path: str | os.PathLike[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The instants of a mahimahi trace in ms. Raises :class:`lasthop.UserError`."""
    import numpy as np

    name = os.fspath(path)
    try:
        kind, raw = _lasthop.mahimahi(name)
    except _lasthop.TraceError as error:
        raise UserError(f"{name}: {error}") from error
    return np.frombuffer(raw, dtype=kind).astype(np.int64)


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Length, mean rate, spread of the rate and longest silence of a trace."""
    import numpy as np

    stamps = read(path)
    length_ms = max(int(stamps[-1]), 1)
    counts = np.bincount(np.minimum(stamps, length_ms - 1) // 100, minlength=-(-length_ms // 100))
    whole = counts[: length_ms // 100] if length_ms >= 100 else counts
    rates = whole * MTU_BITS / 0.1
    gaps = np.diff(stamps, prepend=0)
    return {
        "file": os.fspath(path),
        "opportunities": len(stamps),
        "duration_s": length_ms / 1e3,
        "mean_rate_bps": len(stamps) * MTU_BITS / (length_ms / 1e3),
        "p5_rate_bps": float(np.percentile(rates, 5)),
        "median_rate_bps": float(np.percentile(rates, 50)),
        "p95_rate_bps": float(np.percentile(rates, 95)),
        "longest_silence_s": float(gaps.max()) / 1e3,
    }


def to_csv(path: str | os.PathLike[str], out: str | os.PathLike[str], bin_ms: int) -> int:
    """Writes the rate of a mahimahi trace in bins; returns the number of rows."""
    import numpy as np

    stamps = read(path)
    bins = int(stamps[-1]) // bin_ms + 1
    counts = np.bincount(stamps // bin_ms, minlength=bins)
    lines = ["time_s,rate_bps"]
    lines += [
        f"{index * bin_ms / 1e3!r},{int(count) * MTU_BITS * 1000 / bin_ms!r}"
        for index, count in enumerate(counts)
    ]
    write_text(out, "\n".join(lines) + "\n")
    return bins


def from_csv(path: str | os.PathLike[str], out: str | os.PathLike[str]) -> int:
    """Writes a mahimahi trace from ``time_s,rate_bps`` rows; returns its number of lines.

    A rate holds until the next row; the last one as long as the one before it. Opportunities
    come where the rate's integral passes a whole packet, so none is gained or lost.
    """
    times, rates = _read_csv(path)
    if len(times) < 2:
        raise UserError(f"{os.fspath(path)}: {len(times)} rows: wanted at least two")
    ends = [*times[1:], 2 * times[-1] - times[-2]]
    stamps: list[int] = []
    bits = 0.0
    for start, end, rate in zip(times, ends, rates, strict=True):
        after = bits + rate * (end - start)
        while (len(stamps) + 1) * MTU_BITS <= after:
            due = start + ((len(stamps) + 1) * MTU_BITS - bits) / rate
            stamps.append(max(1, round((due - times[0]) * 1e3)))
        bits = after
    if not stamps:
        raise UserError(f"{os.fspath(path)}: not one packet in all: wanted higher rates")
    write_text(out, "".join(f"{stamp}\n" for stamp in stamps))
    return len(stamps)


def _read_csv(path: str | os.PathLike[str]) -> tuple[list[float], list[float]]:
    name = os.fspath(path)
    times: list[float] = []
    rates: list[float] = []
    try:
        with open(name, encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            header = next(rows, [])
            if [cell.strip() for cell in header] != ["time_s", "rate_bps"]:
                raise UserError(f"{name}:1: {','.join(header)}: wanted the heading time_s,rate_bps")
            for row in rows:
                try:
                    time_s, rate_bps = map(float, row)
                except ValueError as error:
                    raise UserError(
                        f"{name}:{rows.line_num}: {','.join(row)}: wanted two numbers"
                    ) from error
                if times and time_s <= times[-1]:
                    raise UserError(f"{name}:{rows.line_num}: {time_s}: wanted a later time")
                if not 0 <= rate_bps < float("inf"):
                    raise UserError(f"{name}:{rows.line_num}: {rate_bps}: wanted a rate from 0")
                times.append(time_s)
                rates.append(rate_bps)
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: not a text file: wanted time_s,rate_bps rows") from error
    except OSError as error:
        raise UserError(f"{name}: cannot read: {error.strerror}") from error
    return times, rates


def lte_like(
    *, seconds: int, seed: int, mean_bps: float = 8e6, fastest_bps: float = 30e6
) -> list[int]:
    """A synthetic trace with the manners of a phone on the move, in ms.

    The logarithm of the rate wanders with two correlation times (0.2 s for fading, 8 s for
    the way through the cell) and now and then the link falls silent for a handover.
    """
    import random

    draw = random.Random(seed)
    fast = slow = 0.0
    silent_until = 0
    credit = 0.0
    stamps = []
    for ms in range(seconds * 1000):
        if ms % 20 == 0:
            fast = 0.905 * fast + 0.425 * draw.gauss(0, 1)
            slow = 0.9975 * slow + 0.0706 * draw.gauss(0, 1)
            if draw.random() < 20 / 25_000:
                silent_until = ms + draw.randrange(150, 700)
        # exp(x) has the mean exp(s²/2); 0.36 and 0.49 are the variances of the two parts.
        level = 2.718281828459045 ** (0.6 * fast + 0.7 * slow - (0.36 + 0.49) / 2)
        rate = 0.0 if ms < silent_until else min(mean_bps * level, fastest_bps)
        credit += rate / 1000 / MTU_BITS
        while credit >= 1:
            credit -= 1
            stamps.append(ms + 1)
    return stamps
