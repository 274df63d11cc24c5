# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures: one style, and the standard picture of a result."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .atomic import replacing
from .errors import UserError
from .scenario import Overrides, Scenario

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .result import Result

STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.fontsize": "small",
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "savefig.dpi": 150,
    "svg.hashsalt": "lasthop",
}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Told apart by colour-blind eyes too (Okabe and Ito)."""

MOST_LINES = 8
"""More lines in one picture cannot be told apart."""


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in the house style, without any window system."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as MatplotlibFigure

    with mpl.rc_context(STYLE):
        return MatplotlibFigure(figsize=(width, height))


def styled() -> Any:
    """The style as a context, for what is drawn within it."""
    import matplotlib as mpl

    return mpl.rc_context(STYLE)


def picture_kind(path: str | os.PathLike[str]) -> str:
    """What a picture's ending names, ``png`` or the like. Raises :class:`lasthop.UserError`."""
    from matplotlib.backend_bases import FigureCanvasBase

    name = os.fspath(path)
    ending = os.path.splitext(name)[1].lstrip(".").lower()
    if ending not in FigureCanvasBase.get_supported_filetypes():
        raise UserError(f"{name}: wanted a picture's ending: .png, .pdf or .svg")
    return ending


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a picture whose kind its ending names (.png, .pdf, .svg), whole or not at all."""
    ending = picture_kind(path)
    # The date of writing would make two equal pictures differ.
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with styled(), replacing(path) as temporary:
        figure.savefig(temporary, metadata=metadata.get(ending))


def sampled(scenario: Scenario, overrides: Overrides) -> Overrides:
    """Adds a probe of about 1000 samples where a scenario that is to be drawn has none."""
    from . import _lasthop

    effective = tomllib.loads(_lasthop.check(scenario.text, scenario.directory, overrides))
    if "every" in effective.get("probe", {}):
        return overrides
    milliseconds = max(1, round(seconds(effective["duration"])))
    return (*overrides, ("probe.every", f"{milliseconds} ms"))


def seconds(text: str) -> float:
    """A time as scenarios write it, in s."""
    scales = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0,
              "h": 3600.0}  # fmt: skip
    found = re.fullmatch(r"([\d._]+(?:[eE][-+]?\d+)?) *(\D+)", text.strip())
    if found is None or found[2] not in scales:
        raise UserError(f"{text}: wanted a time with its unit")
    return float(found[1].replace("_", "")) * scales[found[2]]


def draw_results(results: Sequence[Result]) -> Figure:
    """Throughput, queueing delay and windows against time, several results over each other.

    One result shows a line for each flow and queue; several show one line each.
    """
    for result in results:
        if "flows" not in result.table_names:
            raise UserError(f'{result.label}: probe.every: wanted samples, e.g. "100 ms", to draw')
    figure = new_figure(7.2, 6.4)
    with styled():
        axes: Sequence[Axes] = figure.subplots(3, 1, sharex=True)
        if len(results) == 1:
            _draw_one(axes, results[0])
        else:
            _draw_several(axes, results)
        axes[0].set_ylabel("throughput [Mbit/s]")
        axes[1].set_ylabel("queueing delay [ms]")
        axes[2].set_ylabel("window [kB]")
        axes[2].set_xlabel("time [s]")
        for axis in axes:
            axis.set_ylim(bottom=0)
            if axis.get_legend_handles_labels()[0]:
                axis.legend(loc="upper right", ncols=4)
        figure.suptitle(title_of(results[0]) if len(results) == 1 else "", fontsize="medium")
    return figure


def title_of(result: Result) -> str:
    """The title that a scenario gives itself, else its file's name."""
    return str(tomllib.loads(result.scenario).get("title") or result.label)


def rate_bins(frame: pd.DataFrame, duration_s: float) -> tuple[Any, Any]:
    """Times and rates (Mbit/s) of a flow in some 150 bins."""
    import numpy as np

    width = max(duration_s / 150, 1e-9)
    edges = np.arange(0, duration_s + width, width)
    delivered = np.interp(edges, frame["time_s"], frame["acknowledged_bytes"].astype(float))
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


def _draw_one(axes: Sequence[Axes], result: Result) -> None:
    duration_s = result.summary["duration_s"]
    for index, (name, rows) in enumerate(_groups(result, "flows", "flow")):
        colour = COLOURS[index % len(COLOURS)]
        axes[0].plot(*rate_bins(rows, duration_s), color=colour, label=name)
        axes[2].plot(rows["time_s"], rows["cwnd_bytes"] / 1e3, color=colour, lw=0.7, label=name)
    for index, (name, rows) in enumerate(_groups(result, "queues", "queue")):
        colour = COLOURS[index % len(COLOURS)]
        axes[1].plot(rows["time_s"], waits(rows) * 1e3, color=colour, lw=0.7, label=name)


def _draw_several(axes: Sequence[Axes], results: Sequence[Result]) -> None:
    import numpy as np

    for index, result in enumerate(results):
        colour = COLOURS[index % len(COLOURS)]
        label = os.path.basename(result.label).removesuffix(".toml")
        duration_s = result.summary["duration_s"]
        total: Any = 0.0
        times: Any = []
        for _, rows in _groups(result, "flows", "flow", most=None):
            times, rates = rate_bins(rows, duration_s)
            total = total + rates
        axes[0].plot(times, total, color=colour, label=label)
        longest: Any = np.nan
        for _, rows in _groups(result, "queues", "queue", most=None):
            longest = np.fmax(longest, waits(rows))
            times = rows["time_s"]
        axes[1].plot(times, longest * 1e3, color=colour, lw=0.7, label=label)
        flows = result.table("flows")
        window = flows[["cwnd_bytes", "awnd_bytes"]].min(axis=1).groupby(flows["time_s"]).sum()
        axes[2].plot(window.index, window / 1e3, color=colour, lw=0.7, label=label)


def _groups(
    result: Result, table: str, index: str, most: int | None = MOST_LINES
) -> list[tuple[str, pd.DataFrame]]:
    frame = result.table(table)
    return [(str(name), rows) for name, rows in frame.groupby(index, observed=True)][:most]
