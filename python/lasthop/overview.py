# SPDX-License-Identifier: MIT OR Apache-2.0
"""The standard picture of a result: throughput, queueing delay and window against time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import UserError
from .plot import COLOURS, new_figure, styled
from .text import plain, size

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .result import Result

MOST_LINES = len(COLOURS)
"""More lines in one picture cannot be told apart."""

DENSE, BINS = 500, 125
"""Traces of more samples than the first are drawn as a median and a band in as many bins."""

RARE = 0.02
"""A queue in which something waits for a lesser share of the time is not drawn beside others."""

IN_BAND = "lines: medians; bands: least to greatest"
"""What a picture says of such traces."""


def draw_results(results: Sequence[Result]) -> Figure:
    """Rates, queueing delay and windows against time, several results over each other.

    One result shows a line for each flow, and for each queue in which packets wait; several show
    one line each: the sum over
    the flows, the longest wait of the queues. The warm-up is shaded. Where a line stands in a
    band it is the median of some samples, and the band reaches from the least to the greatest.
    """
    for result in results:
        if "flows" not in result.table_names:
            raise UserError(f'{result.label}: probe.every: wanted samples, e.g. "100 ms", to draw')
    figure = new_figure(8.4, 6.4)
    with styled({"text.parse_math": False}):
        axes: Sequence[Axes] = figure.subplots(3, 1, sharex=True)
        _shade_warmup(axes, results)
        if len(results) == 1:
            _draw_one(axes, results[0])
            figure.suptitle(plain(results[0].title), fontsize="medium")
        else:
            _draw_several(axes, results)
        # A hole that is filled acknowledges all behind it at once: peaks may pass the line's rate.
        axes[0].set_ylabel("acknowledged [Mbit/s]")
        axes[1].set_ylabel("queueing delay [ms]")
        axes[2].set_ylabel("window [kB]")
        axes[2].set_xlabel("time [s]")
    return figure


def rate_bins(frame: pd.DataFrame, duration_s: float) -> tuple[Any, Any]:
    """Times and rates (Mbit/s) of a flow in some 150 bins of at least one sample each."""
    import numpy as np

    times = frame["time_s"].to_numpy()
    end_s = min(duration_s, float(times[-1]))
    edges = np.linspace(times[0], end_s, max(2, min(151, len(times))))
    delivered = np.interp(edges, times, frame["acknowledged_bytes"].astype(float))
    width = max((end_s - times[0]) / (len(edges) - 1), 1e-9)
    return edges[:-1] + width / 2, np.diff(delivered) * 8 / width / 1e6


def waits(frame: pd.DataFrame) -> Any:
    """How long a byte that joins a queue at each sample will wait, in s.

    First in, first out: it has left when what was queued before it has. NaN during the
    warm-up, when departures are not counted, and for what leaves after the end.
    """
    import numpy as np

    time_s = frame["time_s"].to_numpy()
    departed = frame["departed_bytes"].to_numpy().astype(float)
    queued = frame["bytes"].to_numpy()
    left = np.interp(departed + queued, departed, time_s, right=np.nan)
    wait = np.where(queued == 0, 0.0, np.maximum(left - time_s, 0.0))
    return np.where(departed > 0, wait, np.nan)


def condensed(times: Any, values: Any) -> pd.DataFrame:
    """A dense trace in :data:`BINS` bins: their middle times, medians, least and greatest."""
    import numpy as np
    import pandas as pd

    times = np.asarray(times, dtype=float)
    width = max((times[-1] - times[0]) / BINS, 1e-9)
    place = np.minimum((times - times[0]) // width, BINS - 1)
    groups = pd.Series(np.asarray(values, dtype=float)).groupby(place)
    found = groups.agg(["median", "min", "max"]).set_axis(["middle", "low", "high"], axis=1)
    return found.set_index(times[0] + (found.index.to_numpy() + 0.5) * width)


def draw_trace(
    axis: Axes, times: Any, values: Any, *, colour: str, label: str = "", thin: bool = False
) -> bool:
    """A line through the samples; a median where they are dense, in its band unless ``thin``.

    Returns whether they are dense.
    """
    line: Any = {"color": colour, "lw": 0.6, "alpha": 0.6} if thin else {"color": colour, "lw": 1.0}
    is_dense = len(times) > DENSE
    if is_dense:
        found = condensed(times, values)
        if not thin:
            low, high = found["low"], found["high"]
            axis.fill_between(found.index, low, high, color=colour, alpha=0.2, lw=0)
        times, values = found.index, found["middle"]
    axis.plot(times, values, label=label or None, **line)
    return is_dense


def legend_beside(axis: Axes, *, title: str = "") -> None:
    """Puts the legend to the right of the axes, where it hides no curve."""
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        axis.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.0, 1.0), title=title,
                    title_fontsize="small", alignment="left", borderaxespad=0.2)  # fmt: skip


def windows(rows: pd.DataFrame) -> pd.DataFrame:
    """A flow's windows in bytes while it is at work: ``cwnd``, and ``in_force``, which binds it.

    In force is the smaller of cwnd and awnd. NaN before the flow has sent and after its end.
    """
    import pandas as pd

    acknowledged = rows["acknowledged_bytes"]
    idle = (rows["flight_bytes"] == 0) & acknowledged.isin((0, acknowledged.iloc[-1]))
    cwnd = rows["cwnd_bytes"].astype(float)
    in_force = cwnd.clip(upper=rows["awnd_bytes"].astype(float))
    return pd.DataFrame({"cwnd": cwnd.mask(idle), "in_force": in_force.mask(idle)})


def _draw_one(axes: Sequence[Axes], result: Result) -> None:
    import numpy as np

    duration_s = result.summary["duration_s"]
    flows, flows_left = _groups(result, "flows", "flow")
    greatest, greatest_cwnd = 0.0, 0.0
    for (name, rows), colour in zip(flows, COLOURS, strict=False):
        axes[0].plot(*rate_bins(rows, duration_s), color=colour, label=name)
        window, time_s = windows(rows) / 1e3, rows["time_s"]
        if (window["cwnd"] > window["in_force"]).any():
            draw_trace(axes[2], time_s, window["cwnd"], colour=colour, thin=True)
            greatest_cwnd = np.fmax(greatest_cwnd, window["cwnd"].max())
        draw_trace(axes[2], time_s, window["in_force"], colour=colour, label=name)
        greatest = np.fmax(greatest, window["in_force"].max())
    queues, queues_left = _groups(result, "queues", "queue", keep=_is_waited_in)
    for (name, rows), colour in zip(queues, COLOURS, strict=False):
        if draw_trace(axes[1], rows["time_s"], waits(rows) * 1e3, colour=colour, label=name):
            axes[1].set_title(IN_BAND, loc="right", fontsize="small")
    for axis, left_out in zip(axes, (flows_left, queues_left, flows_left), strict=True):
        axis.set_ylim(bottom=0)
        legend_beside(axis, title=left_out)
    axes[2].set_ylim(0, 1.05 * greatest or 1.0)
    axes[2].set_title("window in force", loc="left", fontsize="small")
    if greatest_cwnd:
        text = f"thin: cwnd, up to {size(greatest_cwnd * 1e3)}"
        axes[2].set_title(text, loc="right", fontsize="small")


def _draw_several(axes: Sequence[Axes], results: Sequence[Result]) -> None:
    import numpy as np

    for result, colour in zip(results, COLOURS, strict=False):
        label = _label(os.path.basename(result.label).removesuffix(".toml"))
        duration_s = result.summary["duration_s"]
        flows = result.table("flows")
        rates = [rate_bins(rows, duration_s) for _, rows in flows.groupby("flow", observed=True)]
        axes[0].plot(rates[0][0], sum(rate for _, rate in rates), color=colour, label=label)
        longest: Any = np.nan
        times: Any = []
        for _, rows in result.table("queues").groupby("queue", observed=True):
            longest, times = np.fmax(longest, waits(rows)), rows["time_s"].to_numpy()
        if draw_trace(axes[1], times, longest * 1e3, colour=colour, label=label):
            axes[1].set_title(IN_BAND, loc="right", fontsize="small")
        window = sum(
            windows(rows)["in_force"].fillna(0.0).set_axis(rows["time_s"]) / 1e3
            for _, rows in flows.groupby("flow", observed=True)
        )
        draw_trace(axes[2], times, window, colour=colour, label=label)
    left = f"{MOST_LINES} of {len(results)}" if len(results) > MOST_LINES else ""
    for axis, what in zip(
        axes, ("all flows", "longest of the queues", "in force, all flows"), strict=True
    ):
        axis.set_ylim(bottom=0)
        axis.set_title(what, loc="left", fontsize="small")
        legend_beside(axis, title=left)


def _shade_warmup(axes: Sequence[Axes], results: Sequence[Result]) -> None:
    """Grey where nothing is measured; of several results, up to the shortest warm-up."""
    warmup_s = min(result.summary["warmup_s"] for result in results)
    for axis in axes:
        axis.set_xlim(0, max(result.summary["duration_s"] for result in results))
        if warmup_s > 0:
            label = "warm-up" if axis is axes[0] else None
            axis.axvspan(0, warmup_s, color="0.9", lw=0, zorder=0, label=label)


def _is_waited_in(rows: pd.DataFrame) -> bool:
    """Whether more than a passing packet is ever seen in a queue."""
    return bool((rows["packets"] > 0).mean() > RARE)


def _groups(
    result: Result, table: str, index: str, keep: Callable[[pd.DataFrame], bool] = lambda _: True
) -> tuple[list[tuple[str, pd.DataFrame]], str]:
    """The rows of each flow or queue, and what to say where not all of them are shown.

    Those that are not to be kept are left out, unless none is.
    """
    groups = list(result.table(table).groupby(index, observed=True))
    kept = [(name, rows) for name, rows in groups if keep(rows)] or groups
    shown = kept[:MOST_LINES]
    left = f"{len(shown)} of {len(groups)}" if len(shown) < len(groups) else ""
    return [(_label(str(name)), rows) for name, rows in shown], left


def _label(name: str) -> str:
    """A name as a legend takes it, which skips what begins with an underscore."""
    return f" {plain(name)}" if name.startswith("_") else plain(name)
