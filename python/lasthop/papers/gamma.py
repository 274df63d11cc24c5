# SPDX-License-Identifier: MIT OR Apache-2.0
"""The paper ``gamma``: how its claims are measured. What they are stands in ``gamma.toml``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from .gamma_figures import FIGURES
from .gamma_runs import (
    FAMILIES,
    MODERATE,
    PROTOCOLS,
    RECOVERING,
    RENO,
    RESPONSIVE,
    SMOOTH,
    at,
    newreno,
    predicted,
    recoveries,
    seconds,
    sweep,
    within,
)
from .gamma_variant import MEASURES as OF_THE_VARIANT

if TYPE_CHECKING:
    from ..paper import Lab

__all__ = ["FIGURES", "MEASURES"]

Measure = Callable[["Lab"], list[float]]
Values = Callable[[str], list[float]]
"""One value a seed, by contender."""


def pftk(lab: Lab) -> list[float]:
    """NewReno's packets a second over what the equation gives, the value furthest from 1."""
    frame = newreno(lab)
    ratios = frame["packets_per_s"] / predicted(frame)
    return [
        float(max(rows, key=lambda ratio: abs(ratio - 1)))
        for _, rows in ratios.groupby(frame["seed"])
    ]


def newreno_rate(loss: float, lab: Lab) -> list[float]:
    """NewReno's packets a second at 100 ms."""
    frame = newreno(lab)
    rows = frame[np.isclose(frame["loss"], loss) & np.isclose(frame["rtt_s"], 0.1)]
    return [float(value) for value in rows.sort_values("seed")["packets_per_s"]]


def scaled(
    name: str, contender: str, value: float, column: str, scale: float, lab: Lab
) -> list[float]:
    """A column at one point of a sweep, times ``scale``."""
    return [scale * found for found in at(lab, name, contender, value, column)]


def furthest(name: str, contender: str, least: float, target: float, lab: Lab) -> list[float]:
    """The goodput in Mbit/s furthest from the target, from so many flows on."""
    frame = sweep(lab, name)
    rows = frame[(frame["contender"] == contender) & (frame[FAMILIES[name].axis] >= least)]
    return [
        max((float(value) / 1e6 for value in of_seed["goodput_bps"]),
            key=lambda goodput: abs(goodput - target))
        for _, of_seed in rows.groupby("seed")
    ]  # fmt: skip


def weakest(differences: Sequence[Sequence[float]]) -> list[float]:
    """Of several differences, each with one value a seed, the one whose mean is least.

    The least of each seed would be that of its noise: the more differences there are, the further
    below all their means.
    """
    return list(min(differences, key=fmean))


def above(winners: Sequence[str], losers: Sequence[str], values: Values) -> list[float]:
    """How far the least of some lies above the most of others, one value a seed."""
    return weakest(
        [
            [w - x for w, x in zip(values(winner), values(loser), strict=True)]
            for winner in winners
            for loser in losers
        ]
    )


def rising(contenders: Sequence[str], values: Values) -> list[float]:
    """The smallest step upwards from each contender to the next; negative if one goes down."""
    return weakest([above([after], [before], values) for before, after in pairwise(contenders)])


def order(
    name: str, value: float, column: str, winners: Sequence[str], losers: Sequence[str], lab: Lab
) -> list[float]:
    """How far some lie above others at one point of a sweep."""
    return above(winners, losers, lambda contender: at(lab, name, contender, value, column))


def ladder(
    name: str, value: float, column: str, contenders: Sequence[str], lab: Lab
) -> list[float]:
    """The smallest step upwards at one point of a sweep."""
    return rising(contenders, lambda contender: at(lab, name, contender, value, column))


def order_everywhere(
    name: str, column: str, winners: Sequence[str], losers: Sequence[str], lab: Lab
) -> list[float]:
    """The same at all points of a sweep: the least."""
    frame = sweep(lab, name)
    return weakest(
        [
            order(name, float(value), column, winners, losers, lab)
            for value in frame[FAMILIES[name].axis].unique()
        ]
    )


def over_time(
    scenario: str, span: tuple[float, float], column: str, contender: str, lab: Lab
) -> list[float]:
    """The mean of a column of the system over a span in s."""
    tables = seconds(lab, scenario, (), contender)
    return [float(within(table, *span)[column].mean()) for table in tables]


def timed_order(
    scenario: str,
    span: tuple[float, float],
    column: str,
    winners: Sequence[str],
    losers: Sequence[str],
    lab: Lab,
) -> list[float]:
    """How far some lie above others over a span of time."""
    return above(winners, losers, lambda c: over_time(scenario, span, column, c, lab))


def timed_ladder(
    scenario: str, span: tuple[float, float], column: str, contenders: Sequence[str], lab: Lab
) -> list[float]:
    """The smallest step upwards over a span of time."""
    return rising(contenders, lambda c: over_time(scenario, span, column, c, lab))


def falls(name: str, lab: Lab) -> list[float]:
    """The least fall of the fairness from the first to the last point, over the protocols."""
    values = sweep(lab, name)[FAMILIES[name].axis]
    first, last = float(values.min()), float(values.max())
    drops = [
        [a - b for a, b in zip(at(lab, name, contender, first, "fairness"),
                               at(lab, name, contender, last, "fairness"), strict=True)]
        for contender in PROTOCOLS
    ]  # fmt: skip
    return [min(of_seed) for of_seed in zip(*drops, strict=True)]


def smooth_under_red(lab: Lab) -> list[float]:
    """How far the smooth protocol's fairness is from Reno's under RED, where most in the mean."""
    frame = sweep(lab, "diverse-red")
    upto = frame[frame["longest_ms"] <= 300]
    table = upto.pivot_table(
        index=["longest_ms", "seed"], columns="contender", values="fairness"
    )  # fmt: skip
    gap = table[SMOOTH] - table[RENO]
    gaps = [[float(value) for value in of_value] for _, of_value in gap.groupby("longest_ms")]
    most = max(gaps, key=lambda values: abs(fmean(values)))
    return most if fmean(most) > 0 else [-value for value in most]


def red_against_drop_tail(lab: Lab) -> list[float]:
    """Reno's fairness with RED less that with drop-tail, round-trip times up to 500 ms."""
    red, tail = (at(lab, name, RENO, 500, "fairness") for name in ("diverse-red", "diverse"))
    return [r - t for r, t in zip(red, tail, strict=True)]


def fills(lab: Lab) -> list[float]:
    """Throughput at the knee over that with windows of half the knee."""
    knee, half = (at(lab, "windows", RENO, w, "goodput_bps") for w in (120, 60))
    return [k / h for k, h in zip(knee, half, strict=True)]


def queues(lab: Lab) -> list[float]:
    """Queueing delay in ms that a window of twice the knee adds."""
    return [1e3 * value for value in at(lab, "windows", RENO, 240, "queueing_delay_s")]


def stays(lab: Lab) -> list[float]:
    """Throughput with windows of twice the knee over that of one and a half."""
    twice, more = (at(lab, "windows", RENO, w, "goodput_bps") for w in (240, 180))
    return [t / m for t, m in zip(twice, more, strict=True)]


def _each(
    figure: str, name: str, value: float, column: str, scale: float, suffix: str = ""
) -> dict[str, Measure]:
    return {
        f"gamma:{figure}-{contender}{suffix}": partial(
            scaled, name, contender, value, column, scale
        )
        for contender in PROTOCOLS
    }


NOT_SMOOTH = (MODERATE, RENO, RESPONSIVE)
NOT_RESPONSIVE = (SMOOTH, MODERATE, RENO)
TO_SMOOTH = tuple(reversed(PROTOCOLS))

MEASURES: dict[str, Measure] = {
    "gamma:pftk": pftk,
    **{f"gamma:newreno-{p:g}": partial(newreno_rate, p) for p in (0.001, 0.01, 0.03)},
    **{
        f"gamma:2-{contender}": partial(furthest, "wired-10", contender, 30, 9.4)
        for contender in PROTOCOLS
    },
    "gamma:2-responsive-10": partial(scaled, "wired-10", RESPONSIVE, 10, "goodput_bps", 1e-6),
    "gamma:3-limited": partial(scaled, "wired-100", RENO, 10, "goodput_bps", 1e-6),
    "gamma:3-filled": partial(scaled, "wired-100", RENO, 20, "goodput_bps", 1e-6),
    "gamma:3-order": partial(
        order, "wired-100", 100, "goodput_bps", NOT_RESPONSIVE, [RESPONSIVE]
    ),
    **_each("4", "wired-10", 100, "overhead", 100),
    "gamma:4-order": partial(ladder, "wired-10", 100, "overhead", PROTOCOLS),
    **_each("5", "wired-100", 100, "overhead", 100),
    **_each("6", "readers", 100, "success", 100),
    "gamma:6-order": partial(ladder, "readers", 100, "success", TO_SMOOTH),
    "gamma:7-before": partial(
        timed_order, "gamma-joins", (5, 15), "fairness", [SMOOTH], NOT_SMOOTH
    ),
    "gamma:7-order": partial(timed_ladder, "gamma-joins", (25, 30), "fairness", PROTOCOLS),
    "gamma:8-before": partial(
        timed_order, "gamma-leaves", (5, 15), "goodput_bps", [SMOOTH], [RESPONSIVE]
    ),
    "gamma:8-order": partial(
        timed_order, "gamma-leaves", (25, 30), "goodput_bps", NOT_SMOOTH, [SMOOTH]
    ),
    "gamma:8-reno": partial(
        timed_order, "gamma-leaves", (25, 30), "goodput_bps", [RENO],
        [SMOOTH, MODERATE, RESPONSIVE],
    ),
    **_each("9", "lossy-10", 0.005, "goodput_bps", 1e-6, "-0.005"),
    **_each("9", "lossy-10", 0.05, "goodput_bps", 1e-6, "-0.05"),
    "gamma:9-low": partial(order, "lossy-10", 0.005, "goodput_bps", [SMOOTH], [RESPONSIVE]),
    "gamma:9-high": partial(order, "lossy-10", 0.05, "goodput_bps", NOT_SMOOTH, [SMOOTH]),
    **_each("10", "lossy-100", 0.05, "goodput_bps", 1e-6),
    "gamma:10-high": partial(order, "lossy-100", 0.05, "goodput_bps", NOT_SMOOTH, [SMOOTH]),
    "gamma:11-order": partial(ladder, "lossy-10", 0.05, "overhead", TO_SMOOTH),
    "gamma:12-order": partial(order, "lossy-100-slow", 0.05, "overhead", [SMOOTH], NOT_SMOOTH),
    "gamma:13-order": partial(order, "handoffs", 0.5, "goodput_bps", NOT_SMOOTH, [SMOOTH]),
    "gamma:14-order": partial(ladder, "handoffs", 1.0, "goodput_bps", PROTOCOLS),
    "gamma:15-low": partial(order, "lossy-readers", 0, "success", [SMOOTH], [RESPONSIVE]),
    "gamma:15-high": partial(order, "lossy-readers", 0.03, "success", NOT_SMOOTH, [SMOOTH]),
    "gamma:16-falls": partial(falls, "diverse"),
    "gamma:16-smooth": partial(order, "diverse", 300, "fairness", [SMOOTH], NOT_SMOOTH),
    "gamma:17-close": smooth_under_red,
    "gamma:17-red": red_against_drop_tail,
    "gamma:18-10": partial(
        order, "proposals", 10, "short_term_fairness", ["gamma"], [RENO, "red", SMOOTH, "tfrc"]
    ),
    "gamma:18-100": partial(
        order, "proposals", 100, "short_term_fairness", ["gamma"], [RENO, "red", SMOOTH, "tfrc"]
    ),
    "gamma:19-reno": partial(order_everywhere, "proposals", "cov", [RENO], ["red", SMOOTH]),
    "gamma:19-tfrc": partial(order_everywhere, "proposals", "cov", ["red", SMOOTH], ["tfrc"]),
    "gamma:19-gamma": partial(order_everywhere, "proposals", "cov", ["tfrc"], ["gamma"]),
    **{
        f"gamma:20-{contender}": partial(recoveries, contender=contender)
        for contender in RECOVERING
    },
    "gamma:knee-fills": fills,
    "gamma:knee-stays": stays,
    "gamma:knee-queues": queues,
    **OF_THE_VARIANT,
}  # fmt: skip
