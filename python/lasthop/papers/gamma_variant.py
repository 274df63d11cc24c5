# SPDX-License-Identifier: MIT OR Apache-2.0
"""γ that drains the queue, beside γ as the paper has it: no figure of the paper's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..paper import Drawing
from .gamma_runs import CONTENDERS, HANDOFF_ENDS_S, recoveries, recovery, sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..paper import Lab

COMPARED = ("gamma", "drain")
LEAST_FAIRNESS, GREATEST_COV = 0.95, 0.15
"""What the variant is for."""
WIDTHS = {"variant": ("-", "1 Mbit/s a flow"), "variant-10": (":", "10 Mbit/s in all")}


def figure(lab: Lab) -> Drawing:
    """Short-term fairness, CoV, and goodput around a handoff of 1 s."""
    sweeps = pd.concat([sweep(lab, name).assign(network=name) for name in WIDTHS])
    traces = {key: recovery(lab, key)[0] for key in COMPARED}

    def draw(figure: Figure) -> None:
        left, middle, right = figure.subplots(1, 3)
        _against_flows(left, sweeps, "short_term_fairness")
        left.axhline(LEAST_FAIRNESS, color="0.7", lw=0.8)
        left.set(ylabel="short-term fairness [1]", ylim=(0, 1.02))
        _against_flows(middle, sweeps, "cov")
        middle.axhline(GREATEST_COV, color="0.7", lw=0.8)
        middle.set(ylabel="coefficient of variation [1]")
        middle.set_ylim(bottom=0)
        for key, trace in traces.items():
            label, colour = CONTENDERS[key].label, CONTENDERS[key].colour
            right.plot(trace["time_s"], trace["goodput_bps"] / 1e6, color=colour, label=label)
        right.axvspan(HANDOFF_ENDS_S - 1, HANDOFF_ENDS_S, color="0.85", lw=0)
        right.set(xlabel="time [s]", ylabel="goodput [Mbit/s]", ylim=(0, 10.5))
        for axes in (left, middle, right):
            axes.legend(fontsize="x-small")

    columns = ["network", "contender", "flows", "seed", "short_term_fairness", "cov"]
    return Drawing(sweeps[columns].reset_index(drop=True), draw, size=(9.6, 3.4))


def _against_flows(axes: Axes, frame: pd.DataFrame, column: str) -> None:
    for (network, key), rows in frame.groupby(["network", "contender"], sort=False):
        style, width = WIDTHS[str(network)]
        contender = CONTENDERS[str(key)]
        mean = rows.groupby("flows")[column].mean()
        label = f"{contender.label}, {width}"
        axes.plot(mean.index, mean, style, color=contender.colour, label=label)
    axes.set_xlabel("number of flows [1]")


def extreme(name: str, column: str, pick: Callable[[list[float]], float], lab: Lab) -> list[float]:
    """The worst value of a column over all numbers of flows, one a seed."""
    frame = sweep(lab, name)
    rows = frame[frame["contender"] == "drain"]
    return [pick(list(of_seed[column])) for _, of_seed in rows.groupby("seed")]


def lead(lab: Lab) -> list[float]:
    """Short-term fairness less that of γ to the knee, mean over the numbers of flows."""
    frame = sweep(lab, "variant")
    table = frame.pivot_table(
        index=["seed", "flows"], columns="contender", values="short_term_fairness"
    )  # fmt: skip
    gap = table["drain"] - table["gamma"]
    return [float(np.mean(of_seed)) for _, of_seed in gap.groupby("seed")]


MEASURES: dict[str, Callable[[Lab], list[float]]] = {
    "gamma:variant-fairness": partial(extreme, "variant", "short_term_fairness", min),
    "gamma:variant-cov": partial(extreme, "variant", "cov", max),
    "gamma:variant-recovery": partial(recoveries, contender="drain"),
    "gamma:variant-lead": lead,
    "gamma:variant-crowded": partial(extreme, "variant-10", "short_term_fairness", min),
}
