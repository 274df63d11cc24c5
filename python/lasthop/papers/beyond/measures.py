# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured of the share window beside other laws, on our traces and on a user's."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd

from ...lab import Lab

TRACES = {"driving": "LTE, driving", "walking": "LTE, walking"}
TARGET_MS = 25
"""The target at which the share window is accepted."""
POINT = ["trace", "flows", "seed"]


def recordings() -> dict[str, str]:
    """A user's recordings by name: what LASTHOP_TRACES names a folder of."""
    folder = os.environ.get("LASTHOP_TRACES")
    found = sorted(Path(folder).glob("*.down")) if folder else []
    return {path.stem: str(path.resolve()) for path in found}


def frame(lab: Lab, sweep: str, *, recorded: bool = False) -> pd.DataFrame:
    """A sweep over our traces, or the same over a user's recordings."""
    if not recorded:
        return lab.frame(sweep)
    like = lab.sweep(sweep)
    traces = {name: {"ap[0].radio.file": path} for name, path in recordings().items()}
    if not traces:
        return pd.DataFrame(columns=[*like.axes, "seed", *like.columns])
    return lab.frame_of(replace(like, axes={**like.axes, "trace": traces}), f"{sweep}, recorded")


def over_accepted(
    lab: Lab, trace: str, column: str, pick: str, accepted: Mapping[str, float]
) -> list[float]:
    """A column of the share window on a recording over what is accepted of it, by flow set.

    The least or the greatest of the ratios, by seed; NaN where there is no such recording.
    """
    found = frame(lab, "share", recorded=True)
    here = found[(found["trace"] == trace) & (found["target"] == TARGET_MS)]
    ratios = here[column] / here["flows"].map(dict(accepted))
    picked = ratios.groupby(here["seed"]).agg("min" if pick == "least" else "max")
    return [float(picked.get(seed, math.nan)) for seed in lab.seeds]


def delay_at_fq_codel(lab: Lab, flows: Sequence[str], *, recorded: bool = False) -> list[float]:
    """The share window's p95 over FQ-CoDel's at its utilisation: geometric mean, by seed.

    Over all traces and flow sets where the utilisation lies between those of the targets.
    """
    curves, others = frame(lab, "share", recorded=recorded), frame(lab, "others", recorded=recorded)
    references = others[(others["law"] == "fq-codel") & others["flows"].isin(list(flows))]
    return by_seed(lab, [
        (int(row["seed"]), p95_at(curves, row, row["utilisation"]) / row["p95_delay_s"])
        for _, row in references.iterrows()
    ])  # fmt: skip


def clamp_over_share(lab: Lab, *, recorded: bool = False) -> list[float]:
    """CLAMP's p95 over the share window's at equal utilisation: geometric mean, by seed."""
    curves, clamp = frame(lab, "share", recorded=recorded), frame(lab, "clamp", recorded=recorded)
    return by_seed(lab, [
        (int(row["seed"]), row["p95_delay_s"] / p95_at(curves, row, row["utilisation"]))
        for _, row in clamp.iterrows()
    ])  # fmt: skip


def share_at_abc(lab: Lab, flows: Sequence[str]) -> list[float]:
    """The share window's p95 at ABC's utilisation over ABC's: geometric mean, by seed.

    Over traces, flow sets and ABC's targets, where its utilisation is one of the share window's.
    """
    curves, abc = frame(lab, "share"), frame(lab, "abc")
    return by_seed(lab, [
        (int(row["seed"]), p95_at(curves, row, row["utilisation"]) / row["p95_delay_s"])
        for _, row in abc[abc["flows"].isin(list(flows))].iterrows()
    ])  # fmt: skip


def p95_at(curves: pd.DataFrame, row: pd.Series, utilisation: float) -> float:
    """The p95 at which the share window reaches a utilisation; NaN beyond its targets."""
    same = (curves[POINT] == row[POINT]).all(axis=1)
    curve = curves[same].sort_values("utilisation")
    x, y = curve["utilisation"].to_numpy(float), np.log(curve["p95_delay_s"].to_numpy(float))
    return float(np.exp(np.interp(utilisation, x, y, left=math.nan, right=math.nan)))


def by_seed(lab: Lab, found: Sequence[tuple[int, float]]) -> list[float]:
    """The geometric mean of what was found with each seed."""

    def mean(seed: int) -> float:
        logs = [math.log(value) for its, value in found if its == seed and not math.isnan(value)]
        return math.exp(fmean(logs)) if logs else math.nan

    return [mean(seed) for seed in lab.seeds]
