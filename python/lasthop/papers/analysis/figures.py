# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``analysis``."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ... import analysis
from ...lab import Drawing, Lab, colours
from ...plot import COLOURS, legend_below
from .measures import HALF_PI, beside, older
from .measures import pairs as table_of_pairs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = (0, 0.03, 0.1, 0.2, 0.3, 0.5, 1, math.inf)
"""Queueing delay over longest delay, in the table of sets."""
GAINS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
QUEUES_S = (0.005, 0.02, 0.05, 0.1)


def pairs(lab: Lab) -> Drawing:
    """Proposition 2: the closed form, root crossing and integration."""
    table = table_of_pairs(lab).drop_duplicates("other_s").drop(columns="seed")

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        ratios = np.linspace(1, 12, 100)
        curve = [analysis.two_flows_critical_b(1, ratio) for ratio in ratios]
        axes.plot(ratios, curve, color=COLOURS[0], label="1/(d₁ sinc(d₁/(d₁ + d₂)))")
        dense = np.linspace(1, 12, 23)
        crossing = [older([1, ratio]) for ratio in dense]
        axes.plot(dense, crossing, "o", color=COLOURS[1], mfc="none", label="root crossing")
        ratio, product = table["other_s"] / table["one_s"], table["one_s"] * table["integrated"]
        axes.plot(ratio, product, "x", color="k", label="integration")
        axes.set(xlabel="d₂/d₁", ylabel="critical b·d₁")
        legend_below(figure)

    columns = ["one_s", "other_s", "theory", "crossing", "integrated"]
    rows = [
        [f"{one:g}, {other:g}", *(f"{value:.5g}" for value in values)]
        for one, other, *values in table[columns].to_numpy().tolist()
    ]
    head = ["d₁, d₂ [s]", "theory [1/s]", "root crossing", "integration"]
    return Drawing(table, draw, table=[head, *rows])


def sets(lab: Lab) -> Drawing:
    """Random sets: how long the queue is decides whether π/2 is enough."""
    frame = lab.frame("sets")
    data = frame[
        ["seed", "flows", "length", "longest_s", "queueing_s", "price_s", "b_at_rest", "b_mixed"]
    ]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        finite = data[np.isfinite(data["b_mixed"])]
        shown = finite.iloc[:20_000]
        axes.plot(shown["length"], shown["b_mixed"], ",", color=COLOURS[0], alpha=0.6)
        edges = np.geomspace(finite["length"].min(), finite["length"].max(), 40)
        place = np.digitize(finite["length"], edges)
        least = finite.groupby(place)["b_mixed"].min()
        centres = finite.groupby(place)["length"].median()
        axes.plot(centres, least, color=COLOURS[1], label="least of all sets, perfect mixing")
        axes.axhline(HALF_PI, color="k", ls="--", lw=0.9, label="π/2: least with rates at rest")
        axes.set(xscale="log", xlabel="queueing delay over longest delay", ylabel="critical b")
        axes.set_ylim(0, 6)
        legend_below(figure)

    rows = []
    for low, high in pairwise(BINS):
        chosen = data[(data["length"] >= low) & (data["length"] < high)]
        below = (chosen["b_mixed"] < HALF_PI * (1 - 1e-9)).mean()
        span = f"over {low:g}" if math.isinf(high) else f"{low:g} to {high:g}"
        rows.append(
            [span, str(len(chosen)), f"{chosen['b_mixed'].min():.4g}", f"{100 * below:.2g} %"]
        )
    worst = frame.nsmallest(1, "b_mixed").iloc[0]
    delays = ", ".join(f"{1e3 * d:.1f}" for d in worst["delays_s"])
    weights = ", ".join(f"{w:.2f}" for w in worst["weights"])
    wait = f"{1e3 * worst['queueing_s']:.2f} ms"
    rows.append(
        [f"worst: {delays} ms, weights {weights}, queue {wait}", "1", f"{worst['b_mixed']:.4g}", ""]
    )
    rates = ["all, rates at rest", str(len(data)), f"{data['b_at_rest'].min():.6g}", "0 %"]
    head = ["queueing delay over longest delay", "sets", "least critical b", "below π/2"]
    return Drawing(data, draw, table=[head, *rows, rates])


def opening(lab: Lab) -> Drawing:
    """A trajectory of the fluid over a run of packets."""
    data = beside(lab.run("opening"))

    def draw(figure: Figure) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True)
        for flow, delay in ((1, "30 ms"), (2, "130 ms")):
            colour = COLOURS[flow - 1]
            top.plot(
                data["time_s"],
                data[f"awnd_{flow}_bytes"] / 1e6,
                color=colour,
                lw=1.6,
                alpha=0.5,
                label=f"{delay}: packets",
            )
            top.plot(
                data["time_s"],
                data[f"fluid_window_{flow}_bytes"] / 1e6,
                "--",
                color=colour,
                label=f"{delay}: fluid",
            )
        bottom.plot(
            data["time_s"],
            data["average_bytes"] / 1e3,
            color=COLOURS[0],
            lw=1.6,
            alpha=0.5,
            label="average queue: packets",
        )
        bottom.plot(
            data["time_s"],
            data["fluid_average_bytes"] / 1e3,
            "k--",
            lw=0.9,
            label="average queue: fluid",
        )
        top.set(ylabel="window [MB]", ylim=(0, None))
        bottom.set(xlabel="time [s]", ylabel="queue [kB]", ylim=(0, None))
        legend_below(figure)

    return Drawing(data, draw, size=(6.4, 5.2))


def averages(lab: Lab) -> Drawing:
    """The least critical b over random sets, by gain and length of the queue."""
    count = 600 if lab.scale == "full" else 200
    draws = [
        analysis.random_sets(1, seed=seed, upto=1e-3)["delays_s"].iloc[0] for seed in range(count)
    ]
    rows = [
        (queue_s, gain, min(_of(delays_s, queue_s, gain) for delays_s in draws))
        for queue_s in QUEUES_S
        for gain in (*GAINS, None)
    ]
    data = pd.DataFrame(rows, columns=["queueing_s", "gain_per_s", "critical_b"])

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for colour, (queue_s, line) in zip(
            colours(len(QUEUES_S)), data.dropna().groupby("queueing_s"), strict=True
        ):
            label = f"{1e3 * float(str(queue_s)):g} ms of queue"
            axes.plot(line["gain_per_s"], line["critical_b"], ".-", color=colour, label=label)
        axes.axhline(1, color="k", ls="--", lw=0.9, label="b = 1")
        axes.set(xscale="log", xlabel="gain of the average [1/s]", ylabel="least critical b")
        axes.set_ylim(bottom=0)
        legend_below(figure)

    head = ["queue at rest", *(f"g = {gain:g}" for gain in GAINS), "no average"]
    table = [
        [f"{1e3 * queue_s:g} ms", *(f"{b:.2f}" for q, _, b in rows if q == queue_s)]
        for queue_s in QUEUES_S
    ]
    return Drawing(data, draw, table=[head, *table])


def _of(delays_s: list[float], queue_s: float, gain: float | None) -> float:
    return analysis.critical_b(
        delays_s,
        queueing_s=queue_s,
        price_s=0.15 * queue_s,
        scale="round-trip",
        average=gain,
        upto=6,
    )
