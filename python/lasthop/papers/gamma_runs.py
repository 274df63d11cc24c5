# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runs behind the paper ``gamma``: sweeps over flows, losses and round-trip times, and traces.

One sweep feeds every figure that looks at the same network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .. import _lasthop
from ..plot import COLOURS
from ..result import tables_of
from ..scenario import Overrides

if TYPE_CHECKING:
    from ..paper import Lab

PACKET_BITS = 8320
"""A packet on the wire."""
SETTLED: Overrides = (("warmup", "15 s"),)
"""Allotted figures are of the time after the start."""


@dataclass(frozen=True)
class Contender:
    """One curve of a figure: a sender, or a queue for it."""

    label: str
    colour: str
    overrides: Overrides


def aimd(alpha: float, beta: float) -> Overrides:
    """The sender TCP(α, β)."""
    return (("flow[*].sender.alpha", f"{alpha:g}"), ("flow[*].sender.beta", f"{beta:g}"))


SMOOTH, MODERATE, RENO, RESPONSIVE = "smooth", "moderate", "reno", "responsive"
PROTOCOLS = (SMOOTH, MODERATE, RENO, RESPONSIVE)
"""From smooth to responsive."""

RED: Overrides = (("link[0].queue.aqm", '{ kind = "red", queue_weight = 0.002, max_p = 0.1 }'),)
GAMMA: Overrides = (
    ("flow[*].sender.gamma", "{ threshold = 0.5 }"),
    ("flow[*].sender.timestamps", "true"),
)
DRAIN: Overrides = (
    ("flow[*].sender.gamma", '{ threshold = 0.5, variant = "drain" }'),
    ("flow[*].sender.timestamps", "true"),
)
DELTA: Overrides = (("flow[*].sender.delta", "{ threshold = 0.1, increase = 2 }"),)

CONTENDERS = {
    SMOOTH: Contender("TCP(0.31, 0.875)", COLOURS[0], aimd(0.31, 0.875)),
    MODERATE: Contender("TCP(0.583, 0.75)", COLOURS[4], aimd(0.583, 0.75)),
    RENO: Contender("TCP(1, 0.5)", COLOURS[6], aimd(1, 0.5)),
    RESPONSIVE: Contender("TCP(1.25, 0.25)", COLOURS[1], aimd(1.25, 0.25)),
    "red": Contender("TCP(1, 0.5), RED", COLOURS[5], aimd(1, 0.5) + RED),
    "gamma": Contender("TCP(1, 0.5), γ", COLOURS[2], aimd(1, 0.5) + GAMMA),
    "delta": Contender("TCP(1, 0.5), γ and δ", COLOURS[3], aimd(1, 0.5) + GAMMA + DELTA),
    "drain": Contender("TCP(1, 0.5), γ drains", COLOURS[4], aimd(1, 0.5) + DRAIN),
    "tfrc": Contender("TFRC", COLOURS[3], (("flow[*].sender", "tfrc"),)),
}


@dataclass(frozen=True)
class Family:
    """A sweep: what a value of its axis does to a scenario, for each of some contenders."""

    axis: str
    at: Callable[[float], Overrides]
    values: Sequence[float]
    quick: Sequence[float]
    contenders: Sequence[str] = PROTOCOLS
    scenario: str = "gamma"


def dumbbell(flows: int, mbps: float, access_mbps: float | None = None) -> Overrides:
    """N flows over a bottleneck of so many Mbit/s, with a buffer of rate × 100 ms."""
    access = mbps if access_mbps is None else access_mbps
    return (
        ("link[0].rate", f"{mbps:g} Mbit/s"),
        ("link[0].queue.limit", f"{int(mbps * 1e5 / PACKET_BITS)} packets"),
        ("flow[0].access", f"{access:g} Mbit/s"),
        ("flow[0].sink.rate", f"{access:g} Mbit/s"),
        ("flow[0].count", f"{flows}"),
    )


def lossy(network: Overrides, wireless_mbps: float, p: float) -> Overrides:
    """A network whose wireless links lose a share of the data."""
    loss: Overrides = (("flow[0].sink.loss", f'{{ kind = "bernoulli", p = {p:g} }}'),)
    return (*network, ("flow[0].sink.rate", f"{wireless_mbps:g} Mbit/s"), *(loss if p > 0 else ()))


def reading(share: float) -> Overrides:
    """Applications of 1 Mbit/s, whose readers want that share of it each second."""
    return (
        *SETTLED,
        ("flow[0].app", '{ kind = "cbr", rate = "1 Mbit/s" }'),
        ("flow[0].reader.share", f"{share:g}"),
    )


def diverse(queue: Overrides, longest_ms: float) -> Overrides:
    """Twenty flows with round-trip times from 30 ms to the longest."""
    return (*queue, ("flow[0].rtt_step", f"{(longest_ms - 30) / 19 * 1e6:.0f} ns"))


def fixed_windows(total: float) -> Overrides:
    """Ten flows whose windows are limited to a tenth of the total."""
    return (
        *dumbbell(10, 10),
        *SETTLED,
        ("flow[0].sender.window_limit", f"{total / 10:.0f} packets"),
    )


FLOWS = tuple(float(n) for n in range(10, 101, 10))
FEW = (10.0, 20.0, 30.0, 100.0)
LOSSES = (0.0, 0.001, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05)
SOME_LOSSES = (0.0, 0.005, 0.02, 0.03, 0.05)
RTTS = (30.0, 60.0, 100.0, 150.0, 200.0, 250.0, 300.0, 350.0, 400.0, 450.0, 500.0)
SOME_RTTS = (30.0, 150.0, 300.0, 500.0)
HANDOFFS = (0.5, 1.0)


def handoffs(mean_s: float) -> Overrides:
    """Handoffs of this mean length, 5 s apart in the mean."""
    loss = f'{{ kind = "handoff", on = "{mean_s * 1000:g} ms", off = "5 s" }}'
    return (("duration", "600 s"), ("flow[0].sink.loss", loss))


HANDOFF_TRACE: Overrides = (("duration", "100 s"),)
"""What the figures show of the handoffs; the means are of more."""


FAMILIES = {
    "wired-10": Family("flows", lambda n: dumbbell(int(n), 10), FLOWS, FEW),
    "wired-100": Family("flows", lambda n: dumbbell(int(n), 100), FLOWS, FEW),
    "readers": Family("flows", lambda n: dumbbell(int(n), n, 10) + reading(0.9), FLOWS, FEW),
    "lossy-10": Family("loss", lambda p: lossy(dumbbell(10, 10), 10, p), LOSSES, SOME_LOSSES),
    "lossy-100": Family(
        "loss", lambda p: lossy(dumbbell(100, 100), 100, p), LOSSES, SOME_LOSSES
    ),
    "lossy-100-slow": Family(
        "loss", lambda p: lossy(dumbbell(100, 100), 10, p), LOSSES, SOME_LOSSES
    ),
    "lossy-readers": Family(
        "loss", lambda p: lossy(dumbbell(100, 100), 10, p) + reading(0.7), LOSSES, SOME_LOSSES
    ),
    "handoffs": Family("handoff_s", handoffs, HANDOFFS, HANDOFFS, scenario="gamma-handoff"),
    "diverse": Family(
        "longest_ms", lambda ms: diverse((), ms), RTTS, SOME_RTTS, scenario="gamma-diverse"
    ),
    "diverse-red": Family(
        "longest_ms", lambda ms: diverse(RED, ms), RTTS, SOME_RTTS, scenario="gamma-diverse"
    ),
    "proposals": Family(
        "flows", lambda n: dumbbell(int(n), n) + SETTLED, FLOWS, FEW,
        (RENO, "red", "gamma", SMOOTH, "tfrc"),
    ),
    "variant": Family(
        "flows", lambda n: dumbbell(int(n), n) + SETTLED, FLOWS, FEW, ("gamma", "drain")
    ),
    "variant-10": Family(
        "flows", lambda n: dumbbell(int(n), 10) + SETTLED, FLOWS, FEW, ("gamma", "drain")
    ),
    "windows": Family(
        "window_packets", fixed_windows,
        (20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240, 260, 280),
        (60, 120, 180, 240, 280), (RENO,),
    ),
}  # fmt: skip


def sweep(lab: Lab, name: str) -> pd.DataFrame:
    """The runs of a family, one row a contender, value and seed; rates in bit/s, shares of one."""
    key = ("sweep", name)
    if key not in lab.memory:
        family = FAMILIES[name]
        values = family.values if lab.scale == "full" else family.quick
        points = [(contender, value) for contender in family.contenders for value in values]
        overrides = [(*CONTENDERS[c].overrides, *family.at(value)) for c, value in points]
        groups = lab.run(family.scenario, overrides, label=f"gamma: {name}")
        lab.memory[key] = pd.DataFrame(
            [
                {"contender": c, family.axis: value, "seed": seed, **_measures(record.summary)}
                for (c, value), group in zip(points, groups, strict=True)
                for seed, record in zip(lab.seeds, group, strict=True)
            ]
        )
    frame: pd.DataFrame = lab.memory[key]
    return frame


def _measures(summary: dict[str, Any]) -> dict[str, Any]:
    system, fairness, bottleneck = summary["system"], summary["fairness"], summary["queues"][0]
    return {
        "goodput_bps": system["goodput_bps"],
        "overhead": system["overhead"],
        "success": np.nan if system["success"] is None else system["success"],
        "cov": system["cov"],
        "fairness": fairness["jain"],
        "short_term_fairness": fairness["short_term"],
        "queueing_delay_s": bottleneck["mean_delay_s"],
    }


def mean_curve(lab: Lab, name: str, contender: str) -> pd.DataFrame:
    """One contender's curve, averaged over the seeds."""
    frame = sweep(lab, name)
    rows = frame[frame["contender"] == contender].drop(columns="contender")
    return rows.groupby(FAMILIES[name].axis, as_index=False).mean()


def at(lab: Lab, name: str, contender: str, value: float, column: str) -> list[float]:
    """A column at one point of a family, one value a seed."""
    frame = sweep(lab, name)
    wanted = (frame["contender"] == contender) & np.isclose(frame[FAMILIES[name].axis], value)
    return [float(found) for found in frame[wanted].sort_values("seed")[column]]


def seconds(lab: Lab, scenario: str, overrides: Overrides, contender: str) -> list[pd.DataFrame]:
    """Goodput and fairness of the system over time, one table a seed."""
    key = ("seconds", scenario, overrides, contender)
    if key not in lab.memory:
        point = (*CONTENDERS[contender].overrides, *overrides)
        (group,) = lab.run(scenario, [point], tables=True)
        lab.memory[key] = [tables_of(record)["system"] for record in group]
    found: list[pd.DataFrame] = lab.memory[key]
    return found


def within(frame: pd.DataFrame, start_s: float, end_s: float) -> pd.DataFrame:
    """The intervals that begin from ``start_s`` up to but without ``end_s``."""
    return frame[(frame["time_s"] >= start_s) & (frame["time_s"] < end_s)]


# One flow that recovers from a handoff (Fig. 20).

RECOVERING = (SMOOTH, RENO, "gamma", "delta")
HANDOFF_ENDS_S = 21.0
RECOVERY: Overrides = (
    ("duration", "100 s"),
    ("sample", "250 ms"),
    ("link[bottleneck].delay", "40 ms"),
    ("link[bottleneck].queue.limit", "144 packets"),
    ("flow[0].sink.loss", '{ kind = "handoff", at = ["20 s"], length = "1 s" }'),
)
"""A round-trip time of 120 ms, a buffer of rate × 120 ms, and one handoff of 1 s."""


def recovery(lab: Lab, contender: str) -> list[pd.DataFrame]:
    """Goodput over time around the handoff, one table a seed."""
    return seconds(lab, "gamma-handoff", RECOVERY, contender)


def recoveries(lab: Lab, contender: str) -> list[float]:
    """Seconds from the handoff's end to that of the first interval with 95 % of the goodput."""
    full_bps = 10e6 * 1000 / 1040
    times = []
    for table in recovery(lab, contender):
        after = within(table, HANDOFF_ENDS_S, np.inf)
        reached = after[after["goodput_bps"] >= 0.95 * full_bps]["time_s"]
        times.append(float(reached.iloc[0]) + 0.25 - HANDOFF_ENDS_S if len(reached) else np.nan)
    return times


# One NewReno flow against the equation.

LOSS_RATES = (0.0001, 0.001, 0.01, 0.03)
PATHS_S = (0.05, 0.1, 0.2)


def newreno(lab: Lab) -> pd.DataFrame:
    """Packets a second of one NewReno flow by loss, round-trip time and seed."""
    if "newreno" not in lab.memory:
        points = [(loss, rtt_s) for rtt_s in PATHS_S for loss in LOSS_RATES]
        overrides: list[Overrides] = [
            (
                *lossy(dumbbell(1, 100), 100, loss),
                ("duration", "350 s" if loss > 0.001 else "2050 s"),
                ("warmup", "50 s"),
                ("link[0].queue.limit", "10000 packets"),
                ("flow[0].rtt", f"{rtt_s * 1e3 - 80:g} ms" if rtt_s > 0.09 else "0 ms"),
                ("link[0].delay", "30 ms" if rtt_s > 0.09 else "15 ms"),
                ("flow[0].sender.recovery", "newreno"),
                ("flow[0].sender.window_limit", "100000 packets"),
            )
            for loss, rtt_s in points
        ]
        groups = lab.run("gamma", overrides, label="gamma: NewReno")
        lab.memory["newreno"] = pd.DataFrame(
            [
                {
                    "loss": loss,
                    "rtt_s": rtt_s,
                    "seed": seed,
                    "packets_per_s": record.summary["system"]["goodput_bps"] / 8000,
                }
                for (loss, rtt_s), group in zip(points, groups, strict=True)
                for seed, record in zip(lab.seeds, group, strict=True)
            ]
        )
    frame: pd.DataFrame = lab.memory["newreno"]
    return frame


def predicted(frame: pd.DataFrame) -> pd.Series:
    """What equation 1 gives at the points of a frame, in packets/s."""
    return pd.Series(
        [
            throughput(1.0, 0.5, loss, rtt_s)
            for loss, rtt_s in zip(frame["loss"], frame["rtt_s"], strict=True)
        ],
        index=frame.index,
    )


def throughput(alpha: float, beta: float, loss: float, rtt_s: float) -> float:
    """Equation 1 in packets/s, with a time-out of 0.2 s or a little more than a round trip."""
    return _lasthop.throughput(loss, rtt_s, max(0.2, 1.1 * rtt_s), alpha=alpha, beta=beta)
