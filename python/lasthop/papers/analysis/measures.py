# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of random loops and of pairs of delays, and what is measured of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ... import analysis
from ...lab import Lab, Run

HALF_PI = math.pi / 2
SETS = {"full": 100_000, "quick": 10_000}
PAIRS_S = ((1, 1), (1, 2), (1, 3), (1, 10), (0.041, 0.2843))
"""Pairs of delays for Proposition 2."""
OLDER_QUEUE_S, OLDER_PRICE = 50.0, 1.0
"""The older law is looked at with a price of 1, and a queue so long that a is above 0."""


def deviation_bytes(run: Run) -> float:
    """Standard deviation of the queue."""
    return float(run.queue("bottleneck")["bytes"].std(ddof=0))


def older(
    delays_s: Sequence[float], upto: float = 10.0, weights: Sequence[float] | None = None
) -> float:
    """The critical b of the older law, by root crossing."""
    return analysis.critical_b(
        delays_s, weights=weights, scale="nothing",
        queueing_s=OLDER_QUEUE_S, price_s=OLDER_PRICE, upto=upto,
    )  # fmt: skip


def sets(lab: Lab) -> pd.DataFrame:
    """Random loops, others for each seed."""
    found = [
        analysis.random_sets(SETS[lab.scale], seed=seed).assign(seed=seed) for seed in lab.seeds
    ]
    table = pd.concat(found, ignore_index=True)
    table["flows"] = table["delays_s"].map(len)
    table["length"] = table["queueing_s"] / table["longest_s"]
    return table


def pairs(lab: Lab) -> pd.DataFrame:
    """The critical b of pairs of delays in three ways; the same for all seeds."""
    rows = []
    for one_s, other_s in PAIRS_S:
        delays_s = [one_s, other_s]
        theory = analysis.two_flows_critical_b(one_s, other_s)
        crossing = older(delays_s, 3 * theory)
        integrated = analysis.critical_b_by_integration(
            delays_s, scale="nothing",
            queueing_s=OLDER_QUEUE_S, price_s=OLDER_PRICE, upto=3 * theory,
        )  # fmt: skip
        rows.append((one_s, other_s, theory, crossing, integrated))
    names = ["one_s", "other_s", "theory", "crossing", "integrated"]
    table = pd.DataFrame(rows, columns=names)
    return pd.concat([table.assign(seed=seed) for seed in lab.seeds], ignore_index=True)


def theorem_1(lab: Lab, *, how: str) -> list[float]:
    """The critical b of flows of equal delays over π/2: of several sets that furthest from 1."""
    if how == "crossing":
        cases = ([0.01], [0.1], [0.3], [0.05] * 3, [0.2] * 6)
        found = [analysis.critical_b(delays_s) / HALF_PI for delays_s in cases]
    else:
        found = [analysis.critical_b_by_integration([0.1] * k, upto=3) / HALF_PI for k in (1, 3)]
    return [max(found, key=lambda ratio: abs(ratio - 1))] * len(lab.seeds)


def proposition_2(lab: Lab, *, how: str) -> list[float]:
    """The critical b of pairs over that of theory: that furthest from 1."""
    return [
        float(max(rows[how] / rows["theory"], key=lambda ratio: abs(ratio - 1)))
        for _, rows in lab.frame("pairs").groupby("seed")
    ]


def proposition_1(lab: Lab) -> list[float]:
    """The least critical b of random sets under the older law, times the longest delay, over π/2.

    Without one up to twice that a set counts with 2.
    """
    least = []
    for seed in lab.seeds:
        draw = np.random.default_rng(seed)
        ratios = []
        for _ in range(SETS[lab.scale] // 100):
            count = int(draw.integers(1, 7))
            delays_s = [float(d) for d in draw.uniform(0.01, 1, count)]
            weights = [float(w) for w in draw.uniform(0.25, 4, count)]
            enough = HALF_PI / max(delays_s)
            found = older(delays_s, 2 * enough, weights)
            ratios.append(min(found / enough, 2.0))
        least.append(min(ratios))
    return least


def least(lab: Lab, *, column: str, length: float = 0.0) -> list[float]:
    """The least critical b over π/2, of sets whose queue is so long at least."""
    frame = lab.frame("sets")
    long = frame[frame["length"] >= length]
    return [float(rows[column].min() / HALF_PI) for _, rows in long.groupby("seed")]


def apart(lab: Lab) -> list[float]:
    """How far fluid and packets are apart from 20 s on, over the mean queue of the packets."""
    found = []
    for run in lab.runs("opening"):
        both = beside(run)
        late = both[both["time_s"] >= 20]
        off = (late["fluid_average_bytes"] - late["average_bytes"]).abs().mean()
        found.append(float(off / late["average_bytes"].mean()))
    return found


def beside(run: Run) -> pd.DataFrame:
    """Packets and fluid on the same axes, from one segment on."""
    queue = run.queue("bottleneck")[["time_s", "bytes", "average_bytes"]]
    fluid = analysis.trajectory(
        [0.03, 0.13], rate_bps=100e6, tau_bytes=5e3, a_bytes=240e3, duration_s=60,
        scale="round-trip", average=2, start=[1460, 1460], step_s=1e-3, every_s=0.01,
    )  # fmt: skip
    found = queue.reset_index(drop=True)
    for name in ("queue_bytes", "average_bytes", "window_1_bytes", "window_2_bytes"):
        found[f"fluid_{name}"] = np.interp(found["time_s"], fluid["time_s"], fluid[name])
    for flow in (1, 2):
        samples = run.flow(f"flow-{flow}")
        found[f"awnd_{flow}_bytes"] = np.interp(
            found["time_s"], samples["time_s"], samples["awnd_bytes"].astype(float)
        )
    return found
