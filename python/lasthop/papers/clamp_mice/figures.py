# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``clamp-mice``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...lab import Drawing, Lab, PlusMinus
from ...plot import COLOURS, legend_below
from ..clamp_report.figures import against as against
from ..clamp_report.figures import each_flow as each_flow
from .measures import AVERAGES, gain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAWS = {"mice-clamp": ("CLAMP", COLOURS[0]), "mice-tcp": ("TCP", COLOURS[1])}
SENDERS = {
    "stand-in": "Reno, no losses",
    "veno": "Veno, 10⁻³ lost",
    "veno-near": "Veno, 10⁻³ lost",
    "reno": "Reno, 10⁻³ lost",
}
SHARES = (0.9, 0.95, 0.98)
"""Of the elephant's most: where the table compares."""


def elephant_and_mice(lab: Lab, senders: list[str], rtt: str) -> Drawing:
    """The mice's throughput against the elephant's, in three ways to average mice (Fig. 2)."""
    columns = {average: f"mouse-{rtt}_{average}_bps" for average in AVERAGES}
    data = pd.concat(
        [lab.frame(name, sender=sender).assign(law=law)
         for name, (law, _) in LAWS.items() for sender in senders]
    )[["law", "sender", "parameter_bytes", "seed", "elephant_bps", *columns.values()]]  # fmt: skip

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(AVERAGES), sharey=True)
        for axes, (average, (label, _)) in zip(panels, AVERAGES.items(), strict=True):
            for law, colour in LAWS.values():
                for sender, style in zip(senders, (".-", ".--"), strict=False):
                    rows = data[(data["law"] == law) & (data["sender"] == sender)]
                    mean = rows.groupby("parameter_bytes").mean(numeric_only=True)
                    axes.plot(mean["elephant_bps"] / 1e3, mean[columns[average]] / 1e3, style,
                              color=colour, label=f"{law}; {SENDERS[sender]}")  # fmt: skip
            axes.set(title=label, xlabel="elephant [kbit/s]", ylabel=f"mice of {rtt} ms [kbit/s]")
            axes.set_xlim(left=0)
        # The panels share their scale: it is held when the last has its curves.
        panels[0].set_ylim(bottom=0)
        legend_below(figure)

    return Drawing(data, draw, (8.6, 3.6), _gains(lab, senders, rtt))


def _gains(lab: Lab, senders: list[str], rtt: str) -> list[list[str]]:
    """What the mice gain by CLAMP, by the way that they are averaged."""
    rows = [["mice gain by", "senders", *(f"elephant at {share:.0%}" for share in SHARES)]]
    for average, (label, _) in AVERAGES.items():
        for sender in senders:
            cells = [PlusMinus.of(gain(lab, sender, rtt, average, share)) for share in SHARES]
            rows.append([label, SENDERS[sender], *(f"× {cell.text(2)}" for cell in cells)])
    return rows


def alone(lab: Lab) -> Drawing:
    """The time for 1 MB of flow 1 alone, beside that of the four."""
    sweeps = {
        "clamp": ("CLAMP, four flows", COLOURS[0], "-"),
        "tcp": ("TCP Reno, four flows", COLOURS[1], "-"),
        "alone-clamp": ("CLAMP, flow 1 alone", COLOURS[0], "--"),
        "alone-tcp": ("TCP Reno, flow 1 alone", COLOURS[1], "--"),
    }
    frames = [
        (lab.frame(name, loss=0.001) if name in ("clamp", "tcp") else lab.frame(name)).assign(
            curve=text
        )
        for name, (text, *_) in sweeps.items()
    ]
    columns = ["curve", "parameter_bytes", "seed", "queue_bytes", "delay_s", "download_s"]
    data = pd.concat(frames)[columns]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for text, colour, style in sweeps.values():
            rows = data[data["curve"] == text]
            mean = rows.groupby("parameter_bytes").mean(numeric_only=True).sort_values("delay_s")
            axes.plot(mean["delay_s"] * 1e3, mean["download_s"], style, marker=".",
                      color=colour, label=text)  # fmt: skip
        axes.set(xlabel="mean queueing delay [ms]", ylabel="mean time to download 1 MB [s]")
        axes.set(xlim=(0, None), ylim=(0, 250))
        legend_below(figure)

    return Drawing(data, draw)
