# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of the paper ``qfcp``, drawn in its manner, and those beyond it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .._lasthop import settling_time
from ..paper import Drawing
from ..plot import COLOURS
from ..scenario import Overrides
from .qfcp_runs import (
    LOSSES,
    NEWRENO,
    PACKET_BYTES,
    PAYLOAD_BYTES,
    PROTOCOLS,
    XCP_B,
    goodputs,
    jain,
    lossy,
    of,
    qfcp,
    rates,
    series,
    summaries,
    xcp,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..paper import Lab

TENTHS = [round(0.1 * tenths, 1) for tenths in range(1, 11)]

FIGURE_2: dict[str, Overrides] = {
    "TCP": NEWRENO,
    "XCP, C = 1": xcp("1 Mbit/s"),
    "XCP, C = 10": xcp("10 Mbit/s"),
    "QFCP, C = 1": qfcp("1 Mbit/s"),
    "QFCP, C = 10": qfcp("10 Mbit/s"),
}
FIGURE_3: dict[str, Overrides] = {
    "TCP": NEWRENO,
    "XCP, C = 4": xcp("4 Mbit/s"),
    "QFCP, C = 1": qfcp("1 Mbit/s"),
    "QFCP, downlink only": qfcp(router="simplex = false"),
}
WIRE = (7, 8, 9, 9.5, 10, 10.5, 11, 12, 13, 14, 15, 16)
"""What XCP is told in Mbit/s on a wire of 10 Mbit/s."""


def _lines(axes: Axes, data: pd.DataFrame, scale: float = 1.0) -> None:
    colours = plt_colours(len(data.columns))
    for colour, column in zip(colours, data.columns, strict=True):
        axes.plot(data.index, data[column] / scale, color=colour, lw=0.9, label=column)
    axes.legend(ncols=2 if len(data.columns) > 3 else 1)


def plt_colours(count: int) -> list[object]:
    """The house's colours, or a scale of one where they do not suffice."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    import matplotlib as mpl

    return [mpl.colormaps["viridis"](place) for place in np.linspace(0, 0.95, count)]


def _over_time(
    data: pd.DataFrame, label: str, scale: float, *, top: float | None = None
) -> Drawing:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _lines(axes, data, scale)
        axes.set(xlabel="time [s]", ylabel=label)
        axes.set_ylim(0, top)

    return Drawing(data.reset_index(), draw)


def table_1(lab: Lab) -> Drawing:
    """Time to the steady state for all gains."""
    del lab
    rows = [[settling_time(alpha, beta) for alpha in TENTHS] for beta in TENTHS]
    data = pd.DataFrame(rows, TENTHS, [f"{alpha:.1f}" for alpha in TENTHS])
    data.index.name = "beta"

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for colour, beta in zip(plt_colours(10), data.index, strict=True):
            axes.plot(TENTHS, data.loc[beta], ".-", color=colour, label=f"β = {beta:.1f}")
        axes.set(xlabel="α [1]", ylabel="time to the steady state [s]")
        axes.set_ylim(0, None)
        axes.legend(ncols=2)

    return Drawing(data.reset_index(), draw)


def window(tables: Mapping[str, pd.DataFrame], flow: str) -> pd.Series:
    """A flow's congestion window in packets by time."""
    samples = of(tables["flows"], "flow", flow)
    return pd.Series(samples["cwnd_bytes"].to_numpy() / PAYLOAD_BYTES, samples["time_s"].to_numpy())


def _columns(parts: Mapping[str, pd.Series]) -> pd.DataFrame:
    frame = pd.DataFrame(dict(parts))
    frame.index.name = "time_s"
    return frame


def figure_2a(lab: Lab) -> Drawing:
    """Congestion window of one download."""
    data = _columns(
        {
            name: window(series(lab, "qfcp-download", what)[0], "down")
            for name, what in FIGURE_2.items()
        }
    )
    return _over_time(data, "congestion window [packets]", 1, top=250)


def figure_2b(lab: Lab) -> Drawing:
    """Goodput of one download."""
    data = _columns(
        {
            name: rates(series(lab, "qfcp-download", what)[0])["down"]
            for name, what in FIGURE_2.items()
        }
    )
    return _over_time(data, "goodput [Mbit/s]", 1e6)


def figure_2c(lab: Lab) -> Drawing:
    """Retransmitted bytes of one download until each time."""
    data = _columns({name: _retransmitted(lab, what) for name, what in FIGURE_2.items()})
    return _over_time(data, "retransmitted [kB]", 1e3)


def _retransmitted(lab: Lab, what: Overrides) -> pd.Series:
    """Bytes sent again, from runs of several lengths."""
    ends = range(0, 41, 4)
    points = [(*what, ("duration", f"{end} s"), ("warmup", "0 s")) for end in ends if end]
    found = lab.run("qfcp-download", points, label="retransmissions")
    counts = [0, *(group[0].summary["flows"][0]["retransmits"] for group in found)]
    return pd.Series([count * PAYLOAD_BYTES for count in counts], list(ends), dtype=float)


def figure_2d(lab: Lab) -> Drawing:
    """The base station's queue."""
    parts = {}
    for name, what in FIGURE_2.items():
        samples = of(series(lab, "qfcp-download", what)[0]["queues"], "queue", "wlan")
        parts[name] = pd.Series(samples["packets"].to_numpy(), samples["time_s"].to_numpy())
    return _over_time(_columns(parts), "queue [packets]", 1)


def windows_of_twelve(what: Overrides, lab: Lab) -> Drawing:
    """Congestion windows of twelve flows."""
    tables = series(lab, "qfcp-twelve", what)[0]
    names = list(dict.fromkeys(tables["flows"]["flow"].astype(str)))
    data = _columns({name: window(tables, name) for name in names})
    return _over_time(data, "congestion window [packets]", 1)


def figure_3c(lab: Lab) -> Drawing:
    """Jain's index of each second."""
    data = _columns(
        {name: jain(rates(series(lab, "qfcp-twelve", what)[0])) for name, what in FIGURE_3.items()}
    )
    return _over_time(data, "Jain's index of a second [1]", 1, top=1.05)


def figure_4a(lab: Lab) -> Drawing:
    """Windows with and without loss."""
    parts = {}
    for name, what in (("QFCP", qfcp()), ("XCP-b", XCP_B)):
        for share, label in ((0.0, "no loss"), (0.01, "loss 1 %")):
            tables = series(lab, "qfcp-loss", (*what, *lossy(share)))[0]
            parts[f"{name}, {label}"] = window(tables, "down")
    return _over_time(_columns(parts), "congestion window [packets]", 1)


def figure_4b(lab: Lab) -> Drawing:
    """Windows of a lossy flow and of a lossless one beside it."""
    parts = {}
    for name, what in (("QFCP", qfcp()), ("XCP-b", XCP_B)):
        tables = series(lab, "qfcp-pair", what)[0]
        for flow in ("lossy", "lossless"):
            parts[f"{name}, {flow}"] = window(tables, flow)
    return _over_time(_columns(parts), "congestion window [packets]", 1)


def losses(lab: Lab) -> Drawing:
    """Goodput against the loss rate."""
    rows = {
        share: {
            name: float(np.mean(goodputs(lab, "qfcp-loss", (*what, *lossy(share)))))
            for name, what in PROTOCOLS.items()
        }
        for share in LOSSES[lab.scale]
    }
    data = pd.DataFrame.from_dict(rows, orient="index")
    data.index.name = "loss"

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for colour, name in zip(COLOURS, data.columns, strict=False):
            axes.plot(data.index, data[name] / 1e6, "o-", color=colour, label=name)
        axes.set(xlabel="share of packets lost [1]", ylabel="goodput [Mbit/s]", xscale="log")
        axes.set_ylim(0, None)
        axes.legend()

    return Drawing(data.reset_index(), draw)


def steps(lab: Lab) -> Drawing:
    """Rate and estimated capacity while the WLAN's rate steps."""
    tables = series(lab, "qfcp-steps", (("duration", "75 s"),))[0]
    base = of(tables["queues"], "queue", "wlan")
    capacity = pd.Series(base["capacity_bps"].to_numpy(), base["time_s"].to_numpy())
    tcp = series(lab, "qfcp-steps", (*NEWRENO, ("duration", "75 s")))[0]
    data = _columns({"QFCP": rates(tables)["down"], "TCP": rates(tcp)["down"]})
    data = data.join(capacity.rename("C of QFCP's router"), how="left")
    return _over_time(data, "goodput, capacity [Mbit/s]", 1e6)


def wire(lab: Lab) -> Drawing:
    """Queue and goodput of XCP on a wire of 10 Mbit/s that it takes for another."""
    rows = []
    for told in WIRE:
        found = summaries(lab, "xcp-wire", (("link[0].feedback.capacity", f"{told} Mbit/s"),))[0]
        queue = found["queues"][0]
        rows.append(
            {
                "told_bps": told * 1e6,
                "queue_packets": queue["mean_bytes"] / PACKET_BYTES,
                "law_packets": rest_packets(told * 1e6, 10e6, 0.04),
                "goodput_bps": found["flows"][0]["goodput_bps"],
            }
        )
    data = pd.DataFrame(rows)

    def draw(figure: Figure) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True)
        mbps = data["told_bps"] / 1e6
        top.plot(mbps, data["queue_packets"], "o-", color=COLOURS[0], label="mean queue")
        top.plot(mbps, data["law_packets"], "k--", label="(α/β)(C − y)d")
        top.set(ylabel="queue [packets]", ylim=(0, 100))
        bottom.plot(mbps, data["goodput_bps"] / 1e6, "o-", color=COLOURS[1], label="goodput")
        bottom.set(xlabel="capacity that XCP is told [Mbit/s]", ylabel="goodput [Mbit/s]")
        bottom.set_ylim(0, None)
        for axes in (top, bottom):
            axes.legend()

    return Drawing(data, draw, size=(5.2, 4.8))


def rest_packets(told: float, carried: float, rtt_s: float) -> float:
    """XCP's standing queue where ``carried`` bit/s are taken for ``told``; NaN: it has no end.

    α(C − y)d = βq with d = d₀ + q/y.
    """
    gain = 0.4 / 0.2263 * (told - carried) / carried
    if gain >= 1:
        return float("nan")
    return max(0.0, gain * carried * rtt_s / 8 / (1 - gain) / PACKET_BYTES)


FIGURES: dict[str, Callable[[Lab], Drawing]] = {
    "table1": table_1,
    "2a": figure_2a,
    "2b": figure_2b,
    "2c": figure_2c,
    "2d": figure_2d,
    "3a": partial(windows_of_twelve, qfcp()),
    "3b": partial(windows_of_twelve, NEWRENO),
    "3c": figure_3c,
    "4a": figure_4a,
    "4b": figure_4b,
    "loss": losses,
    "steps": steps,
    "wire": wire,
}
