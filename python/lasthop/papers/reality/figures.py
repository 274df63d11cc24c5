# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``reality``: what was simulated beside what the kernel did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...lab import Drawing, Lab, PlusMinus
from ...plot import COLOURS
from .runs import SIMULATED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {
    "reno": "Reno", "cubic": "CUBIC", "bbr": "BBR", "gamma": "γ", "boost": "γ, δ", "drain": "drain",
    "qfcp": "QFCP", "xcp": "XCP",
}  # fmt: skip
WORLDS = {"simulated": "simulated", "kernel": "Linux kernel"}
PAINT = dict(zip(WORLDS, COLOURS, strict=False))


def place(lab: Lab, name: str) -> Drawing:
    """Goodput, queueing delay, shares and recovery at one place, simulated and by the kernel."""
    data = lab.frame("matrix", place=name).dropna(axis="columns", how="all")
    shares = [column for column in data.columns if column.startswith("share_")]
    panels = 3 + (len(shares) > 1) + ("recovery_s" in data)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(1, panels, squeeze=False)[0]
        _bars(grid[0], data, "goodput_bps", 1e6)
        grid[0].set(title="goodput", ylabel="TCP payload [Mbit/s]")
        _bars(grid[1], data, "mean_delay_s", 1e-3)
        grid[1].set(title="queueing delay, mean", ylabel="time in the queue [ms]")
        _bars(grid[2], data, "p95_delay_s", 1e-3)
        grid[2].set(title="queueing delay, 95th percentile", ylabel="time in the queue [ms]")
        if len(shares) > 1:
            _shares(grid[3], data, shares)
        if "recovery_s" in data:
            _bars(grid[-1], data, "recovery_s", 1)
            grid[-1].set(title="time to come back", ylabel="time to recover [s]")
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)

    return Drawing(data, draw, (3.1 * panels, 3.7), _table(data, shares))


def _groups(data: pd.DataFrame) -> list[tuple[int, str, str, pd.DataFrame]]:
    """Position of the control, control, world, rows."""
    found = []
    for i, control in enumerate(name for name in NAMES if name in set(data["control"])):
        for world in WORLDS:
            rows = data[(data["control"] == control) & (data["world"] == world)]
            if len(rows):
                found.append((i, control, world, rows))
    return found


def _bars(axes: Axes, data: pd.DataFrame, column: str, unit: float) -> None:
    told = set()
    for i, _, world, rows in _groups(data):
        mean, half = PlusMinus.of(list(rows[column] / unit))
        at = i + (-0.2 if world == "simulated" else 0.2)
        label = None if world in told else WORLDS[world]
        told.add(world)
        error = np.nan_to_num(half) or None
        axes.bar(at, mean, 0.36, yerr=error, capsize=3, color=PAINT[world], label=label)
    _name(axes, data)


def _shares(axes: Axes, data: pd.DataFrame, shares: Sequence[str]) -> None:
    for i, _, world, rows in _groups(data):
        foot = 0.0
        at = i + (-0.2 if world == "simulated" else 0.2)
        for n, share in enumerate(shares):
            mean = float(rows[share].mean())
            shade = 1 - 0.75 * n / len(shares)
            axes.bar(at, mean, 0.36, bottom=foot, color=PAINT[world], alpha=shade)
            axes.text(at, foot + mean / 2, str(n + 1), ha="center", va="center", fontsize="small")
            foot += mean
    axes.set(title="shares of the flows", ylabel="share of the goodput", ylim=(0, 1))
    _name(axes, data)


def _name(axes: Axes, data: pd.DataFrame) -> None:
    names = [name for control, name in NAMES.items() if control in set(data["control"])]
    axes.set_xticks(np.arange(len(names)), names)


def _table(data: pd.DataFrame, shares: Sequence[str]) -> list[list[str]]:
    head = ["", "", "goodput [Mbit/s]", "delay [ms]", "95 % [ms]", "resent", "time-outs"]
    columns: list[tuple[str, float, int]] = [
        ("goodput_bps", 1e6, 3),
        ("mean_delay_s", 1e-3, 1),
        ("p95_delay_s", 1e-3, 1),
        ("retransmits", 1, 0),
        ("timeouts", 1, 1),
    ]
    if len(shares) > 1:
        head += [f"share {i + 1}" for i in range(len(shares))]
        columns += [(share, 1, 3) for share in shares]
    if "recovery_s" in data:
        head.append("to recover [s]")
        columns.append(("recovery_s", 1, 2))
    lines = [head]
    for _, control, world, rows in _groups(data):
        cells = []
        for column, unit, digits in columns:
            cells.append(PlusMinus.of(list(rows[column] / unit)).text(digits))
        lines.append([NAMES[control], WORLDS[world], *cells])
    return lines


def draw_windows(lab: Lab) -> Drawing:
    """The congestion window against time, simulated and by the kernel, over each other."""
    data = lab.frame("windows")

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(SIMULATED), 1, sharex=True)
        for axes, control in zip(grid, SIMULATED, strict=True):
            for world, style in (("simulated", "-"), ("kernel", "--")):
                rows = data[(data["control"] == control) & (data["world"] == world)]
                axes.plot(
                    rows["time_s"], rows["cwnd_bytes"] / 1e3, style,
                    color=PAINT[world], label=WORLDS[world], lw=1.3,
                )  # fmt: skip
            axes.set(title=NAMES[control], ylabel="congestion window [kB]")
            axes.set_ylim(bottom=0)
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
        grid[-1].set_xlabel("time [s]")

    return Drawing(data, draw, (8.0, 5.2))
