# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``beyond``: a colour a law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import _lasthop
from ...lab import Drawing, Lab, PlusMinus
from ...plot import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAWS = {
    "share": ("share window", COLOURS[0]),
    "fair": ("share window, fair setting", COLOURS[3]),
    "clamp": ("CLAMP", COLOURS[1]),
    "fq-codel": ("FQ-CoDel", COLOURS[2]),
}
TARGET_S, G, KAPPA = 0.025, 0.9, 0.5
"""The share window's defaults."""
DELAY_S = 0.12
"""The mean round trip of the flows on the line of constant rate, with the access point's delay."""


def steady(lab: Lab) -> Drawing:
    """Queue and utilisation against the number of flows."""
    data = lab.frame("steady")
    data = data.assign(flows=data["flows"].astype(int))
    rest_s = _lasthop.share_wait(TARGET_S, G, KAPPA, DELAY_S)

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for law, (label, colour) in LAWS.items():
            rows = data[data["law"] == law].groupby("flows")
            delay, used = rows["mean_delay_s"].mean() * 1e3, rows["utilisation"].mean()
            left.plot(delay.index, delay, ".-", color=colour, label=label)
            right.plot(used.index, used, ".-", color=colour)
        for wait_s, colour in ((TARGET_S, LAWS["fair"][1]), (rest_s, LAWS["share"][1])):
            left.axhline(wait_s * 1e3, color=colour, ls="--", lw=0.9)
        left.set(ylabel="mean queueing delay [ms]", ylim=(0, None), title="dashed: theory")
        right.set(ylabel="utilisation [1]", ylim=(None, 1.01))
        for axes in (left, right):
            axes.set(xscale="log", xlabel="flows")
            axes.set_xticks(
                list(np.unique(data["flows"])), [str(k) for k in np.unique(data["flows"])]
            )
            axes.minorticks_off()
        figure.legend(loc="outside lower center", ncols=4)

    return Drawing(data, draw, (8.2, 3.8), _steady_table(lab))


def _steady_table(lab: Lab) -> list[list[str]]:
    data = lab.frame("steady")
    flows = list(data["flows"].unique())
    rows = [["law", *(f"{k} {unit}" for k in flows for unit in ("ms", "util"))]]
    for law, (label, _) in LAWS.items():
        row = [label]
        for k in flows:
            here = data[(data["law"] == law) & (data["flows"] == k)]
            row += [
                PlusMinus.of([v * times for v in here[column]]).text(digits)
                for column, times, digits in (("mean_delay_s", 1e3, 1), ("utilisation", 1.0, 3))
            ]
        rows.append(row)
    return rows
