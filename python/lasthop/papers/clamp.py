# SPDX-License-Identifier: MIT OR Apache-2.0
"""The paper ``clamp``: how its claims are measured. What they are stands in ``clamp.toml``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .clamp_figures import AT_180_MS, FIGURES, dynamics
from .clamp_runs import (
    A,
    at_delay,
    at_parameter,
    curve,
    length,
    of_flow,
    of_queue,
    rate_of,
    series,
    summaries,
    within,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..paper import Lab

__all__ = ["FIGURES", "MEASURES"]

Measure = Callable[["Lab"], list[float]]

LOSSES = ("0.001", "0.002", "0.005", "0.01")

PHASES = {1: ((15, 50), (215, 250)), 2: ((65, 100), (165, 200)), 3: ((115, 150),)}
"""Fig. 2 by the number of flows: spans in s, without the first 15 s after a change."""


def square_root_law(lab: Lab) -> list[float]:
    """Mean window over √(3/2p), the value furthest from 1 over the losses."""
    ratios = []
    for loss in LOSSES:
        expected = math.sqrt(1.5 / float(loss)) * 1500
        found = summaries(lab, "square-root-law", (("link[0].loss.p", loss),))
        ratios.append([summary["flows"][0]["mean_cwnd_bytes"] / expected for summary in found])
    return [max(by_seed, key=lambda ratio: abs(ratio - 1)) for by_seed in zip(*ratios, strict=True)]


def deterministic_queue(flows: int, lab: Lab) -> list[float]:
    """The router's average queue in bytes while so many flows share the link."""
    values = []
    for tables in series(lab, "deterministic-clamp", ()):
        samples = of_queue(tables, "bottleneck")
        parts = [within(samples, *span)["average_bytes"] for span in PHASES[flows]]
        values.append(float(np.concatenate(parts).mean()))
    return values


def deterministic_tcp(key: str, lab: Lab) -> list[float]:
    """A figure of the link's queue in the TCP run of Fig. 2."""
    return [summary["queues"][0][key] for summary in summaries(lab, "deterministic-tcp")]


def deterministic_smoothness(lab: Lab) -> list[float]:
    """Spread of TCP's window over that of CLAMP's, each the root mean square over the phases."""
    values = []
    for tcp, clamp in zip(
        series(lab, "deterministic-tcp", ()), series(lab, "deterministic-clamp", ()), strict=True
    ):
        spreads = []
        for tables, column in ((tcp, "cwnd_bytes"), (clamp, "awnd_bytes")):
            window = of_flow(tables, "flow-1")
            variances = [
                float(within(window, *span)[column].astype(float).var())
                for spans in PHASES.values()
                for span in spans
            ]
            spreads.append(math.sqrt(sum(variances) / len(variances)))
        values.append(spreads[0] / spreads[1])
    return values


def megabits(name: str, kilobytes: float, column: str, lab: Lab) -> list[float]:
    """A rate at one point of a family in Mbit/s."""
    return [value / 1e6 for value in at_parameter(lab, name, kilobytes, column)]


def timeouts(delay_s: float, lab: Lab) -> list[float]:
    """Time-outs of the 10-ms flow in 2700 s at a delay, fast fading, CLAMP."""
    return at_delay(lab, "fast-clamp", delay_s, "timeouts_10ms")


def timeouts_beyond(lab: Lab) -> list[float]:
    """The most time-outs of the 10-ms flow in 2700 s at delays above 100 ms."""
    frame = curve(lab, "fast-clamp")
    return [
        float(rows.loc[rows["delay_s"] > 0.1, "timeouts_10ms"].max())
        for _, rows in frame.groupby("seed")
    ]


def ratio_at_delay(
    above: tuple[str, str], below: tuple[str, str], delay_s: float, lab: Lab
) -> list[float]:
    """One family's column over another's, both where the delay is ``delay_s``."""
    return _over(
        at_delay(lab, above[0], delay_s, above[1]), at_delay(lab, below[0], delay_s, below[1])
    )


def ratio_at_50(column: str, over: str, under: str, lab: Lab) -> list[float]:
    """A column of one protocol over that of the other at the 50-ms points of fast fading."""
    points = {"fast-clamp": 6.5, "fast-tcp": 18.2}
    return _over(
        at_parameter(lab, over, points[over], column),
        at_parameter(lab, under, points[under], column),
    )


def slow_rise(lab: Lab) -> list[float]:
    """Rate of the 10-ms flow at the longest delay over that at 200 ms, slow fading, CLAMP."""
    column = "flow-3_bps"
    return _over(
        at_parameter(lab, "slow-clamp", 160, column), at_delay(lab, "slow-clamp", 0.2, column)
    )


def slow_download(lab: Lab) -> list[float]:
    """Time for 1 MB with TCP over that with CLAMP at 50 ms, slow fading."""
    return _over(
        at_parameter(lab, "slow-tcp", 30.5, "download_s"),
        at_parameter(lab, "slow-clamp", 17.5, "download_s"),
    )


def awnd_limited_at_180(lab: Lab) -> list[float]:
    """Share of the time that the 30-ms flow has AWND < CWND at 180 ms, fast fading."""
    found = summaries(lab, "four-flows-fast-clamp", (*length(lab), (A, AT_180_MS[0])))
    return [summary["flows"][0]["awnd_limited_fraction"] for summary in found]


def dynamics_rate(lab: Lab) -> list[float]:
    """Coefficient of variation of the long flow's rate: TCP's over CLAMP's.

    While short flows come and go both rates must follow the load, so the spread counts around
    the median over 20 s.
    """
    values = []
    for index in range(len(lab.seeds)):
        clamp, tcp = (
            _fluctuation(rate_of(of_flow(tables, "long"), 1.0)["rate_bps"].to_numpy())
            for tables in dynamics(lab, index)
        )
        values.append(tcp / clamp)
    return values


def _fluctuation(rate: np.ndarray) -> float:
    """Spread of a rate in 1-s bins about its running median of 21 s, over its mean."""
    half = 10
    trend = [np.median(rate[max(0, i - half) : i + half + 1]) for i in range(len(rate))]
    return float(np.std(rate - trend) / np.mean(rate))


def dynamics_queue(lab: Lab) -> list[float]:
    """Mean queue with CLAMP over that with TCP."""
    clamp, tcp = (
        [summary["queues"][0]["mean_bytes"] for summary in summaries(lab, f"flow-dynamics-{kind}")]
        for kind in ("clamp", "tcp")
    )
    return _over(clamp, tcp)


def dynamics_spike(lab: Lab) -> list[float]:
    """CLAMP's longest queue over the 65 kB that TCP's buffer holds."""
    return [
        float(of_queue(dynamics(lab, index)[0], "mobile")["bytes"].max()) / 65_000
        for index in range(len(lab.seeds))
    ]


def smallest_step(names: Sequence[str], lab: Lab) -> list[float]:
    """The smallest relative rise of the delay between neighbouring points of the families."""
    smallest = []
    for seed in lab.seeds:
        steps = []
        for name in names:
            rows = _seed_of(lab, name, seed).sort_values("parameter_bytes")
            steps += [after / before - 1 for before, after in pairwise(rows["delay_s"])]
        smallest.append(min(steps))
    return smallest


def _seed_of(lab: Lab, name: str, seed: int) -> pd.DataFrame:
    frame = curve(lab, name)
    return frame[frame["seed"] == seed]


def low_fairness(lab: Lab) -> list[float]:
    """TCP's ratio of the 10-ms to the 180-ms flow over CLAMP's, low rate, 200 ms."""
    tcp = ratio_at_delay(("low-tcp", "flow-3_bps"), ("low-tcp", "flow-4_bps"), 0.2, lab)
    clamp = ratio_at_delay(("low-clamp", "flow-3_bps"), ("low-clamp", "flow-4_bps"), 0.2, lab)
    return _over(tcp, clamp)


def knees(lab: Lab) -> list[float]:
    """Delay of the knee at the low rate over that at the high rate, CLAMP, fast fading.

    The knee is where total throughput passes 90 % of the most that the curve reaches.
    """
    found = []
    for seed in lab.seeds:
        delays = []
        for name in ("low-clamp", "fast-clamp"):
            rows = _seed_of(lab, name, seed).sort_values("delay_s")
            share = np.maximum.accumulate(rows["total_bps"]) / rows["total_bps"].max()
            delays.append(float(np.interp(0.9, share, rows["delay_s"], left=np.nan)))
        found.append(delays[0] / delays[1])
    return found


def sharing_worsens(lab: Lab) -> list[float]:
    """Ratio of the 10-ms to the 180-ms flow at 200 ms over that at 50 ms, fast fading, CLAMP."""
    flows = ("fast-clamp", "flow-3_bps"), ("fast-clamp", "flow-4_bps")
    return _over(ratio_at_delay(*flows, 0.2, lab), ratio_at_delay(*flows, 0.05, lab))


def margin_difference(lab: Lab) -> list[float]:
    """Mean back-off margin in fast fading (15 attempts) minus that in slow fading (5)."""
    fast, slow = (_margin(lab, f"four-flows-{fading}-clamp") for fading in ("fast", "slow"))
    return [a - b for a, b in zip(fast, slow, strict=True)]


def _margin(lab: Lab, scenario: str) -> list[float]:
    duration, warmup = length(lab)
    probe = (duration, warmup, ("probe.every", "1 s"), ("probe.from", warmup[1]))
    return [float(t["queues"]["margin"].mean()) for t in series(lab, scenario, probe)]


def _over(above: Sequence[float], below: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(above, below, strict=True)]


def _flows(figure: str, name: str, kilobytes: float) -> dict[str, Measure]:
    return {
        f"clamp:{figure}-flow-{n}": partial(megabits, name, kilobytes, f"flow-{n}_bps")
        for n in (1, 2, 3, 4)
    }


def _totals(fading: str, delay_ms: int) -> Measure:
    return partial(
        ratio_at_delay,
        (f"{fading}-clamp", "total_bps"),
        (f"{fading}-tcp", "total_bps"),
        delay_ms / 1e3,
    )


MEASURES: dict[str, Measure] = {
    "clamp:cwnd": square_root_law,
    **{f"clamp:2-queue-{k}": partial(deterministic_queue, k) for k in (1, 2, 3)},
    "clamp:2-tcp-queue": partial(deterministic_tcp, "mean_bytes"),
    "clamp:2-tcp-utilisation": partial(deterministic_tcp, "utilisation"),
    "clamp:2-smoothness": deterministic_smoothness,
    "clamp:4a-total": partial(megabits, "slow-clamp", 17.5, "total_bps"),
    **_flows("4a", "slow-clamp", 17.5),
    "clamp:4a-rise": slow_rise,
    **_flows("4b", "slow-tcp", 30.5),
    **_flows("4c", "fast-clamp", 6.5),
    **{f"clamp:4c-timeouts-{ms}": partial(timeouts, ms / 1e3) for ms in (25, 50, 75)},
    "clamp:4c-timeouts-beyond": timeouts_beyond,
    **_flows("4d", "fast-tcp", 18.2),
    **{
        f"clamp:5a-{fading}-{ms}": _totals(fading, ms)
        for fading in ("slow", "fast")
        for ms in (50, 100)
    },
    "clamp:5b-time": slow_download,
    "clamp:6-awnd-50": lambda lab: at_parameter(lab, "fast-clamp", 6.5, "flow-1_awnd_limited"),
    "clamp:6-awnd-180": awnd_limited_at_180,
    "clamp:7-queue": partial(ratio_at_50, "mobile-2_mean_bytes", "fast-clamp", "fast-tcp"),
    "clamp:7-empty": partial(ratio_at_50, "mobile-2_empty", "fast-tcp", "fast-clamp"),
    "clamp:8-rate": dynamics_rate,
    "clamp:8-queue": dynamics_queue,
    "clamp:8-spike": dynamics_spike,
    "clamp:9-a": partial(smallest_step, ("slow-clamp", "fast-clamp")),
    "clamp:9-buffer": partial(smallest_step, ("slow-tcp", "fast-tcp")),
    "clamp:10-total": _totals("low", 200),
    "clamp:10-fairness": low_fairness,
    "clamp:10-time": partial(
        ratio_at_delay, ("low-tcp", "download_s"), ("low-clamp", "download_s"), 0.2
    ),
    "clamp:10-knee": knees,
    "clamp:4c-worsens": sharing_worsens,
    "clamp:4c-margin": margin_difference,
}
