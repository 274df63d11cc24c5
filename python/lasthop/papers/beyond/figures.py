# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``beyond``: a colour a law."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ... import _lasthop
from ...lab import Drawing, Lab, PlusMinus
from ...paper import load_paper
from ...plot import COLOURS, legend_below, log_x
from .measures import TARGET_MS, TRACES, frame, recordings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LAWS = {
    "share": ("share window", COLOURS[0]),
    "fair": ("share window, fair setting", COLOURS[3]),
    "clamp": ("CLAMP", COLOURS[1]),
    "fq-codel": ("FQ-CoDel", COLOURS[2]),
}
TARGET_S, G, THETA_S = _lasthop.SHARE_TARGET_S, _lasthop.SHARE_G, _lasthop.SHARE_THETA_S
"""The share window's defaults."""
DELAY_S = 0.12
"""The mean round trip of the flows on the line of constant rate, with the access point's delay."""

LINES = {
    "share": ("target", "share window, T = {} ms", *LAWS["share"]),
    "clamp": ("a", "CLAMP, a = {} kB", *LAWS["clamp"]),
    "abc": ("target", "ABC, d_t = {} ms", "ABC", COLOURS[5]),
}
"""What has a parameter to vary: its axis, a point's name, the line's name and colour."""
POINTS = {
    "fq-codel": ("FQ-CoDel", COLOURS[2], "^"),
    "codel": ("CoDel", COLOURS[4], "v"),
    "vegas": ("Vegas, drop-tail", "#8a8a8a", "s"),
}
"""What has no parameter to vary."""
SETS = ("1x40", "1x100", "4mix", "10mix")
"""The flow sets that are drawn; the table has all."""
FORMS = {
    "two": "two numbers",
    "one": "one integer",
    "fair": "fair setting",
    "turns": "turns of flows (DRR)",
    "unsmoothed": "share not smoothed",
    "kappa-0": "κ = 0",
    "rounded": "no dither",
    "in-full": "who takes less counts in full",
    "overbooked": "shares raised in rests",
    "horizon-50": "horizon of 50 ms",
}
SKIPPED = "SKIPPED: LASTHOP_TRACES names no folder with *.down files"
FIGURES = {"utilisation": 1.0, "mean_delay_s": 1e3, "p95_delay_s": 1e3, "fairness": 1.0}
HEAD = ("util", "mean ms", "95 % ms", "Jain")


def steady(lab: Lab) -> Drawing:
    """Queue and utilisation against the number of flows."""
    data = lab.frame("steady")
    data = data.assign(flows=data["flows"].astype(int))
    kappa = THETA_S / (THETA_S + DELAY_S)
    rest_s = _lasthop.share_wait(TARGET_S, G, kappa, DELAY_S)

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
        right.set(ylabel="utilisation", ylim=(None, 1.01))
        for axes in (left, right):
            axes.set(xscale="log", xlabel="flows")
            axes.set_xticks(
                list(np.unique(data["flows"])), [str(k) for k in np.unique(data["flows"])]
            )
            axes.minorticks_off()
        legend_below(figure)

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


def planes(lab: Lab) -> Drawing:
    """Utilisation against delay on our traces."""
    return _planes({name: frame(lab, name) for name in (*LINES, "others")}, TRACES)


def recorded(lab: Lab) -> Drawing:
    """Utilisation against delay on a user's recordings."""
    titles = {name: name for name in recordings()}
    if not titles:
        print(f"beyond:recorded: {SKIPPED}", file=sys.stderr)
        return Drawing(pd.DataFrame(), _skipped, (5.2, 1.2))
    sweeps = (*LINES, "others")
    return _planes({name: frame(lab, name, recorded=True) for name in sweeps}, titles)


def _skipped(figure: Figure) -> None:
    figure.text(0.5, 0.5, SKIPPED, ha="center", va="center")


def _planes(frames: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> Drawing:
    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(titles), len(SETS), squeeze=False, sharey="row")
        for line, (trace, title) in zip(grid, titles.items(), strict=True):
            for axes, flows in zip(line, SETS, strict=True):
                here = {name: data[(data["trace"] == trace) & (data["flows"] == flows)]
                        for name, data in frames.items()}  # fmt: skip
                _plane(axes, here)
                axes.set(title=f"{title}: {flows}")
            line[0].set_ylabel("utilisation")
        for axes in grid[-1]:
            axes.set_xlabel("queueing delay, 95th percentile [ms]")
        legend_below(figure)

    rows = [["law", "trace", "flows", *HEAD, "drops"]]
    columns = {**FIGURES, "drops": 1.0}
    named = [(name, axis, label) for name, (axis, label, *_) in LINES.items()]
    for name, axis, label in (*named, ("others", "law", "{}")):
        for (value, trace, flows), here in _groups(frames[name], axis):
            text = POINTS[value][0] if axis == "law" else label.format(value)
            rows.append([text, titles[trace], flows, *cells(here, columns)])
    data = pd.concat([data.assign(kind=name) for name, data in frames.items()])
    return Drawing(data, draw, (3.3 * len(SETS), 0.9 + 2.9 * len(titles)), rows)


def _plane(axes: Axes, here: Mapping[str, pd.DataFrame]) -> None:
    for name, (axis, _, label, colour) in LINES.items():
        means = here[name].groupby(axis)[["p95_delay_s", "utilisation"]].mean()
        axes.plot(means["p95_delay_s"] * 1e3, means["utilisation"], ".-", color=colour, label=label)
        if name == "share":
            default = means.loc[TARGET_MS]
            axes.plot(default["p95_delay_s"] * 1e3, default["utilisation"], "o", color=colour, ms=7,
                      label=f"T = {TARGET_MS} ms")  # fmt: skip
    for law, (label, colour, marker) in POINTS.items():
        rows = here["others"][here["others"]["law"] == law]
        axes.plot(rows["p95_delay_s"].mean() * 1e3, rows["utilisation"].mean(), marker, ls="none",
                  color=colour, label=label)  # fmt: skip
    axes.set(ylim=(0.3, 1.01))
    log_x(axes)


INTEGRAL = {"integral": ("integral price", COLOURS[0]), "clamp": ("CLAMP's price", COLOURS[1])}


def integral(lab: Lab) -> Drawing:
    """Queue and utilisation under the integral price, by the number of flows and by the rate."""
    frames = {"flows": lab.frame("integral"), "rate": lab.frame("rates")}
    labels = {"flows": "flows", "rate": "rate of the line [Mbit/s]"}
    named = [
        frame.rename(columns={axis: "value"}).assign(axis=axis) for axis, frame in frames.items()
    ]
    data = pd.concat(named)
    data["value"] = data["value"].astype(int)

    def draw(figure: Figure) -> None:
        for axes, (axis, label) in zip(figure.subplots(1, 2), labels.items(), strict=True):
            for law, (name, colour) in INTEGRAL.items():
                rows = data[(data["axis"] == axis) & (data["law"] == law)].groupby("value")
                delay = rows["mean_delay_s"].mean() * 1e3
                axes.plot(delay.index, delay, ".-", color=colour, label=name)
            axes.axhline(TARGET_S * 1e3, color="0.5", ls="--", lw=0.9)
            axes.set(xscale="log", xlabel=label, ylabel="mean queueing delay [ms]", ylim=(0, None))
            values = list(data[data["axis"] == axis]["value"].unique())
            axes.set_xticks(values, [str(value) for value in values])
            axes.minorticks_off()
        legend_below(figure)

    rows = [["law", "flows", "Mbit/s", *HEAD]]
    for (law, axis, value), here in data.groupby(["law", "axis", "value"], sort=False):
        flows, rate = (value, 10) if axis == "flows" else (4, value)
        rows.append([INTEGRAL[str(law)][0], str(flows), str(rate), *cells(here, FIGURES)])
    return Drawing(data, draw, (8.2, 3.8), rows)


def accepted(lab: Lab) -> Drawing:
    """The share window at its default target beside FQ-CoDel, and what is accepted of it."""
    share, others = frame(lab, "share"), frame(lab, "others")
    laws = {
        "share": share[share["target"] == TARGET_MS],
        "fq-codel": others[others["law"] == "fq-codel"],
    }
    sets = list(lab.sweep("share").values("flows"))
    bands = {claim.id: claim.band for claim in load_paper("beyond").claims}

    def draw(figure: Figure) -> None:
        grid = figure.subplots(2, len(TRACES), sharex=True, squeeze=False)
        for column, (trace, title) in zip(grid.T, TRACES.items(), strict=True):
            for axes, measure in zip(column, ("utilisation", "p95"), strict=True):
                edges = [bands[f"beyond:{trace}-{name}-{measure}"] for name in sets]
                edge = [low if measure == "utilisation" else high for low, high in edges]
                places = np.arange(len(sets) + 1) - 0.5
                axes.step(places, [*edge, edge[-1]], where="post", color="0.6")
                name = {"p95": "p95_delay_s"}.get(measure, measure)
                for law, data in laws.items():
                    label, colour = LAWS[law]
                    means = data[data["trace"] == trace].groupby("flows")[name].mean()
                    values = [means[flows] * FIGURES[name] for flows in sets]
                    axes.plot(range(len(sets)), values, "o", color=colour, label=label)
            column[0].set(title=title, ylabel="utilisation", ylim=(None, 1.01))
            column[1].set(ylabel="delay, 95th percentile [ms]", ylim=(0, None))
            column[1].set_xticks(range(len(sets)), sets)
        legend_below(figure)

    rows = [["law", "trace", "flows", *HEAD]]
    for law, data in laws.items():
        for (_, trace, flows), here in _groups(data.assign(law=law), "law"):
            rows.append([LAWS[law][0], TRACES[trace], flows, *cells(here, FIGURES)])
    return Drawing(pd.concat(laws.values()), draw, (8.6, 5.4), rows)


def forms(lab: Lab) -> Drawing:
    """What each part of the law is worth."""
    data = lab.frame("forms")
    sets = ("1x40", "4mix", "10mix")

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(TRACES), len(sets), squeeze=False)
        palette = [*COLOURS, "#8a8a8a", "#7b3f00", "#b59ae0"]
        for line, (trace, title) in zip(grid, TRACES.items(), strict=True):
            for axes, flows in zip(line, sets, strict=True):
                there = data[(data["trace"] == trace) & (data["flows"] == flows)]
                for (form, label), colour in zip(FORMS.items(), palette, strict=True):
                    means = there[there["form"] == form][["p95_delay_s", "utilisation"]].mean()
                    style = {"color": colour, "mec": "white", "mew": 0.5, "label": label}
                    axes.plot(means["p95_delay_s"] * 1e3, means["utilisation"], "o", **style)
                axes.set(title=f"{title}: {flows}")
            line[0].set_ylabel("utilisation")
        for axes in grid[-1]:
            axes.set_xlabel("delay, 95th percentile [ms]")
        legend_below(figure)

    rows = [["form", "trace", "flows", *HEAD]]
    for (form, trace, flows), here in _groups(data, "form"):
        rows.append([FORMS[form], TRACES[trace], flows, *cells(here, FIGURES)])
    return Drawing(data, draw, (9.0, 6.0), rows)


def _groups(data: pd.DataFrame, what: str) -> Iterator[tuple[list[str], pd.DataFrame]]:
    """The runs of each value of an axis, trace and flow set, by their names."""
    for key, here in data.groupby([what, "trace", "flows"], sort=False):
        yield [str(part) for part in key], here


def cells(here: pd.DataFrame, columns: Mapping[str, float]) -> Sequence[str]:
    """Means over the seeds, with half the 95 % interval."""
    digits = {"utilisation": 3, "mean_delay_s": 1, "p95_delay_s": 1, "fairness": 3, "drops": 0}
    return [
        PlusMinus.of([times * value for value in here[name]]).text(digits[name])
        for name, times in columns.items()
    ]
