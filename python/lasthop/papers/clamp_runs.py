# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runs behind the paper ``clamp``: four flows along a buffer or along a, and single traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..grid import mean_delay
from ..result import tables_of
from ..scenario import Overrides

if TYPE_CHECKING:
    from ..paper import Lab

LENGTH = {"full": ("3000 s", "300 s"), "quick": ("400 s", "100 s")}
"""Duration and warm-up of a run."""

FLOWS = ("flow-1", "flow-2", "flow-3", "flow-4")
PROPAGATION = ("30 ms", "130 ms", "10 ms", "180 ms")
MEGABYTE_BITS = 8e6
WHOLE_PACKETS = 1500 / 1460
"""Throughput, which counts whole packets, over goodput, which counts their payload."""
UNBOUNDED = 2**31
"""What the widest window field cannot say."""

LOW_RATE: Overrides = (
    ("ap[0].radio.bandwidth", "620 kHz"),
    ("ap[0].radio.max_rate", "1.44 Mbit/s"),
)


@dataclass(frozen=True)
class Family:
    """One curve: a scenario with one value varied. The values are in kB."""

    scenario: str
    key: str
    values: tuple[float, ...]
    quick: tuple[float, ...]
    overrides: Overrides = ()


A = "ap[0].price.a"
BUFFER = "ap[0].queue.limit"

# Chosen so that the mean queueing delay runs from about 10 to about 400 ms, through the points
# at which claims are made (17.5 and 6.5 kB, 30.5 and 18.2 kB). In slow fading it ends near 250 ms
# whatever is set: the radio's losses then bound the windows.
FAMILIES = {
    "slow-clamp": Family(
        "four-flows-slow-clamp", A,
        (1, 2, 5, 9, 13, 17.5, 24, 32, 42, 56, 70, 85, 105, 130, 160),
        (2, 9, 17.5, 32, 70, 160),
    ),
    "slow-tcp": Family(
        "four-flows-slow-tcp", BUFFER,
        (6, 9, 14, 22, 30.5, 42, 56, 75, 100, 135, 180),
        (9, 22, 30.5, 56, 100, 180),
    ),
    "fast-clamp": Family(
        "four-flows-fast-clamp", A,
        (1, 2, 3, 4.5, 6.5, 9, 13, 18, 25, 35, 45, 60, 80),
        (1, 3, 6.5, 13, 25, 60),
    ),
    "fast-tcp": Family(
        "four-flows-fast-tcp", BUFFER,
        (6, 9, 13, 18.2, 25, 35, 48, 65, 90, 130),
        (9, 18.2, 35, 65, 130),
    ),
    "low-clamp": Family(
        "four-flows-fast-clamp", A,
        (1, 1.5, 2, 3, 4.5, 6.5, 9, 12),
        (1, 2, 4.5, 6.5, 12),
        LOW_RATE,
    ),
    "low-tcp": Family(
        "four-flows-fast-tcp", BUFFER,
        (4.5, 6, 7.5, 9, 12, 16, 20),
        (4.5, 7.5, 9, 16),
        LOW_RATE,
    ),
}  # fmt: skip


def curve(lab: Lab, name: str) -> pd.DataFrame:
    """The runs of a family, one row a point and seed, with delays in s and rates in bit/s."""
    key = ("curve", name)
    if key not in lab.memory:
        family = FAMILIES[name]
        values = family.values if lab.scale == "full" else family.quick
        points = [
            (*length(lab), *family.overrides, (family.key, f"{value:g} kB")) for value in values
        ]
        groups = lab.run(family.scenario, points, label=name)
        rows = [
            {"parameter_bytes": value * 1e3, "seed": seed, **_measures(record.summary)}
            for value, group in zip(values, groups, strict=True)
            for seed, record in zip(lab.seeds, group, strict=True)
        ]
        lab.memory[key] = pd.DataFrame(rows)
    frame: pd.DataFrame = lab.memory[key]
    return frame


def length(lab: Lab) -> Overrides:
    """Duration and warm-up at the lab's scale."""
    duration, warmup = LENGTH[lab.scale]
    return (("duration", duration), ("warmup", warmup))


def _measures(summary: dict[str, Any]) -> dict[str, Any]:
    flows = {flow["name"]: flow for flow in summary["flows"]}
    rates = {name: flow["goodput_bps"] * WHOLE_PACKETS for name, flow in flows.items()}
    measured_s = summary["duration_s"] - summary["warmup_s"]
    row: dict[str, Any] = {
        "delay_s": mean_delay(summary),
        "total_bps": sum(rates.values()),
        "download_s": np.mean([MEGABYTE_BITS / max(rate, 1e-9) for rate in rates.values()]),
        "timeouts_10ms": flows["flow-3"]["timeouts"] * 2700 / measured_s,
    }
    for name in FLOWS:
        row[f"{name}_bps"] = rates[name]
        row[f"{name}_awnd_limited"] = flows[name]["awnd_limited_fraction"]
    for queue in summary["queues"]:
        station = queue["name"].rpartition("/")[2]
        row[f"{station}_mean_bytes"] = queue["mean_bytes"]
        row[f"{station}_empty"] = queue["empty_fraction"]
    return row


def mean_curve(lab: Lab, name: str) -> pd.DataFrame:
    """A family's curve, averaged over the seeds, in the order of the delay."""
    return curve(lab, name).groupby("parameter_bytes", as_index=False).mean().sort_values("delay_s")


def at_parameter(lab: Lab, name: str, kilobytes: float, column: str) -> list[float]:
    """A column at one point of a family, one value a seed."""
    frame = curve(lab, name)
    rows = frame[np.isclose(frame["parameter_bytes"], kilobytes * 1e3)].sort_values("seed")
    return [float(value) for value in rows[column]]


def at_delay(lab: Lab, name: str, delay_s: float, column: str) -> list[float]:
    """A column where a family has a delay, between its points by straight lines; NaN beyond."""
    values = []
    for _, rows in curve(lab, name).groupby("seed"):
        ordered = rows.sort_values("delay_s")
        values.append(
            float(
                np.interp(delay_s, ordered["delay_s"], ordered[column], left=np.nan, right=np.nan)
            )
        )
    return values


def series(lab: Lab, scenario: str, overrides: Overrides) -> list[dict[str, pd.DataFrame]]:
    """The sampled tables of a scenario, one set a seed."""
    key = ("series", scenario, overrides)
    if key not in lab.memory:
        (group,) = lab.run(scenario, [overrides], tables=True)
        lab.memory[key] = [tables_of(record) for record in group]
    found: list[dict[str, pd.DataFrame]] = lab.memory[key]
    return found


def summaries(lab: Lab, scenario: str, overrides: Overrides = ()) -> list[dict[str, Any]]:
    """The summaries of a scenario, one a seed."""
    (group,) = lab.run(scenario, [overrides])
    return [record.summary for record in group]


def of_flow(tables: dict[str, pd.DataFrame], name: str) -> pd.DataFrame:
    """The samples of one flow; an advertised window that nobody has bounded yet is NaN."""
    flows = tables["flows"]
    samples = flows[flows["flow"] == name].reset_index(drop=True)
    samples["awnd_bytes"] = samples["awnd_bytes"].where(samples["awnd_bytes"] < UNBOUNDED)
    return samples


def of_queue(tables: dict[str, pd.DataFrame], station: str) -> pd.DataFrame:
    """The samples of one queue, by its own name or that of its station."""
    queues = tables["queues"]
    names = queues["queue"].astype(str)
    return queues[(names == station) | names.str.endswith(f"/{station}")].reset_index(drop=True)


def within(frame: pd.DataFrame, start_s: float, end_s: float) -> pd.DataFrame:
    """The samples from ``start_s`` up to but without ``end_s``."""
    return frame[(frame["time_s"] >= start_s) & (frame["time_s"] < end_s)]


def rate_of(frame: pd.DataFrame, bin_s: float) -> pd.DataFrame:
    """A flow's rate in bit/s in bins, from its count of acknowledged bytes."""
    bins = (frame["time_s"] / bin_s + 1e-9).astype(int)
    last = frame.groupby(bins)["acknowledged_bytes"].last().astype(float)
    rate = last.diff().fillna(last) * 8 / bin_s
    return pd.DataFrame({"time_s": (last.index + 0.5) * bin_s, "rate_bps": rate.to_numpy()})
