# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures: their data and how they are drawn, and the two kinds that most are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ..claims import mean_interval
from ..plot import COLOURS, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .sweeps import Lab


@dataclass(frozen=True)
class Drawing:
    """A figure: its data, and how they are drawn on an empty Matplotlib figure."""

    data: pd.DataFrame
    draw: Callable[[Figure], None]
    size: tuple[float, float] = (5.2, 3.6)
    """Width and height in inches."""
    table: Sequence[Sequence[str]] = ()
    """The figure's numbers for the report: a row of headings, then the rows; none by default."""


class Style(NamedTuple):
    """How what has a name on an axis is drawn in all figures."""

    label: str
    colour: str

    @classmethod
    def of(cls, label: str, colour: int | str) -> Style:
        """A colour may be given as a place among those of the house."""
        return cls(label, COLOURS[colour] if isinstance(colour, int) else colour)


def curves(
    lab: Lab,
    *,
    sweep: str,
    y: str,
    label: str,
    x_label: str,
    styles: Mapping[str, Style],
    times: float = 1.0,
    bottom: float | None = None,
) -> Drawing:
    """A column along the last axis of a sweep, a line for each value of the first.

    The lines are means of the seeds, the bands behind them reach from the least to the greatest.
    """
    first, last = (list(lab.sweep(sweep).axes)[place] for place in (0, -1))
    data = lab.frame(sweep)[[first, last, "seed", y]]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for name in data[first].unique():
            grouped = data[data[first] == name].groupby(last)[y]
            mean, (text, colour) = grouped.mean(), styles[name]
            x = mean.index.to_numpy()
            axes.plot(x, mean * times, ".-", color=colour, label=text)
            low, high = grouped.min() * times, grouped.max() * times
            axes.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
        axes.set(xlabel=x_label, ylabel=label)
        axes.set_ylim(bottom=bottom)
        legend_below(figure)

    return Drawing(data, draw)


def over_time(
    data: pd.DataFrame, label: str, *, times: float = 1.0, top: float | None = None
) -> Drawing:
    """The columns of a frame against its index, the time in s."""
    data.index.name = "time_s"

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for colour, column in zip(colours(len(data.columns)), data.columns, strict=True):
            axes.plot(data.index, data[column] * times, color=colour, lw=0.9, label=column)
        axes.set(xlabel="time [s]", ylabel=label)
        axes.set_ylim(0, top)
        legend_below(figure)

    return Drawing(data.reset_index(), draw)


def colours(count: int) -> list[object]:
    """The house's colours, or a scale of one where they do not suffice."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    import matplotlib as mpl
    import numpy as np

    return [mpl.colormaps["viridis"](place) for place in np.linspace(0, 0.95, count)]


def shade(axes: Axes, start_s: float, end_s: float) -> None:
    """Marks a span of time behind the lines."""
    axes.axvspan(start_s, end_s, color="0.85", lw=0)


class PlusMinus(NamedTuple):
    """A mean with half the width of its 95 % interval; NaN for one value."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> PlusMinus:
        """Of one value a seed."""
        mean, low, _ = mean_interval(values)
        return cls(mean, mean - low)

    def text(self, digits: int) -> str:
        """``4.31 ± 0.05``; the mean alone for one value, or for values that are all the same."""
        spread = "" if not self.half > 0 else f" ± {self.half:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"
