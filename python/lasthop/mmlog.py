# SPDX-License-Identifier: MIT OR Apache-2.0
"""Logs in the format of mahimahi's mm-link, described as its mm-throughput-graph does.

Times are whole milliseconds, counted from the line ``# base timestamp:``::

    TIME # BYTES        an opportunity to send    TIME + BYTES        a packet came
    TIME - BYTES DELAY  a packet left             TIME d PACKETS BYTES  packets were dropped
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from .atomic import regular
from .errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

BASE = "# base timestamp: "
OPPORTUNITY, ARRIVAL, DEPARTURE, DROP = "#", "+", "-", "d"
LONGEST_MS = 1_000_000_000
"""What the simulator reads of a trace: eleven days."""

NUMBERS = {OPPORTUNITY: 1, ARRIVAL: 1, DEPARTURE: 2, DROP: 2}
"""How many numbers follow each kind of event."""


@dataclass
class Log:
    """What a log tells; times in ms from its base."""

    opportunities: list[tuple[int, int]] = field(default_factory=list)
    """Instants and bytes."""
    arrivals: list[tuple[int, int]] = field(default_factory=list)
    """Instants and bytes."""
    departures: list[tuple[int, int, int]] = field(default_factory=list)
    """Instants, bytes and delays."""
    drops: list[tuple[int, int, int]] = field(default_factory=list)
    """Instants, packets and bytes."""
    first_ms: int = 0
    """The first line's instant."""
    last_ms: int = 0
    """The latest instant."""


def is_log(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a log does; a trace never does."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(1) == b"#"
    except OSError:
        return False


def read(path: str | os.PathLike[str]) -> Log:
    """Reads a log. Raises :class:`lasthop.UserError`."""
    name = os.fspath(path)
    regular(name)
    log = Log()
    base: int | None = None
    is_first = True
    try:
        with open(name, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.startswith("#"):
                    if line.startswith(BASE):
                        if base is not None:
                            _refuse(name, number, line, "one base timestamp")
                        base = _whole(name, number, line, line.removeprefix(BASE).split()[:1])[0]
                    continue
                words = line.split()
                kind = words[1] if len(words) > 1 else ""
                count = NUMBERS.get(kind)
                if count is None or len(words) < 2 + count:
                    _refuse(name, number, line, "TIME, one of # + - d, and its numbers")
                if base is None:
                    _refuse(name, number, line, "a line `# base timestamp: MS` before")
                at, *values = _whole(name, number, line, [words[0], *words[2 : 2 + count]])
                at -= base
                if kind == DEPARTURE and values[1] > at:
                    _refuse(name, number, line, "a delay within the log's time")
                if is_first:
                    log.first_ms, log.last_ms, is_first = at, at, False
                log.last_ms = max(log.last_ms, at)
                _add(log, kind, at, values)
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: not a text file: wanted a log of mm-link") from error
    except OSError as error:
        raise UserError(f"{name}: cannot read: {error.strerror}") from error
    if is_first:
        raise UserError(f"{name}: no event: wanted a log of mm-link")
    if log.last_ms - log.first_ms > LONGEST_MS:
        raise UserError(f"{name}: {(log.last_ms - log.first_ms) / 1e3:g} s: wanted at most "
                        f"{LONGEST_MS / 1e3:g} s")  # fmt: skip
    return log


def _add(log: Log, kind: str, at: int, values: Sequence[int]) -> None:
    if kind == OPPORTUNITY:
        log.opportunities.append((at, values[0]))
    elif kind == ARRIVAL:
        log.arrivals.append((at, values[0]))
    elif kind == DEPARTURE:
        log.departures.append((at, values[0], values[1]))
    else:
        log.drops.append((at, values[0], values[1]))


def _whole(name: str, number: int, line: str, words: Sequence[str]) -> list[int]:
    if not words or not all(word.isascii() and word.isdigit() for word in words):
        _refuse(name, number, line, "whole numbers")
    return [int(word) for word in words]


def _refuse(name: str, number: int, line: str, wanted: str) -> NoReturn:
    raise UserError(f"{name}: line {number}: `{line.strip()}`: wanted {wanted}")


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Capacity, throughput, utilisation and delays, as mm-throughput-graph computes them.

    Figures that a log cannot give are None: capacity without opportunities, delays without
    departures, rates of a log that lasts no time.
    """
    log = read(path)
    duration_s = (log.last_ms - log.first_ms) / 1e3
    capacity, ingress, throughput = (
        8 * sum(row[1] for row in rows) / duration_s if rows and duration_s > 0 else None
        for rows in (log.opportunities, log.arrivals, log.departures)
    )
    return {
        "file": os.fspath(path),
        "duration_s": duration_s,
        "capacity_bps": capacity,
        "ingress_bps": ingress,
        "throughput_bps": throughput,
        "utilisation": throughput / capacity if throughput is not None and capacity else None,
        "arrivals": len(log.arrivals),
        "departures": len(log.departures),
        "drops": sum(packets for _, packets, _ in log.drops),
        "p95_delay_s": _in_s(_p95([delay for *_, delay in log.departures])),
        "p95_signal_delay_s": _in_s(p95_signal_delay(log)),
    }


def p95_signal_delay(log: Log) -> int | None:
    """How soon what is sent in a ms can be there, for 95 % of the ms of the log; None without any.

    What is sent in a ms without a packet waits for the next that has one: between two packets the
    delays are a ramp, and none of them is written down.
    """
    import numpy as np

    if not log.departures:
        return None
    at, _, delay = np.array(log.departures, dtype=np.int64).T
    sent = at - delay
    # Of each ms the least delay.
    order = np.lexsort((delay, sent))
    instants, first = np.unique(sent[order], return_index=True)
    least = delay[order][first]
    lengths = np.diff(instants, prepend=instants[0] - 1)
    place = int(0.95 * int(lengths.sum()))
    low, high = int(least.min()), int((least + lengths).max())
    while low < high:
        middle = (low + high) // 2
        if np.clip(middle - least + 1, 0, lengths).sum() > place:
            high = middle
        else:
            low = middle + 1
    return low


def _p95(values: list[int]) -> int | None:
    """The value at the place 0.95 n, rounded down, of the sorted ones."""
    return sorted(values)[int(0.95 * len(values))] if values else None


def _in_s(ms: int | None) -> float | None:
    return None if ms is None else ms / 1e3


def opportunities(path: str | os.PathLike[str]) -> list[int]:
    """The instants in ms of the opportunities that a log tells: a trace."""
    # A trace starts after 0 ms: what came at 0 is of the time before.
    stamps = [at for at, _ in read(path).opportunities if at > 0]
    if not stamps:
        raise UserError(f"{os.fspath(path)}: no opportunity: wanted a log over a recorded channel")
    return sorted(stamps)
