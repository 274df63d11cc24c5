# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured of CLAMP's own law with a target, a threshold and refills, and its figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...lab import Drawing, Lab, PlusMinus, Run, acknowledged, rates
from ...plot import COLOURS, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS_S = {8.0: 2e6, 16.0: 20e6}
"""When the line of ``traces/steps.down`` changes, and to what rate [bit/s]."""
RTT_S = 0.1
"""The round trip of the flow that fills a line again."""
FREE_S = 300.0
"""When the core of the report's Fig. 10 is free again."""
TARGET_S = 0.025
FULL = 0.95


def _queue(run: Run) -> pd.DataFrame:
    """The samples of the only queue that has any traffic, by time."""
    queues = run.tables["queues"]
    return queues[queues["departed_bytes"].groupby(queues["queue"]).transform("max") > 0]


def round_trips(run: Run) -> float:
    """Round trips from the last step up until the line carries 95 % of its rate over one.

    Those up to the end of the run, where it never does.
    """
    at_s, rate_bps = max(STEPS_S.items())
    queue = _queue(run).set_index("time_s")["departed_bytes"].astype(float)
    carried = queue[queue.index >= at_s].diff(round(RTT_S / 0.01)).dropna() * 8 / RTT_S
    full = carried.index[carried >= FULL * rate_bps]
    return float((full.min() if len(full) else carried.index.max()) - at_s) / RTT_S


def refilled_s(run: Run) -> float:
    """The time from the last step up until the line carries 95 % of its rate over 0.1 s."""
    return round_trips(run) * RTT_S


def most_over_rest(run: Run) -> float:
    """The longest queue after the last step up over that at rest, 25 ms of the line."""
    at_s, rate_bps = max(STEPS_S.items())
    queue = _queue(run).set_index("time_s")["bytes"]
    return float(queue[queue.index >= at_s + RTT_S].max()) * 8 / rate_bps / TARGET_S


def surge_bytes(run: Run) -> float:
    """By how much the home line's queue is longer than before, at most, once the core is free."""
    queues = run.tables["queues"]
    here = queues[queues["queue"] == "access"].set_index("time_s")["bytes"]
    rest = here[(here.index >= 50) & (here.index < 100)].mean()
    return float(here[(here.index >= FREE_S) & (here.index < FREE_S + 50)].max() - rest)


def held_back_bps(run: Run) -> float:
    """The least that flows 2 and 4 have together in ten seconds of the first fifty after it."""
    found = rates(acknowledged(run.tables)[["flow-2", "flow-4"]].sum(axis=1).to_frame(), 10.0)
    after = found[(found.index > FREE_S) & (found.index <= FREE_S + 50)]
    return float(after.min().iloc[0])


def settled_s(run: Run) -> float:
    """How long after the step down a tenth of a second last had twice the target waiting."""
    at_s, rate_bps = min(STEPS_S.items())
    queue = _queue(run).set_index("time_s")["bytes"]
    here = queue[(queue.index >= at_s) & (queue.index < max(STEPS_S))]
    late = here.index[here.rolling(10, min_periods=1).mean() * 8 / rate_bps > 2 * TARGET_S]
    return float(late.max() - at_s) if len(late) else 0.0


TUNED = {"refill": "with refill", "integral": "integral price", "clamp": "CLAMP's price"}


def tuned(lab: Lab) -> Drawing:
    """Delay and utilisation at each step of the line, by law."""
    data = lab.frame("tuned")
    steps = list(data["step"].unique())

    def draw(figure: Figure) -> None:
        columns = {
            "mean_delay_s": ("mean queueing delay [ms]", 1e3),
            "utilisation": ("utilisation", 1),
        }
        for axes, (name, (label, times)) in zip(
            figure.subplots(1, 2), columns.items(), strict=True
        ):
            for (law, title), colour in zip(TUNED.items(), COLOURS, strict=False):
                means = data[data["law"] == law].groupby("step")[name].mean() * times
                axes.plot(
                    steps,
                    [means[step] for step in steps],
                    "o",
                    color=colour,
                    label=title,
                    clip_on=False,
                )
            axes.set(xlabel="rate of the line [Mbit/s]", ylabel=label, ylim=(0, None))
        figure.axes[0].axhline(TARGET_S * 1e3, color="0.5", ls="--", lw=0.9)
        legend_below(figure)

    rows = [["law", "Mbit/s", "util", "mean ms", "95 % ms"]]
    for (law, step), here in data.groupby(["law", "step"], sort=False):
        cells = [
            PlusMinus.of([times * value for value in here[name]]).text(digits)
            for name, times, digits in (
                ("utilisation", 1.0, 3), ("mean_delay_s", 1e3, 1), ("p95_delay_s", 1e3, 1),
            )
        ]  # fmt: skip
        rows.append([TUNED[str(law)], str(step), *cells])
    return Drawing(data, draw, (8.2, 3.8), rows)
