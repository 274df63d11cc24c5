# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``clamp-report``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ... import _lasthop
from ...lab import Drawing, Lab, acknowledged, over_time, rates, shade
from ...plot import COLOURS, legend_below
from .measures import LOWER_SNR, UPPER_SNR, waits_s

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOWS = {"flow-1": "134.5 ms", "flow-2": "41 ms", "flow-3": "284.3 ms", "flow-4": "2.525 ms"}
"""The flows with their propagation delays; the last two share a mobile."""
CURVES = {"clamp": ("CLAMP", COLOURS[0]), "tcp": ("TCP Reno", COLOURS[1])}


def against(
    lab: Lab, x: str, column: str, x_label: str, label: str, x_times: float = 1.0,
    times: float = 1.0, top: float | None = None,
) -> Drawing:  # fmt: skip
    """A total of all flows along CLAMP's a and TCP's buffer, at two loss rates (Figs. 4 and 5)."""
    frames = [lab.frame(name).assign(curve=text) for name, (text, _) in CURVES.items()]
    data = pd.concat(frames, ignore_index=True)[
        ["curve", "loss", "parameter_bytes", "seed", x, column]
    ]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for text, colour in CURVES.values():
            for loss, style in ((0.001, "-"), (0.01, "--")):
                rows = data[(data["curve"] == text) & (data["loss"] == loss)]
                mean = rows.groupby("parameter_bytes").mean(numeric_only=True).sort_values(x)
                axes.plot(mean[x] * x_times, mean[column] * times, style, marker=".",
                          color=colour, label=f"{text}, loss {loss:g}")  # fmt: skip
        axes.set(xlabel=x_label, ylabel=label, xlim=(0, None))
        axes.set_ylim(0, top)
        legend_below(figure)

    return Drawing(data, draw)


MEAN_WAIT_S, BIN_S, LONGEST_S = 0.085, 0.01, 0.5


def delays(lab: Lab) -> Drawing:
    """The density of flow 1's queueing delay at a mean of 85 ms (Fig. 6).

    Between two values of CLAMP's a, or of TCP's buffer, as much of either as gives that mean.
    """
    edges = np.arange(0, LONGEST_S + BIN_S / 2, BIN_S)
    data = pd.DataFrame({"delay_s": edges[:-1] + BIN_S / 2})
    for name in CURVES:
        sweep = f"delays-{name}"
        parts = [
            np.concatenate([waits_s(run) for run in lab.runs(sweep, parameter_bytes=value)])
            for value in lab.sweep(sweep).values("parameter_bytes", lab.scale)
        ]
        shorter, longer = (float(part.mean()) for part in parts)
        share = np.clip((MEAN_WAIT_S - shorter) / (longer - shorter), 0, 1)
        low, high = (np.histogram(part, edges)[0] / (len(part) * BIN_S) for part in parts)
        data[f"{name}_per_s"] = (1 - share) * low + share * high

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for name, (text, colour) in CURVES.items():
            axes.step(data["delay_s"] * 1e3, data[f"{name}_per_s"] / 1e3, where="mid",
                      color=colour, label=text)  # fmt: skip
        axes.axvline(120, color="0.6", ls="--", lw=0.9)
        axes.set(xlabel="queueing delay of flow 1 [ms]", ylabel="density [1/ms]")
        axes.set(xlim=(0, LONGEST_S * 1e3), yscale="log")
        legend_below(figure)

    return Drawing(data, draw)


WORST = {0.001: 0.44, 0.01: 0.8}
"""P_l of Table I by the loss rate for which it is chosen."""


def frame_errors(lab: Lab) -> Drawing:
    """The probability of a frame error by the SNR (Fig. 2)."""
    del lab
    snr = np.append(LOWER_SNR - 1e-6, np.linspace(LOWER_SNR, 1.25 * UPPER_SNR, 501))
    data = pd.DataFrame({"snr": snr})
    for loss, worst in WORST.items():
        errors = [_lasthop.frame_error(float(x), worst, LOWER_SNR, UPPER_SNR) for x in snr]
        data[f"loss_{loss:g}"] = errors

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for loss, colour in zip(WORST, COLOURS, strict=False):
            axes.plot(snr, data[f"loss_{loss:g}"], color=colour, label=f"for a loss of {loss:g}")
        axes.set(xlabel="SNR", ylabel="probability of a frame error")
        legend_below(figure)

    return Drawing(data, draw)


def each_flow(lab: Lab, sweep: str, loss: float) -> Drawing:
    """Goodput of each flow against the mean queueing delay (Fig. 7)."""
    data = lab.frame(sweep, loss=loss)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        mean = data.groupby("parameter_bytes").mean(numeric_only=True).sort_values("delay_s")
        for index, (flow, delay) in enumerate(FLOWS.items()):
            axes.plot(
                mean["delay_s"] * 1e3, mean[f"{flow}_bps"] / 1e3, "--" if index > 1 else "-",
                marker=".", color=COLOURS[index], label=f"flow {index + 1}: {delay}",
            )  # fmt: skip
        axes.set(xlabel="mean queueing delay [ms]", ylabel="goodput per flow [kbit/s]")
        axes.set(xlim=(0, None), ylim=(0, None))
        legend_below(figure)

    return Drawing(data, draw)


def windows(lab: Lab) -> Drawing:
    """Mean windows against the loss rate, and the square-root law (Fig. 8)."""
    data = lab.frame("losses")

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        mean = data.groupby("loss").mean()
        axes.plot(mean.index, mean["cwnd_packets"], ".-", color=COLOURS[1], label="CWND")
        axes.plot(mean.index, mean["awnd_packets"], ".-", color=COLOURS[0], label="AWND")
        law = [_lasthop.square_root_window(float(loss)) for loss in mean.index]
        axes.plot(mean.index, law, "k--", lw=0.9, label="√(3/2p)")
        axes.set(xscale="log", yscale="log", xlabel="loss rate", ylabel="mean window [packets]")
        legend_below(figure)

    return Drawing(data, draw)


def weights(lab: Lab) -> Drawing:
    """The rates over time."""
    found = rates(acknowledged(lab.run("weights").tables))
    named = found.rename(columns={"one": "φ = 1", "two": "φ = 2", "four": "φ = 4"})
    return over_time(named / 1e6, "rate [Mbit/s]")


def core(lab: Lab) -> Drawing:
    """What of each flow has been acknowledged over time (Fig. 10)."""
    so_far = acknowledged(lab.run("core").tables)[list(FLOWS)]
    plain = over_time(so_far / 1e6, "acknowledged [MB]")

    def draw(figure: Figure) -> None:
        plain.draw(figure)
        shade(figure.axes[0], 100, 300)

    return Drawing(plain.data, draw)
