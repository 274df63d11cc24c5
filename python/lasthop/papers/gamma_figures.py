# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of the paper ``gamma``, drawn in its manner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .. import _lasthop
from ..paper import Drawing
from ..plot import COLOURS
from . import gamma_variant
from .gamma_runs import (
    CONTENDERS,
    FAMILIES,
    HANDOFF_ENDS_S,
    HANDOFF_TRACE,
    LOSS_RATES,
    PROTOCOLS,
    RECOVERING,
    RENO,
    handoffs,
    mean_curve,
    newreno,
    recovery,
    seconds,
    sweep,
    throughput,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..paper import Lab

AXES = {
    "flows": ("number of flows [1]", 1.0),
    "loss": ("packet error rate [1]", 1.0),
    "longest_ms": ("longest round-trip time [ms]", 1.0),
}
"""Labels and scales of what is swept."""

GOODPUT = ("goodput_bps", "system goodput [Mbit/s]", 1e-6)
OVERHEAD = ("overhead", "overhead [%]", 100.0)
FAIRNESS = ("fairness", "fairness index [1]", 1.0)


def curves(name: str, measure: tuple[str, str, float], bottom: float | None, lab: Lab) -> Drawing:
    """A measure along a sweep, one line a contender, with the spread of the seeds."""
    column, label, factor = measure
    family = FAMILIES[name]
    text, scale = AXES[family.axis]
    data = sweep(lab, name)[["contender", family.axis, "seed", column]]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for key in family.contenders:
            contender = CONTENDERS[key]
            grouped = data[data["contender"] == key].groupby(family.axis)[column]
            mean = grouped.mean()
            x = mean.index.to_numpy() * scale
            axes.plot(x, mean * factor, ".-", color=contender.colour, label=contender.label)
            low, high = grouped.min() * factor, grouped.max() * factor
            axes.fill_between(x, low, high, color=contender.colour, alpha=0.15, lw=0)
        axes.set(xlabel=text, ylabel=label)
        axes.set_ylim(bottom=bottom)
        axes.legend()

    return Drawing(data, draw)


def over_time(
    scenario: str, column: str, label: str, factor: float, changes: tuple[float, ...], lab: Lab
) -> Drawing:
    """The system second by second, mean of the seeds, as flows come or go (Figs. 7 and 8)."""
    tables = {key: pd.concat(seconds(lab, scenario, (), key)) for key in PROTOCOLS}
    data = pd.concat(
        [table.assign(contender=key) for key, table in tables.items()], ignore_index=True
    )[["contender", "time_s", column]]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for key in PROTOCOLS:
            mean = data[data["contender"] == key].groupby("time_s")[column].mean() * factor
            contender = CONTENDERS[key]
            axes.plot(mean.index + 0.5, mean, ".-", color=contender.colour, label=contender.label)
        for change in changes:
            axes.axvline(change, color="0.7", lw=0.8, ls=":")
        axes.set(xlabel="time [s]", ylabel=label)
        axes.legend()

    return Drawing(data, draw)


def handoff_trace(mean_s: float, lab: Lab) -> Drawing:
    """Goodput of one flow through its handoffs, of the first seed (Figs. 13 and 14)."""
    tables = {
        key: seconds(lab, "gamma-handoff", (*handoffs(mean_s), *HANDOFF_TRACE), key)[0]
        for key in PROTOCOLS
    }
    data = _beside(tables)

    def draw(figure: Figure) -> None:
        panels: list[Axes] = list(figure.subplots(4, 1, sharex=True, sharey=True))
        for axes, key in zip(panels, PROTOCOLS, strict=True):
            contender = CONTENDERS[key]
            label = contender.label
            axes.plot(data["time_s"] + 0.5, data[key] / 1e6, color=contender.colour, label=label)
            axes.set(ylabel="[Mbit/s]", ylim=(0, 14))
            axes.legend(loc="upper right")
        panels[0].set_title(f"goodput, handoffs of {mean_s:g} s in the mean")
        panels[-1].set_xlabel("time [s]")

    return Drawing(data, draw, size=(6.4, 6.0))


def figure_20(lab: Lab) -> Drawing:
    """Goodput around a handoff of 1 s."""
    data = _beside({key: recovery(lab, key)[0] for key in RECOVERING})

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for key in RECOVERING:
            contender = CONTENDERS[key]
            axes.plot(
                data["time_s"], data[key] / 1e6, color=contender.colour, label=contender.label
            )
        axes.axvspan(HANDOFF_ENDS_S - 1, HANDOFF_ENDS_S, color="0.85", lw=0)
        axes.set(xlabel="time [s]", ylabel="goodput [Mbit/s]", ylim=(0, 10.5))
        axes.legend(loc="lower right")

    return Drawing(data, draw, size=(6.4, 3.6))


def _beside(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Goodputs over time, a column a contender."""
    times = next(iter(tables.values()))["time_s"]
    columns = {key: table["goodput_bps"].to_numpy() for key, table in tables.items()}
    return pd.DataFrame({"time_s": times.to_numpy(), **columns})


def equation_1(lab: Lab) -> Drawing:
    """The throughput equation: its surface, and what four protocols make of it."""
    losses, rtts_s = np.logspace(-4, -1, 31), np.linspace(0.02, 0.3, 29)
    surface = pd.DataFrame(
        [
            {"alpha": 1.0, "beta": 0.5, "loss": p, "rtt_s": rtt_s,
             "packets_per_s": throughput(1.0, 0.5, p, rtt_s)}
            for rtt_s in rtts_s for p in losses
        ]
    )  # fmt: skip
    pairs = {key: _alpha_beta(key) for key in PROTOCOLS}
    lines = pd.DataFrame(
        [
            {"alpha": alpha, "beta": beta, "loss": p, "rtt_s": 0.1,
             "packets_per_s": throughput(alpha, beta, p, 0.1)}
            for alpha, beta in pairs.values() for p in losses
        ]
    )  # fmt: skip
    alone = newreno(lab)
    measured = alone[np.isclose(alone["rtt_s"], 0.1)].groupby("loss")["packets_per_s"].mean()

    def draw(figure: Figure) -> None:
        left = figure.add_subplot(1, 2, 1, projection="3d")
        x, y = np.meshgrid(np.log10(losses), rtts_s * 1e3)
        z = np.log10(surface["packets_per_s"].to_numpy().reshape(x.shape))
        left.plot_surface(x, y, z, cmap="viridis", lw=0, rstride=1, cstride=1)
        left.set(xlabel="log₁₀ p", ylabel="RTT [ms]", zlabel="log₁₀ T [packets/s]")
        left.set_title("TCP(1, 0.5)")
        left.view_init(elev=25, azim=50)
        right = figure.add_subplot(1, 2, 2)
        for key, (alpha, beta) in pairs.items():
            rows = lines[(lines["alpha"] == alpha) & (lines["beta"] == beta)]
            contender = CONTENDERS[key]
            right.loglog(
                rows["loss"], rows["packets_per_s"], color=contender.colour, label=contender.label
            )
        right.loglog(
            list(LOSS_RATES), measured[list(LOSS_RATES)], "o", mfc="none", color="k",
            label="NewReno, simulated",
        )  # fmt: skip
        right.set(xlabel="loss rate p [1]", ylabel="T at 100 ms [packets/s]")
        right.legend()

    return Drawing(pd.concat([surface, lines], ignore_index=True), draw, size=(8.4, 3.8))


def _alpha_beta(contender: str) -> tuple[float, float]:
    (_, alpha), (_, beta) = CONTENDERS[contender].overrides
    return float(alpha), float(beta)


def knee(lab: Lab) -> Drawing:
    """Throughput and queueing delay by the sum of the windows, and the efficient β."""
    rate, rtt_s, buffer = 10e6 / 8320, 0.1, 120.0
    totals = np.linspace(5, 290, 58)
    states = [_lasthop.dumbbell_state(rate, rtt_s, buffer, float(total)) for total in totals]
    analysis = pd.DataFrame(states, columns=["packets_per_s", "queueing_delay_s"])
    analysis.insert(0, "window_packets", totals)
    at_knee, at_cliff, _ = _lasthop.knee_cliff_beta(rate, rtt_s, buffer)
    measured = mean_curve(lab, "windows", RENO)
    ratios = np.linspace(0, 3, 31)
    betas = [_lasthop.knee_cliff_beta(rate, rtt_s, k * rate * rtt_s)[2] for k in ratios]

    def draw(figure: Figure) -> None:
        left, middle, right = figure.subplots(1, 3)
        window = measured["window_packets"]
        goodput = analysis["packets_per_s"] * 8e-3
        left.plot(totals, goodput, color=COLOURS[0], label="analysis (7, 11)")
        left.plot(window, measured["goodput_bps"] / 1e6, "ko", mfc="none", label="simulated")
        left.set(ylabel="goodput [Mbit/s]", ylim=(0, 11))
        delay = analysis["queueing_delay_s"] * 1e3
        middle.plot(totals, delay, color=COLOURS[0], label="analysis (10)")
        simulated = measured["queueing_delay_s"] * 1e3
        middle.plot(window, simulated, "ko", mfc="none", label="simulated")
        middle.set(ylabel="queueing delay [ms]", ylim=(0, None))
        for axes in (left, middle):
            for text, at_window in (("knee", at_knee), ("cliff", at_cliff)):
                axes.axvline(at_window, color="0.6", lw=0.8, ls="--")
                axes.annotate(
                    text, (at_window, 0.02), xycoords=("data", "axes fraction"),
                    xytext=(2, 0), textcoords="offset points",
                )  # fmt: skip
            axes.set_xlabel("sum of the windows [packets]")
        right.plot(ratios, betas, color=COLOURS[0], label="β = 1/(1 + k) (13)")
        for key in PROTOCOLS:
            contender = CONTENDERS[key]
            right.axhline(
                _alpha_beta(key)[1], color=contender.colour, lw=0.8, ls=":", label=contender.label
            )
        right.set(xlabel="buffer over bandwidth × delay, k [1]", ylabel="efficient β [1]")
        right.set_ylim(0, 1.02)
        for axes in (left, middle, right):
            axes.legend(fontsize="x-small")

    return Drawing(analysis, draw, size=(9.6, 3.4))


FIGURES: dict[str, Callable[[Lab], Drawing]] = {
    "eq1": equation_1,
    "knee": knee,
    "2": partial(curves, "wired-10", GOODPUT, None),
    "3": partial(curves, "wired-100", GOODPUT, None),
    "4": partial(curves, "wired-10", OVERHEAD, 0.0),
    "5": partial(curves, "wired-100", OVERHEAD, 0.0),
    "6": partial(curves, "readers", ("success", "90 % application success [%]", 100.0), 0.0),
    "7": partial(
        over_time, "gamma-joins", "fairness", "allotted fairness [1]", 1.0, (15.0, 20.0, 25.0)
    ),
    "8": partial(
        over_time, "gamma-leaves", "goodput_bps", "allotted system goodput [Mbit/s]", 1e-6,
        (15.0, 20.0, 25.0),
    ),
    "9": partial(curves, "lossy-10", GOODPUT, 0.0),
    "10": partial(curves, "lossy-100", GOODPUT, 0.0),
    "11": partial(curves, "lossy-10", OVERHEAD, 0.0),
    "12": partial(curves, "lossy-100-slow", OVERHEAD, 0.0),
    "13": partial(handoff_trace, 0.5),
    "14": partial(handoff_trace, 1.0),
    "15": partial(
        curves, "lossy-readers", ("success", "70 % application success [%]", 100.0), 0.0
    ),
    "16": partial(curves, "diverse", FAIRNESS, 0.0),
    "17": partial(curves, "diverse-red", FAIRNESS, 0.0),
    "18": partial(
        curves, "proposals", ("short_term_fairness", "short-term fairness [1]", 1.0), 0.0
    ),
    "19": partial(curves, "proposals", ("cov", "coefficient of variation [1]", 1.0), 0.0),
    "20": figure_20,
    "variant": gamma_variant.figure,
}  # fmt: skip
