# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent's laws, in the kernel's integers, beside those of the papers in floating point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...lab import Drawing, Lab, PlusMinus
from ...plot import COLOURS, legend_below
from .figures import FIGURES, HEAD, cells
from .wishes import FLOWS, SPEEDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PACKET_BYTES = 1500.0
LAWS = {
    "paper": ("as in the paper", COLOURS[1]),
    "kernel": ("in the kernel's integers", COLOURS[0]),
}
QUEUES = ("mobile-1_bytes", "mobile-2_bytes", "mobile-3_bytes")
FORMS = {
    "law": ("share window", COLOURS[1], "o"),
    "seen": ("by a proxy that sees the queue", COLOURS[0], "s"),
    "hidden": ("by a proxy from whom it is hidden", COLOURS[2], "^"),
}

PROXIES = {"share": "`share-kernel`", "station": "`station-kernel`"}
CASES = {
    "4-10-10": ("10 ms, 10 Mbit/s", "four of 50 ms"),
    "10-10-10": ("10 ms, 10 Mbit/s", "ten mixed"),
    "4-25-10": ("25 ms, 10 Mbit/s", "four of 50 ms"),
    "10-25-10": ("25 ms, 10 Mbit/s", "ten mixed"),
    "4-10-2": ("10 ms, 2 Mbit/s", "four of 50 ms"),
    "10-10-2": ("10 ms, 2 Mbit/s", "ten mixed"),
    "4-25-2": ("25 ms, 2 Mbit/s", "four of 50 ms"),
    "10-25-2": ("25 ms, 2 Mbit/s", "ten mixed"),
    "40-25-2": ("25 ms, 2 Mbit/s", "forty of 50 ms"),
    "16-25-1": ("25 ms, 1 Mbit/s", "sixteen of 50 ms"),
    "40-25-2-far": ("25 ms, 2 Mbit/s", "forty of 150 ms"),
}
"""Target and rate, and the flows."""
ACKS = {
    "plain": ("each segment acknowledged", COLOURS[1], "o"),
    "linux": ("as Linux does", "black", "_"),
    "second": ("each second one, or after 200 ms", COLOURS[0], "v"),
    "second-40": ("each second one, or after 40 ms", COLOURS[2], "^"),
}


def more_packets(lab: Lab, sweep: str, columns: Sequence[str], **where: str) -> list[float]:
    """By how many packets queues are longer in integers, mean over the queues, by seed."""
    data = lab.frame(sweep, **where)
    means = data.groupby(["law", "seed"])[list(columns)].mean().mean(axis=1)
    more = (means["kernel"] - means["paper"]) / PACKET_BYTES
    return [float(more[seed]) for seed in lab.seeds]


def forms(lab: Lab) -> pd.DataFrame:
    """The share window's planes by where it runs; the law's own are those of its sweep."""
    proxies, law = lab.frame("kernel-share"), lab.frame("share").assign(form="law")
    same = law["flows"].isin(proxies["flows"]) & law["target"].isin(proxies["target"])
    return pd.concat([law[same], proxies])


def over_law(lab: Lab, form: str, column: str, pick: str) -> list[float]:
    """What a proxy gives over the share window, of all points the least or the most, by seed."""
    data = forms(lab).set_index(["form", "trace", "flows", "target", "seed"])[column]
    ratios = (data.loc[form] / data.loc["law"]).groupby("seed").agg(pick)
    return [float(ratios[seed]) for seed in lab.seeds]


def clamp(lab: Lab) -> Drawing:
    """Queues on the deterministic link, and rates of the four flows in fading."""
    link, fading = lab.frame("kernel-link"), lab.frame("kernel-fading")

    def draw(figure: Figure) -> None:
        axeses = figure.subplots(1, 3)
        for i, (law, (label, colour)) in enumerate(LAWS.items()):
            here = link[link["law"] == law].groupby("flows")["queue_bytes"].mean()
            style = {"color": colour, "label": label}
            axeses[0].plot(here.index.astype(int), here / 1e3, "o-", **style)
            for axes, (speed, title) in zip(axeses[1:], SPEEDS.items(), strict=True):
                there = fading[(fading["law"] == law) & (fading["speed"] == speed)]
                at = np.arange(len(FLOWS)) + 0.4 * (i - 0.5)
                axes.bar(at, there[list(FLOWS)].mean() / 1e6, 0.38, color=colour)
                axes.set(title=f"four flows, {title}", ylabel="goodput [Mbit/s]")
                axes.set_xticks(range(len(FLOWS)), [str(n + 1) for n in range(len(FLOWS))])
        counts = np.array([1, 3])
        axeses[0].plot(counts, (5500 + 500 * counts) / 1e3, "k:", label="kτ + a")
        axeses[0].set(title="10 Mbit/s, 50 ms", xlabel="flows k", ylabel="queue [kB]")
        axeses[0].set(xticks=[1, 2, 3], ylim=(0, None))
        legend_below(figure)

    rows = [["line", "law", "queue kB", "goodput Mbit/s"]]
    for (law, flows), here in link.groupby(["law", "flows"], sort=False):
        queue = PlusMinus.of([value / 1e3 for value in here["queue_bytes"]]).text(2)
        goodput = PlusMinus.of([value / 1e6 for value in here["goodput_bps"]]).text(2)
        rows.append([f"10 Mbit/s, {flows} flows", LAWS[str(law)][0], queue, goodput])
    for (law, speed), here in fading.groupby(["law", "speed"], sort=False):
        queue = PlusMinus.of(list(here[list(QUEUES)].mean(axis=1) / 1e3)).text(2)
        goodput = PlusMinus.of(list(here[list(FLOWS)].sum(axis=1) / 1e6)).text(2)
        rows.append([f"fading, {SPEEDS[str(speed)]}", LAWS[str(law)][0], queue, goodput])
    return Drawing(pd.concat([link, fading]), draw, (10.2, 3.8), rows)


def share(lab: Lab) -> Drawing:
    """The share window's planes, by where it runs."""
    data = forms(lab)
    traces = ("driving", "walking")
    sets = ("1x40", "4mix", "10mix")

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(traces), len(sets), squeeze=False)
        for line, trace in zip(grid, traces, strict=True):
            for axes, flows in zip(line, sets, strict=True):
                there = data[(data["trace"] == trace) & (data["flows"] == flows)]
                for form, (label, colour, mark) in FORMS.items():
                    here = there[there["form"] == form].groupby("target").mean(numeric_only=True)
                    here = here.sort_values("p95_delay_s")
                    style = {"color": colour, "marker": mark, "ms": 4, "label": label}
                    axes.plot(here["p95_delay_s"] * 1e3, here["utilisation"], **style)
                axes.set(title=f"{trace}: {flows}")
            line[0].set_ylabel("utilisation")
        for axes in grid[-1]:
            axes.set_xlabel("delay, 95th percentile [ms]")
        legend_below(figure)

    rows = [["form", "trace", "flows", "T ms", *HEAD]]
    points = ["form", "trace", "flows", "target"]
    for (form, trace, flows, target), here in data.groupby(points, sort=False):
        rows.append(
            [FORMS[str(form)][0], str(trace), str(flows), str(target), *cells(here, FIGURES)]
        )
    return Drawing(data, draw, (9.0, 6.0), rows)


def held(lab: Lab) -> Drawing:
    """What it costs that receivers hold acknowledgements back."""
    data = lab.frame("held")
    columns = {"utilisation": 1.0, "p95_delay_s": 1e3}

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(columns), len(PROXIES), sharex=True, sharey="row", squeeze=False)
        for line, (law, title) in zip(grid.T, PROXIES.items(), strict=True):
            for axes, (column, times) in zip(line, columns.items(), strict=True):
                for acks, (label, colour, mark) in ACKS.items():
                    here = data[(data["law"] == law) & (data["acks"] == acks)]
                    means = here.groupby("case")[column].mean() * times
                    style = {"color": colour, "mfc": "none", "ls": "none", "label": label}
                    axes.plot(range(len(CASES)), [means[case] for case in CASES], mark, **style)
            line[0].set(title=title.strip("`"))
            names = [f"{flows}, T = {line}" for line, flows in CASES.values()]
            line[-1].set_xticks(range(len(CASES)), names, rotation=90)
        grid[0][0].set(ylabel="utilisation", ylim=(None, 1.01))
        grid[1][0].set(ylabel="delay, 95th percentile [ms]", ylim=(0, None))
        legend_below(figure)

    rows = [["proxy", "T, rate", "flows"]]
    rows[0] += [f"{label}: {unit}" for label, *_ in ACKS.values() for unit in ("util", "95 % ms")]
    by_point = data.groupby(["law", "case", "acks"], sort=False)
    runs = {(str(law), str(case), str(acks)): here for (law, case, acks), here in by_point}
    for law, proxy in PROXIES.items():
        for case, names in CASES.items():
            found = [cells(runs[law, case, acks], columns) for acks in ACKS]
            rows.append([proxy, *names, *(text for pair in found for text in pair)])
    return Drawing(data, draw, (9.0, 7.4), rows)
