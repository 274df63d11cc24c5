# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``senders``: a colour a sender, a marker a queue, a panel a place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..claims import mean_interval
from ..paper import Drawing
from ..plot import COLOURS
from .senders_runs import QUEUES, SENDERS, SKIPPED, handoffs, matrix, places, recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..paper import Lab

SENDER_NAMES = {
    "reno": "Reno",
    "cubic": "CUBIC",
    "vegas": "Vegas",
    "veno": "Veno",
    "westwood": "Westwood+",
    "gamma": "γ",
    "delta": "γ + δ",
    "tfrc": "TFRC",
}
QUEUE_NAMES = {
    "drop-tail": "drop-tail",
    "red": "RED",
    "fq-codel": "FQ-CoDel",
    "clamp": "CLAMP's price",
}
PAINT = dict(zip(SENDERS, (*COLOURS, "#8a8a8a"), strict=True))
MARKERS = dict(zip(QUEUES, ("o", "s", "^", "*"), strict=True))
SIZES = dict(zip(QUEUES, (6, 5.5, 6.5, 10), strict=True))
ABREAST = 3
"""Panels beside each other."""
EVEN_MOBILES = 0.9
"""Jain's index where three mobiles get as much and two flows share one of them."""


def overview(lab: Lab) -> Drawing:
    """Throughput against the 95th percentile of the queueing delay."""
    data = matrix(lab)
    titles = _titles()

    lines = -(-len(titles) // ABREAST)

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import LogLocator, NullFormatter

        grid = figure.subplots(lines, ABREAST, squeeze=False)
        for axes in grid.flat[len(titles) :]:
            axes.remove()
        for axes, (place, title) in zip(grid.flat, titles.items(), strict=False):
            here = data[data["place"] == place]
            for (sender, queue), rows in here.groupby(["sender", "queue"], sort=False):
                axes.plot(
                    rows["p95_delay_s"].mean() * 1e3,
                    rows["throughput_bps"].mean() / 1e6,
                    **_nested(str(sender), str(queue)),
                )
            axes.set(xscale="log", title=title, xlabel="queueing delay, 95th percentile [ms]")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.annotate(
                "better", (0.5, 0.66), (0.62, 0.48), xycoords="axes fraction", fontsize="small",
                color="0.4", arrowprops={"arrowstyle": "->", "color": "0.4"},
            )  # fmt: skip
        for line in grid:
            line[0].set_ylabel("throughput, TCP payload [Mbit/s]")
        if not recorded():
            figure.suptitle(SKIPPED, fontsize="small", color="0.4")
        _legends(figure)

    size = (3.5 * ABREAST, 1.0 + 3.8 * lines)
    return Drawing(data, draw, size, _places_table(data, titles))


def fairness(lab: Lab) -> Drawing:
    """Fairness and smoothness of every sender with every queue."""
    data = matrix(lab)
    titles = _titles()
    measures = {
        "fairness": ("Jain's index [1]", "whole run"),
        "short_term_fairness": ("Jain's index [1]", "mean over 1 s"),
        "cov": ("coefficient of variation [1]", "goodput in 1 s"),
    }

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(titles), len(measures), squeeze=False, sharex=True)
        for line, (place, title) in zip(grid, titles.items(), strict=True):
            for axes, (column, (label, kind)) in zip(line, measures.items(), strict=True):
                _by_sender(axes, data[data["place"] == place], column)
                axes.set(ylim=(0, 1 if column != "cov" else None), ylabel=label)
                axes.set_title(f"{title}: {kind}")
                if place == "fading" and column != "cov":
                    axes.axhline(EVEN_MOBILES, color="0.4", ls="--", lw=0.9, zorder=1)
                    axes.text(0, 0.03, "dashed: three mobiles served alike", fontsize="small",
                              color="0.4")  # fmt: skip
        _legends(figure, senders=False)

    columns = {"fairness": 1.0, "short_term_fairness": 1.0, "cov": 1.0}
    head = ("Jain", "Jain, 1 s", "CoV")
    size = (10.5, 0.9 + 2.3 * len(titles))
    return Drawing(data, draw, size, _table(data, titles, columns, head))


def recovery(lab: Lab) -> Drawing:
    """Time to recover from a handoff."""
    data = handoffs(lab)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _by_sender(axes, data, "recovery_s")
        axes.set(ylabel="time to recover from a handoff of 1 s [s]", ylim=(0, None))
        _legends(figure, senders=False)

    there = data.assign(place="fading")
    table = _table(there, {"fading": "recovery"}, {"recovery_s": 1.0}, ("s",))
    return Drawing(data, draw, (6.4, 4.2), table)


FIGURES: dict[str, Callable[[Lab], Drawing]] = {
    "overview": overview,
    "fairness": fairness,
    "recovery": recovery,
}


def _titles() -> dict[str, str]:
    return {place.name: place.title for place in (*places(), *recorded())}


def _mark(sender: str, queue: str) -> dict[str, Any]:
    return {
        "color": PAINT[sender],
        "marker": MARKERS[queue],
        "ms": SIZES[queue],
        "mec": "white",
        "mew": 0.5,
        "ls": "none",
    }


def _nested(sender: str, queue: str) -> dict[str, Any]:
    """Smaller from sender to sender, so that points at the same place lie within each other."""
    shrink = 1.8 - 0.16 * list(SENDERS).index(sender)
    return {**_mark(sender, queue), "ms": shrink * SIZES[queue], "mew": 0.15}


def _by_sender(axes: Axes, data: pd.DataFrame, column: str) -> None:
    """A group of markers for each sender, with 95 % intervals over the seeds."""
    for i, sender in enumerate(SENDERS):
        for j, queue in enumerate(QUEUES):
            values = _values(data, sender, queue, column)
            if not values:
                continue
            mean, low, _ = mean_interval(values)
            half = 0.0 if np.isnan(low) else mean - low
            axes.errorbar(
                i + 0.18 * (j - 1.5), mean, yerr=half, ecolor="0.5", elinewidth=0.9,
                **_mark(sender, queue),
            )  # fmt: skip
    axes.set_xticks(
        range(len(SENDERS)), [SENDER_NAMES[s] for s in SENDERS], rotation=40, ha="right"
    )
    axes.grid(axis="x", visible=False)


def _values(data: pd.DataFrame, sender: str, queue: str, column: str) -> list[float]:
    wanted = (data["sender"] == sender) & (data["queue"] == queue)
    return [float(value) for value in data[wanted][column]]


def _legends(figure: Figure, *, senders: bool = True) -> None:
    """Legends below all panels: queues by marker, senders by colour."""
    from matplotlib.lines import Line2D

    queues = [
        Line2D([], [], **{**_mark("tfrc", queue), "color": "0.3", "label": QUEUE_NAMES[queue]})
        for queue in QUEUES
    ]
    laws = [
        Line2D([], [], **{**_mark(sender, "drop-tail"), "label": SENDER_NAMES[sender]})
        for sender in SENDERS
    ]
    figure.legend(
        handles=[*laws, *queues] if senders else queues,
        loc="outside lower center",
        ncols=6 if senders else 4,
    )


def _places_table(data: pd.DataFrame, titles: dict[str, str]) -> list[list[str]]:
    columns = {"throughput_bps": 1e-6, "p95_delay_s": 1e3}
    return _table(data, titles, columns, ("Mbit/s", "95 % ms"))


def _table(
    data: pd.DataFrame, titles: dict[str, str], columns: dict[str, float], head: Sequence[str]
) -> list[list[str]]:
    """A row a sender and queue, with the mean and half the 95 % interval over the seeds."""
    rows = [
        ["sender", "queue", *(f"{title}: {unit}" for title in titles.values() for unit in head)]
    ]
    for sender in SENDERS:
        for queue in QUEUES:
            row = [SENDER_NAMES[sender], QUEUE_NAMES[queue]]
            for place in titles:
                here = data[data["place"] == place]
                row += [
                    _estimate([scale * v for v in _values(here, sender, queue, column)])
                    for column, scale in columns.items()
                ]
            rows.append(row)
    return rows


def _estimate(values: Sequence[float]) -> str:
    if not values:
        return "–"
    mean, low, _ = mean_interval(values)
    digits = 0 if mean >= 100 else 2
    spread = "" if np.isnan(low) else f" ± {mean - low:.{digits}f}"
    return f"{mean:.{digits}f}{spread}"
