# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``gamma`` that are not curves along a sweep, drawn in its manner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ... import _lasthop
from ...lab import Drawing, Lab, shade
from ...paper import load_paper
from ...plot import COLOURS, legend_below
from .measures import HANDOFF_ENDS_S, throughput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER = load_paper("gamma")
STYLES = PAPER.styles
PROTOCOLS: dict[str, tuple[float, float]] = PAPER.document["parameters"]["protocols"]
"""α and β, from smooth to responsive."""
CHANGES_S = (15.0, 20.0, 25.0)
"""When flows come or go in Figs. 7 and 8."""


def over_time(lab: Lab, sweep: str, column: str, label: str, times: float = 1.0) -> Drawing:
    """The system second by second, mean of the seeds, as flows come or go (Figs. 7 and 8)."""
    data = pd.concat(
        [
            run.tables["system"].assign(contender=run.point["contender"])
            for run in lab.runs(sweep)
        ],
        ignore_index=True,
    )[["contender", "time_s", column]]  # fmt: skip

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for key in PROTOCOLS:
            mean = data[data["contender"] == key].groupby("time_s")[column].mean() * times
            axes.plot(mean.index + 0.5, mean, ".-", **_paint(key))
        for change in CHANGES_S:
            axes.axvline(change, color="0.7", lw=0.8, ls=":")
        axes.set(xlabel="time [s]", ylabel=label)
        legend_below(figure)

    return Drawing(data, draw)


def _paint(key: str) -> dict[str, Any]:
    return {"color": STYLES[key].colour, "label": STYLES[key].label}


def handoff_trace(lab: Lab, mean_s: float) -> Drawing:
    """Goodput of one flow through its handoffs, of the first seed (Figs. 13 and 14)."""
    data = _beside(lab, "handoff-traces", list(PROTOCOLS), handoff_s=mean_s)

    def draw(figure: Figure) -> None:
        panels: list[Axes] = list(figure.subplots(4, 1, sharex=True, sharey=True))
        for axes, key in zip(panels, PROTOCOLS, strict=True):
            axes.plot(data["time_s"] + 0.5, data[key] / 1e6, **_paint(key))
            axes.set(ylabel="[Mbit/s]", ylim=(0, 14))
            axes.legend(loc="upper right")
        panels[0].set_title(f"goodput, handoffs of {mean_s:g} s in the mean")
        panels[-1].set_xlabel("time [s]")

    return Drawing(data, draw, size=(6.4, 6.0))


def figure_20(lab: Lab) -> Drawing:
    """Goodput around a handoff of 1 s."""
    data = _beside(lab, "recovery", ["smooth", "reno", "gamma", "delta"])

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for key in data.columns[1:]:
            axes.plot(data["time_s"], data[key] / 1e6, **_paint(key))
        shade(axes, HANDOFF_ENDS_S - 1, HANDOFF_ENDS_S)
        axes.set(xlabel="time [s]", ylabel="goodput [Mbit/s]", ylim=(0, 10.5))
        legend_below(figure)

    return Drawing(data, draw, size=(6.4, 3.6))


def _beside(lab: Lab, sweep: str, contenders: Sequence[str], **where: float) -> pd.DataFrame:
    """Goodputs over time with the first seed, a column a contender."""
    tables = {c: lab.run(sweep, contender=c, **where).tables["system"] for c in contenders}
    times = tables[contenders[0]]["time_s"].to_numpy()
    columns = {key: table["goodput_bps"].to_numpy() for key, table in tables.items()}
    return pd.DataFrame({"time_s": times, **columns})


def equation_1(lab: Lab) -> Drawing:
    """The throughput equation: its surface, and what four protocols make of it."""
    losses, rtts_s = np.logspace(-4, -1, 31), np.linspace(0.02, 0.3, 29)
    surface = _theory([(1.0, 0.5, p, rtt_s) for rtt_s in rtts_s for p in losses])
    lines = _theory([(alpha, beta, p, 0.1) for alpha, beta in PROTOCOLS.values() for p in losses])
    measured = lab.frame("newreno", rtt_s=0.1).groupby("loss")["packets_per_s"].mean()

    def draw(figure: Figure) -> None:
        left = figure.add_subplot(1, 2, 1, projection="3d")
        x, y = np.meshgrid(np.log10(losses), rtts_s * 1e3)
        z = np.log10(surface["packets_per_s"].to_numpy().reshape(x.shape))
        left.plot_surface(x, y, z, cmap="viridis", lw=0, rstride=1, cstride=1)
        left.set(xlabel="log₁₀ p", ylabel="RTT [ms]", zlabel="log₁₀ T [packets/s]")
        left.set_title("TCP(1, 0.5)")
        left.view_init(elev=25, azim=50)
        left.set_box_aspect(None, zoom=0.85)
        right = figure.add_subplot(1, 2, 2)
        for key, (alpha, beta) in PROTOCOLS.items():
            rows = lines[(lines["alpha"] == alpha) & (lines["beta"] == beta)]
            right.loglog(rows["loss"], rows["packets_per_s"], **_paint(key))
        right.loglog(
            measured.index, measured, "o", mfc="none", color="k", label="NewReno, simulated"
        )
        right.set(xlabel="loss rate p", ylabel="T at 100 ms [packets/s]")
        legend_below(figure)

    return Drawing(pd.concat([surface, lines], ignore_index=True), draw, size=(8.4, 3.8))


def _theory(points: Sequence[tuple[float, float, float, float]]) -> pd.DataFrame:
    frame = pd.DataFrame(points, columns=["alpha", "beta", "loss", "rtt_s"]).astype(float)
    return frame.assign(packets_per_s=[throughput(*point) for point in points])


def knee(lab: Lab) -> Drawing:
    """Throughput and queueing delay by the sum of the windows, and the efficient β."""
    rate, rtt_s, buffer = 10e6 / 8320, 0.1, 120.0
    totals = np.linspace(5, 290, 58)
    states = [_lasthop.dumbbell_state(rate, rtt_s, buffer, float(total)) for total in totals]
    analysis = pd.DataFrame(states, columns=["packets_per_s", "queueing_delay_s"])
    analysis.insert(0, "window_packets", totals)
    at_knee, at_cliff, _ = _lasthop.knee_cliff_beta(rate, rtt_s, buffer)
    measured = lab.frame("windows").groupby("window_packets", as_index=False).mean()
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
                    text, (at_window, 1), xycoords=("data", "axes fraction"),
                    xytext=(0, 2), textcoords="offset points", ha="center",
                )  # fmt: skip
            axes.set_xlabel("sum of the windows [packets]")
        right.plot(ratios, betas, color=COLOURS[0], label="β = 1/(1 + k) (13)")
        for key, (_, beta) in PROTOCOLS.items():
            right.axhline(beta, lw=0.8, ls=":", **_paint(key))
        right.set(xlabel="buffer over bandwidth × delay, k", ylabel="efficient β")
        right.set_ylim(0, 1.02)
        legend_below(figure)

    return Drawing(analysis, draw, size=(9.6, 3.4))


LEAST_FAIRNESS, GREATEST_COV = 0.95, 0.15
"""What the variant is for."""
WIDTHS = {"variant": ("-", "1 Mbit/s a flow"), "variant-10": (":", "10 Mbit/s in all")}


def variant(lab: Lab) -> Drawing:
    """γ that drains the queue, beside γ as the paper has it: no figure of the paper's own."""
    sweeps = pd.concat([lab.frame(name).assign(network=name) for name in WIDTHS])
    traces = _beside(lab, "recovery", ["gamma", "drain"])

    def draw(figure: Figure) -> None:
        left, middle, right = figure.subplots(1, 3)
        _against_flows(left, sweeps, "short_term_fairness")
        left.axhline(LEAST_FAIRNESS, color="0.7", lw=0.8)
        left.set(ylabel="short-term fairness", ylim=(0, 1.02))
        _against_flows(middle, sweeps, "cov")
        middle.axhline(GREATEST_COV, color="0.7", lw=0.8)
        middle.set(ylabel="coefficient of variation")
        middle.set_ylim(bottom=0)
        for key in traces.columns[1:]:
            right.plot(traces["time_s"], traces[key] / 1e6, **_paint(key))
        shade(right, HANDOFF_ENDS_S - 1, HANDOFF_ENDS_S)
        right.set(xlabel="time [s]", ylabel="goodput [Mbit/s]", ylim=(0, 10.5))
        legend_below(figure)

    columns = ["network", "contender", "flows", "seed", "short_term_fairness", "cov"]
    return Drawing(sweeps[columns].reset_index(drop=True), draw, size=(9.6, 3.4))


def _against_flows(axes: Axes, frame: pd.DataFrame, column: str) -> None:
    for (network, key), rows in frame.groupby(["network", "contender"], sort=False):
        style, width = WIDTHS[str(network)]
        label, colour = STYLES[str(key)]
        mean = rows.groupby("flows")[column].mean()
        axes.plot(mean.index, mean, style, color=colour, label=f"{label}, {width}")
    axes.set_xlabel("number of flows")
