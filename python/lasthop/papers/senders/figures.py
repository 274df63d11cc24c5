# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``senders``: a colour a sender, a marker a queue, a panel a place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...lab import Drawing, Lab, PlusMinus
from ...plot import COLOURS, log_x
from .measures import PLACES, recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SENDERS = {
    "reno": "Reno",
    "cubic": "CUBIC",
    "vegas": "Vegas",
    "veno": "Veno",
    "westwood": "Westwood+",
    "gamma": "γ",
    "delta": "γ + δ",
    "tfrc": "TFRC",
    "abc": "ABC, told by its router",
}
QUEUES = {
    "drop-tail": "drop-tail",
    "red": "RED",
    "fq-codel": "FQ-CoDel",
    "clamp": "CLAMP's price",
    "share": "share window",
}
PAINT = dict(zip(SENDERS, (*COLOURS, "#8a8a8a", "#7b3f00"), strict=True))
MARKERS = dict(zip(QUEUES, ("o", "s", "^", "*", "D"), strict=True))
SIZES = dict(zip(QUEUES, (6, 5.5, 6.5, 10, 5), strict=True))
ABREAST = 3
"""Panels beside each other."""
EVEN_MOBILES = 0.9
"""Jain's index where three mobiles get as much and two flows share one of them."""

SKIPPED = "recorded traces: SKIPPED, as LASTHOP_TRACES names no folder with *.down files"


def matrix(lab: Lab) -> pd.DataFrame:
    """All runs, one row a place, sender, queue and seed; a user's own recordings after ours."""
    more = recorded(lab)
    if not more:
        print(SKIPPED, file=sys.stderr)
    frames = {name: lab.frame(name) for name in PLACES}
    frames |= {name: lab.frame_of(sweep, name) for name, sweep in more.items()}
    for name, frame in frames.items():
        frame.insert(0, "place", name)
    return pd.concat(frames.values())


def _titles(data: pd.DataFrame) -> dict[str, str]:
    return {name: PLACES.get(name, name) for name in data["place"].unique()}


def overview(lab: Lab) -> Drawing:
    """Throughput against the 95th percentile of the queueing delay."""
    data = lab.frame("matrix")
    titles = _titles(data)

    lines = -(-len(titles) // ABREAST)

    def draw(figure: Figure) -> None:
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
            axes.set(title=title, xlabel="queueing delay, 95th percentile [ms]")
            log_x(axes)
            axes.annotate(
                "better", (0.5, 0.66), (0.62, 0.48), xycoords="axes fraction", fontsize="small",
                color="0.4", arrowprops={"arrowstyle": "->", "color": "0.4"},
            )  # fmt: skip
        for line in grid:
            line[0].set_ylabel("throughput, TCP payload [Mbit/s]")
        if titles == PLACES:
            figure.suptitle(SKIPPED, fontsize="small", color="0.4")
        _legends(figure)

    size = (3.5 * ABREAST, 1.0 + 3.8 * lines)
    return Drawing(data, draw, size, _places_table(data, titles))


def fairness(lab: Lab) -> Drawing:
    """Fairness and smoothness of every sender with every queue."""
    data = lab.frame("matrix")
    titles = _titles(data)
    measures = {
        "fairness": ("Jain's index", "whole run"),
        "short_term_fairness": ("Jain's index", "mean over 1 s"),
        "cov": ("coefficient of variation", "goodput in 1 s"),
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
    data = lab.frame("handoffs")

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _by_sender(axes, data, "recovery_s")
        axes.set(ylabel="time to recover from a handoff of 1 s [s]", ylim=(0, None))
        _legends(figure, senders=False)

    there = data.assign(place="fading")
    table = _table(there, {"fading": "recovery"}, {"recovery_s": 1.0}, ("s",))
    return Drawing(data, draw, (6.4, 4.2), table)


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
    shrink = 1.8 - 0.15 * list(SENDERS).index(sender)
    return {**_mark(sender, queue), "ms": shrink * SIZES[queue], "mew": 0.15}


def _by_sender(axes: Axes, data: pd.DataFrame, column: str) -> None:
    """A group of markers for each sender, with 95 % intervals over the seeds."""
    for i, sender in enumerate(SENDERS):
        for j, queue in enumerate(QUEUES):
            values = _values(data, sender, queue, column)
            if not values:
                continue
            mean, half = PlusMinus.of(values)
            axes.errorbar(
                i + 0.15 * (j - 2), mean, yerr=np.nan_to_num(half), ecolor="0.5", elinewidth=0.9,
                **_mark(sender, queue),
            )  # fmt: skip
    axes.set_xticks(range(len(SENDERS)), [SENDERS[s] for s in SENDERS], rotation=40, ha="right")
    axes.grid(axis="x", visible=False)


def _values(data: pd.DataFrame, sender: str, queue: str, column: str) -> list[float]:
    wanted = (data["sender"] == sender) & (data["queue"] == queue)
    return [float(value) for value in data[wanted][column]]


def _legends(figure: Figure, *, senders: bool = True) -> None:
    """Legends below all panels: queues by marker, senders by colour."""
    from matplotlib.lines import Line2D

    queues = [
        Line2D([], [], **{**_mark("tfrc", queue), "color": "0.3", "label": QUEUES[queue]})
        for queue in QUEUES
    ]
    laws = [
        Line2D([], [], **{**_mark(sender, "drop-tail"), "label": SENDERS[sender]})
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
            row = [SENDERS[sender], QUEUES[queue]]
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
    found = PlusMinus.of(values)
    return found.text(0 if found.mean >= 100 else 2)
