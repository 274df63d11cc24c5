# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures of traces and of logs of mm-link, as they stand in many papers.

Capacity is a shaded area, throughput a line over it, and below, on the same axis of time, the
delay of each packet.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import mmlog
from .errors import UserError
from .overview import legend_beside
from .plot import COLOURS, new_figure, styled
from .text import duration, plain
from .trace import LONGEST_S, MOST_LINES, MTU_BITS, stamps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_traces(paths: Sequence[str | os.PathLike[str]], bin_s: float) -> Figure:
    """Draws capacities in bins of ``bin_s``; of logs also throughput and delay."""
    if bin_s <= 0:
        raise UserError(f"--bin {duration(bin_s)}: wanted a time above 0")
    logs = [mmlog.read(path) if mmlog.is_log(path) else None for path in paths]
    rows = 2 if any(logs) else 1
    figure = new_figure(8.4, 2.2 + 2.0 * rows)
    with styled({"text.parse_math": False}):
        grid = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=(3, 2)[:rows])
        axes: list[Axes] = list(grid[:, 0])
        for index, (path, log) in enumerate(zip(paths, logs, strict=True)):
            colour = COLOURS[index % len(COLOURS)]
            name = plain(os.path.basename(os.fspath(path)))
            if log is None:
                stamps, _ = stamps_of(path)
                _draw_capacity(axes[0], [(at, MTU_BITS / 8) for at in stamps], bin_s, name, colour)
            else:
                _draw_log(axes, log, bin_s, name, colour)
        axes[0].set_ylabel("rate [Mbit/s]")
        axes[0].set_title(f"in bins of {duration(bin_s)}", loc="right", fontsize="small")
        if rows == 2:
            axes[1].set_ylabel("packet delay [ms]")
        axes[-1].set_xlabel("time [s]")
        for axis in axes:
            axis.set_ylim(bottom=0)
            axis.set_xlim(left=0)
            legend_beside(axis)
    return figure


def _draw_log(axes: Sequence[Axes], log: mmlog.Log, bin_s: float, name: str, colour: str) -> None:
    if log.opportunities:
        _draw_capacity(axes[0], log.opportunities, bin_s, name, colour, log.last_ms / 1e3)
    left = [(at, size) for at, size, _ in log.departures]
    times, rates = rates_in_bins(left, bin_s, max(log.last_ms, 1) / 1e3)
    # In steps, as the capacity is: a slope between bins would pass above it.
    axes[0].plot(times, rates, color=colour, lw=1.4, drawstyle="steps-post",
                 label=f"{name}: throughput")  # fmt: skip
    sent = [at / 1e3 for at, *_ in log.departures]
    delays = [delay for *_, delay in log.departures]
    axes[1].plot(sent, delays, ".", ms=1.5, color=colour, label=name, rasterized=True)


def _draw_capacity(axis: Axes, events: Sequence[tuple[Any, float]], bin_s: float, name: str,
                   colour: str, end_s: float | None = None) -> None:  # fmt: skip
    times, rates = rates_in_bins(events, bin_s, end_s)
    axis.fill_between(times, rates, color=colour, alpha=0.25, lw=0, step="post",
                      label=f"{name}: capacity")  # fmt: skip


def rates_in_bins(
    events: Sequence[tuple[Any, float]], bin_s: float, end_s: float | None = None
) -> tuple[Any, Any]:
    """The edges of bins in s, and the rates from each in Mbit/s, from ms and bytes.

    What comes at the very end of a bin is of it. The last bin ends where the trace does, at
    ``end_s`` or with the last event: it is of half a bin to one and a half.
    """
    import numpy as np

    if not events:
        return [], []
    times = np.array([at for at, _ in events], dtype=float) / 1e3
    end_s = max(float(times.max()), 1e-3) if end_s is None else end_s
    count = max(round(end_s / bin_s), 1)
    if count > MOST_LINES or end_s > LONGEST_S:
        raise UserError(f"--bin {duration(bin_s)}: {count} bins: wanted at most {MOST_LINES}")
    edges = np.append(np.arange(count) * bin_s, end_s)
    sizes = np.array([size for _, size in events], dtype=float)
    bins = np.clip(np.searchsorted(edges, times) - 1, 0, count - 1)
    rates = np.bincount(bins, weights=sizes, minlength=count) * 8 / np.diff(edges) / 1e6
    return edges, np.append(rates, rates[-1:])
