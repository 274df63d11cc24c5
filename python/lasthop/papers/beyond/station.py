# SPDX-License-Identifier: MIT OR Apache-2.0
"""The station window beside the share window and FQ-CoDel: figures and what is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import pandas as pd

from ...lab import Drawing, Lab, Run
from ...plot import COLOURS, legend_below
from .figures import FIGURES, HEAD, cells
from .measures import POINT, TRACES, by_seed, frame, p95_at

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = {
    "share": ("share window", COLOURS[0]),
    "own-clock": ("station window without its clock", COLOURS[1]),
    "clock": ("share window with the station's clock", COLOURS[3]),
    "residual": ("and the residual", COLOURS[4]),
    "demand": ("and demand", COLOURS[5]),
    "balance": ("and balance: the station window", "black"),
}
"""The share window, and the station window as far as it is built."""
MIXED = ("2mix", "4mix", "10mix")
CASES = {
    "usual": "nothing",
    "loss-0_1": "0.1 % of data lost",
    "loss-1": "1 % of data lost",
    "delayed": "delayed acknowledgements",
    "uplink-1000": "uplink of 1 Mbit/s",
    "uplink-250": "uplink of 250 kbit/s",
    "uplink-drops": "uplink of 250 kbit/s, 10 packets",
}
LAWS = {
    "station": ("station window", "black", "o"),
    "coarse": ("station window, stamps of 4 bytes", COLOURS[3], "s"),
    "hidden": ("station window, queue hidden", COLOURS[4], "v"),
    "share": ("share window", COLOURS[0], "o"),
    "fq-codel": ("FQ-CoDel", COLOURS[2], "^"),
}


HIDDEN: dict[str, tuple[str | None, str, str, str]] = {
    "hidden": ("station", "station window, queue hidden", "black", ".-"),
    "hidden-share": ("share", "share window, queue hidden", COLOURS[0], ".-"),
    "seen": (None, "station window, queue seen", COLOURS[4], ".--"),
}
"""Where the queue is hidden: the proxy's law, what it is called, its colour and line."""


def curve(lab: Lab, step: str, *, recorded: bool = False) -> pd.DataFrame:
    """The runs of a step, or of another law, by trace, flow set and target."""
    if step == "share":
        return frame(lab, "share", recorded=recorded)
    if step in HIDDEN:
        law = HIDDEN[step][0]
        found = frame(lab, "station-hidden" if law else "station", recorded=recorded)
        return found[found["law"] == law] if law else found
    found = frame(lab, "station-steps", recorded=recorded)
    return found[found["step"] == step]


def fq_codel(lab: Lab, flows: Sequence[str], *, recorded: bool = False) -> pd.DataFrame:
    """FQ-CoDel's runs with some flow sets."""
    others = frame(lab, "others", recorded=recorded)
    return others[(others["law"] == "fq-codel") & others["flows"].isin(list(flows))]


def at_fq_codel(
    lab: Lab,
    flows: Sequence[str],
    step: str | None = None,
    over: str | None = None,
    pick: str = "mean",
    *,
    recorded: bool = False,
) -> list[float]:
    """The station window's p95 at FQ-CoDel's utilisation, over FQ-CoDel's or another step's.

    Geometric mean, or the greatest, by seed, of the traces and flow sets where the utilisation lies
    between those of the targets.
    """
    whole = curve(lab, step or "seen", recorded=recorded)
    beside = None if over is None else curve(lab, over, recorded=recorded)
    found = []
    for _, row in fq_codel(lab, flows, recorded=recorded).iterrows():
        used = row["utilisation"]
        reference = row["p95_delay_s"] if beside is None else p95_at(beside, row, used)
        found.append((int(row["seed"]), p95_at(whole, row, used) / reference))
    if pick == "mean":
        return by_seed(lab, found)
    known = [(seed, ratio) for seed, ratio in found if not math.isnan(ratio)]
    return [max((r for s, r in known if s == seed), default=math.nan) for seed in lab.seeds]


def jain_at_fq_codel(lab: Lab, flows: Sequence[str], step: str = "balance") -> list[float]:
    """Jain's index of a step at the target of the utilisation next to FQ-CoDel's: mean by seed."""
    whole = curve(lab, step)
    found: dict[int, list[float]] = {seed: [] for seed in lab.seeds}
    for _, row in fq_codel(lab, flows).iterrows():
        same = whole[(whole[POINT] == row[POINT]).all(axis=1)]
        nearest = (same["utilisation"] - row["utilisation"]).abs().idxmin()
        found[int(row["seed"])].append(float(same.loc[nearest, "fairness"]))
    return [sum(values) / len(values) for values in found.values()]


def over_share(
    lab: Lab, flows: Sequence[str], step: str = "seen", over: str = "share"
) -> list[float]:
    """The station window's p95 over the share window's at equal utilisation: geometric mean.

    Or another step's over another one's.
    """
    station = curve(lab, step)
    station = station[station["flows"].isin(list(flows))]
    curves = curve(lab, over)
    return by_seed(lab, [
        (int(row["seed"]), row["p95_delay_s"] / p95_at(curves, row, row["utilisation"]))
        for _, row in station.iterrows()
    ])  # fmt: skip


def steps(lab: Lab) -> Drawing:
    """Utilisation against delay, step by step."""
    named = {step: (*named, ".-") for step, named in STEPS.items()}
    named["residual"] = (*STEPS["residual"], "o-")
    return planes(lab, named, MIXED, (9.0, 6.2))


def hidden(lab: Lab) -> Drawing:
    """Utilisation against delay, where a proxy knows the queue from acknowledgements alone."""
    named = {step: (label, colour, line) for step, (_, label, colour, line) in HIDDEN.items()}
    return planes(lab, named, list(curve(lab, "hidden")["flows"].unique()), (14.0, 6.2))


def planes(
    lab: Lab,
    named: Mapping[str, tuple[str, str, str]],
    sets: Sequence[str],
    size: tuple[float, float],
) -> Drawing:
    """Utilisation against delay by trace and flow set: steps by label, colour and line."""
    curves = {step: curve(lab, step) for step in named}
    reference = fq_codel(lab, sets)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(TRACES), len(sets), squeeze=False)
        for line, (trace, title) in zip(grid, TRACES.items(), strict=True):
            for axes, flows in zip(line, sets, strict=True):
                for step, data in curves.items():
                    here = data[(data["trace"] == trace) & (data["flows"] == flows)]
                    means = here.groupby("target")[["p95_delay_s", "utilisation"]].mean()
                    label, colour, drawn = named[step]
                    hollow = {"mfc": "none", "ms": 7} if drawn.startswith("o") else {}
                    axes.plot(means["p95_delay_s"] * 1e3, means["utilisation"], drawn,
                              color=colour, label=label, **hollow)  # fmt: skip
                there = reference[(reference["trace"] == trace) & (reference["flows"] == flows)]
                axes.plot(there["p95_delay_s"].mean() * 1e3, there["utilisation"].mean(), "^",
                          ls="none", color=COLOURS[2], label="FQ-CoDel")  # fmt: skip
                axes.set(title=f"{title}: {flows}", xlim=(0, None))
            line[0].set_ylabel("utilisation")
        for axes in grid[-1]:
            axes.set_xlabel("delay, 95th percentile [ms]")
        legend_below(figure)

    rows = [["law", "trace", "flows", *HEAD]]
    for step, data in curves.items():
        for (target, trace, flows), here in data.groupby(["target", "trace", "flows"], sort=False):
            if flows in sets:
                name = f"{named[step][0]}, T = {target} ms"
                rows.append([name, TRACES[str(trace)], str(flows), *cells(here, FIGURES)])
    for (trace, flows), here in reference.groupby(["trace", "flows"], sort=False):
        rows.append(["FQ-CoDel", TRACES[str(trace)], str(flows), *cells(here, FIGURES)])
    data = pd.concat([data.assign(step=step) for step, data in curves.items()])
    return Drawing(data, draw, size, rows)


def cases(lab: Lab) -> Drawing:
    """What a trace alone does not show."""
    data = lab.frame("station-cases")

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(TRACES), len(CASES), squeeze=False, sharex="row", sharey="row")
        for line, (trace, title) in zip(grid, TRACES.items(), strict=True):
            for axes, (case, name) in zip(line, CASES.items(), strict=True):
                here = data[(data["trace"] == trace) & (data["case"] == case)]
                for law, (label, colour, marker) in LAWS.items():
                    means = here[here["law"] == law][["p95_delay_s", "goodput_bps"]].mean()
                    axes.plot(means["p95_delay_s"] * 1e3, means["goodput_bps"] / 1e6, marker,
                              ls="none", color=colour, label=label)  # fmt: skip
                axes.set_title(name, fontsize="small")
            line[0].set_ylabel(f"{title}\ngoodput [Mbit/s]")
        for axes in grid[-1]:
            axes.set_xlabel("delay, 95 % [ms]")
        legend_below(figure)

    rows = [["case", "law", "trace", *HEAD, "Mbit/s"]]
    for (case, law, trace), here in data.groupby(["case", "law", "trace"], sort=False):
        goodput = f"{here['goodput_bps'].mean() / 1e6:.2f}"
        names = [CASES[str(case)], LAWS[str(law)][0], TRACES[str(trace)]]
        rows.append([*names, *cells(here, FIGURES), goodput])
    return Drawing(data, draw, (14.0, 5.6), rows)


TIMES = {
    "settled_s": "10 to 2 Mbit/s: queue settled after [s]",
    "refilled_s": "2 to 20 Mbit/s: line full after [s]",
}


def stepped(lab: Lab) -> Drawing:
    """What a line that steps does to the flow sets."""
    data = lab.frame("station-stepped")
    sets = list(data["flows"].unique())

    def draw(figure: Figure) -> None:
        for axes, (column, label) in zip(figure.subplots(1, 2), TIMES.items(), strict=True):
            for law in data["law"].unique():
                name, colour, marker = LAWS[law]
                means = data[data["law"] == law].groupby("flows")[column].mean()
                axes.plot(sets, [means[flows] for flows in sets], marker, ls="none",
                          color=colour, label=name)  # fmt: skip
            axes.set(ylabel=label, ylim=(0, None))
        legend_below(figure)

    rows = [["law", "flows", *HEAD, "settled s", "full s"]]
    for (law, flows), here in data.groupby(["law", "flows"], sort=False):
        times = [f"{here[column].mean():.2f}" for column in TIMES]
        rows.append([LAWS[str(law)][0], str(flows), *cells(here, FIGURES), *times])
    return Drawing(data, draw, (8.2, 3.8), rows)


def mice_s(run: Run) -> float:
    """The mean time of the short downloads; one that is not through counts with the whole run."""
    left_s = run.summary["duration_s"]
    return fmean(
        left_s if flow["finish_s"] is None else flow["finish_s"]
        for flow in run.summary["flows"]
        if flow["name"].startswith("mouse-")
    )


def mice(lab: Lab) -> Drawing:
    """Short downloads beside a bulk one."""
    data = lab.frame("station-mice")

    def draw(figure: Figure) -> None:
        for axes, (trace, title) in zip(
            figure.subplots(1, len(TRACES)), TRACES.items(), strict=True
        ):
            here = data[data["trace"] == trace]
            for law in here["law"].unique():
                label, colour, marker = LAWS[str(law)]
                means = here[here["law"] == law][["p95_delay_s", "mice_s"]].mean()
                axes.plot(means["p95_delay_s"] * 1e3, means["mice_s"], marker, ls="none",
                          color=colour, label=label, clip_on=False)  # fmt: skip
            axes.set(title=title, xlabel="delay, 95 % [ms]", ylabel="mean time for 100 kB [s]")
            axes.set(xlim=(0, None), ylim=(0, None))
        legend_below(figure)

    rows = [["law", "trace", "s", "ms", "Mbit/s"]]
    for (law, trace), here in data.groupby(["law", "trace"], sort=False):
        means = here[["mice_s", "p95_delay_s", "bulk_bps"]].mean() * (1, 1e3, 1e-6)
        shown = f"{means['mice_s']:.2f}", f"{means['p95_delay_s']:.0f}", f"{means['bulk_bps']:.2f}"
        rows.append([LAWS[str(law)][0], TRACES[str(trace)], *shown])
    return Drawing(data, draw, (8.0, 4.0), rows)


LINES = {"steady": "24 Mbit/s", "driving": "LTE, driving"}


def weights(lab: Lab) -> Drawing:
    """Rates over that of weight 1, by weight."""
    data = lab.frame("station-weights")
    given = {1: "one_bps", 2: "two_bps", 4: "four_bps"}

    def ratios(here: pd.DataFrame) -> list[float]:
        return [float((here[column] / here["one_bps"]).mean()) for column in given.values()]

    def draw(figure: Figure) -> None:
        for axes, (line, title) in zip(figure.subplots(1, len(LINES)), LINES.items(), strict=True):
            for law in data["law"].unique():
                label, colour, marker = LAWS[str(law)]
                here = data[(data["line"] == line) & (data["law"] == law)]
                axes.plot(list(given), ratios(here), marker + "-", color=colour, label=label)
            axes.plot(list(given), list(given), "--", color="0.6", lw=0.9)
            axes.set(title=title, xlabel="weight", ylabel="rate over that of weight 1")
        legend_below(figure)

    rows = [["law", "line", "weight 2", "weight 4"]]
    for (law, line), here in data.groupby(["law", "line"], sort=False):
        shown = [f"{ratio:.2f}" for ratio in ratios(here)[1:]]
        rows.append([LAWS[str(law)][0], LINES[str(line)], *shown])
    return Drawing(data, draw, (8.0, 4.0), rows)
