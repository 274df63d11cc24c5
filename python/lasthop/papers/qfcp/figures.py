# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``qfcp``, drawn in its manner, and those beyond it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ... import _lasthop
from ...lab import Drawing, Lab, Run, acknowledged, colours, over_time, rates
from ...plot import COLOURS, legend_below
from .measures import PACKET_BYTES, PAYLOAD_BYTES, jain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TENTHS = [round(0.1 * tenths, 1) for tenths in range(1, 11)]
COMPARED = ["TCP", "XCP, C = 1", "XCP, C = 10", "QFCP, C = 1", "QFCP, C = 10"]
"""What Fig. 2 shows."""
TWO = {"QFCP": "QFCP, C = 1", "XCP-b": "XCP-b"}
"""What Fig. 4 shows."""
LOSSES = {"TCP": "NewReno", "XCP, C = 4": "XCP", "QFCP, C = 1": "QFCP"}
"""What the curves against loss are called, where not as the protocol is here."""
WIRE_MBPS = 10
"""What the wire carries; XCP is told this, and less and more."""


def table_1(lab: Lab) -> Drawing:
    """Time to the steady state for all gains."""
    del lab
    rows = [[_lasthop.settling_time(alpha, beta) for alpha in TENTHS] for beta in TENTHS]
    data = pd.DataFrame(rows, TENTHS, [f"{alpha:.1f}" for alpha in TENTHS])
    data.index.name = "beta"

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for colour, beta in zip(colours(10), data.index, strict=True):
            axes.plot(TENTHS, data.loc[beta], ".-", color=colour, label=f"β = {beta:.1f}")
        axes.set(xlabel="α", ylabel="time to the steady state [s]")
        axes.set_ylim(0, None)
        legend_below(figure)

    return Drawing(data.reset_index(), draw)


def window(run: Run, flow: str) -> pd.Series:
    """A flow's congestion window in packets by time."""
    samples = run.flow(flow)
    return pd.Series(samples["cwnd_bytes"].to_numpy() / PAYLOAD_BYTES, samples["time_s"].to_numpy())


def goodput(run: Run) -> pd.DataFrame:
    """The rates of the flows in bit/s, second by second."""
    return rates(acknowledged(run.tables))


def _downloads(lab: Lab) -> dict[str, Run]:
    return {name: lab.run("download", protocol=name) for name in COMPARED}


def figure_2a(lab: Lab) -> Drawing:
    """Congestion window of one download."""
    parts = {name: window(run, "down") for name, run in _downloads(lab).items()}
    return over_time(pd.DataFrame(parts), "congestion window [packets]", top=250)


def figure_2b(lab: Lab) -> Drawing:
    """Goodput of one download."""
    parts = {name: goodput(run)["down"] for name, run in _downloads(lab).items()}
    return over_time(pd.DataFrame(parts), "goodput [Mbit/s]", times=1e-6)


def figure_2c(lab: Lab) -> Drawing:
    """Retransmitted bytes of one download until each time, with the first seed."""
    parts = {}
    for name in COMPARED:
        frame = lab.frame("retransmissions", protocol=name)
        counts = frame[frame["seed"] == lab.seeds[0]].set_index("end_s")["retransmits"]
        parts[name] = pd.concat([pd.Series({0: 0.0}), counts * float(PAYLOAD_BYTES)])
    return over_time(pd.DataFrame(parts), "retransmitted [kB]", times=1e-3)


def figure_2d(lab: Lab) -> Drawing:
    """The base station's queue."""
    parts = {
        name: run.queue("wlan").set_index("time_s")["packets"]
        for name, run in _downloads(lab).items()
    }
    return over_time(pd.DataFrame(parts), "queue [packets]")


def windows_of_twelve(lab: Lab, protocol: str) -> Drawing:
    """Congestion windows of twelve flows."""
    run = lab.run("twelve", protocol=protocol)
    names = [flow["name"] for flow in run.summary["flows"]]
    data = pd.DataFrame({name: window(run, name) for name in names})
    return over_time(data, "congestion window [packets]")


def figure_3c(lab: Lab) -> Drawing:
    """Jain's index of each second."""
    names = lab.sweep("twelve").values("protocol")
    parts = {name: jain(goodput(lab.run("twelve", protocol=name))) for name in names}
    return over_time(pd.DataFrame(parts), "Jain's index in each second", top=1.05)


def figure_4a(lab: Lab) -> Drawing:
    """Windows with and without loss."""
    parts = {
        f"{name}, {label}": window(lab.run("kept", protocol=protocol, loss=loss), "down")
        for name, protocol in TWO.items()
        for loss, label in ((0, "no loss"), (0.01, "loss 1 %"))
    }
    return over_time(pd.DataFrame(parts), "congestion window [packets]")


def figure_4b(lab: Lab) -> Drawing:
    """Windows of a lossy flow and of a lossless one beside it."""
    parts = {
        f"{name}, {flow}": window(lab.run("pair", protocol=protocol), flow)
        for name, protocol in TWO.items()
        for flow in ("lossy", "lossless")
    }
    return over_time(pd.DataFrame(parts), "congestion window [packets]")


def losses(lab: Lab) -> Drawing:
    """Goodput against the loss rate."""
    found = lab.frame("loss").groupby(["loss", "protocol"], sort=False)["goodput_bps"].mean()
    data = found.unstack("protocol").rename(columns=LOSSES)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for colour, name in zip(COLOURS, data.columns, strict=False):
            axes.plot(data.index, data[name] / 1e6, "o-", color=colour, label=name)
        axes.set(xlabel="share of packets lost", ylabel="goodput [Mbit/s]", xscale="log")
        axes.set_ylim(0, None)
        legend_below(figure)

    return Drawing(data.reset_index(), draw)


def steps(lab: Lab) -> Drawing:
    """Rate and estimated capacity while the WLAN's rate steps."""
    qfcp, tcp = (lab.run("steps", protocol=name) for name in ("as shipped", "TCP"))
    capacity = qfcp.queue("wlan").set_index("time_s")["capacity_bps"]
    data = pd.DataFrame({"QFCP": goodput(qfcp)["down"], "TCP": goodput(tcp)["down"]})
    data = data.join(capacity.rename("C of QFCP's router"), how="left")
    return over_time(data, "goodput, capacity [Mbit/s]", times=1e-6)


def beside(lab: Lab) -> Drawing:
    """QFCP's share beside as many TCP flows, by the queue that they meet in."""
    data = (
        lab.frame("beside").groupby(["each", "queue"], sort=False)["share"].mean().unstack("queue")
    )
    return _shares(data, "flows of each")


def beside_wlan(lab: Lab) -> Drawing:
    """QFCP's share on a WLAN beside as many TCP flows, by who uploads, in one queue or in two."""
    frame = lab.frame("beside-wlan")
    frame["who"] = frame["each"].astype(str) + " " + frame["ways"]
    data = frame.groupby(["who", "queue"], sort=False)["share"].mean().unstack("queue")
    return _shares(data, "flows of each, QFCP beside TCP", rotated=True)


def _shares(data: pd.DataFrame, what: str, *, rotated: bool = False) -> Drawing:
    """Shares by queue, a line each, over ``what``, whose names may be long."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for colour, name in zip(COLOURS, data.columns, strict=False):
            axes.plot(data.index, data[name], "o-", color=colour, label=name)
        axes.axhline(0.5, color="k", linestyle="--", linewidth=0.8, label="half")
        axes.set(xlabel=what, ylabel="QFCP's share of the goodput", ylim=(0, 1))
        if rotated:
            figure.autofmt_xdate(rotation=25)
        legend_below(figure)

    return Drawing(data.reset_index(), draw)


def wire(lab: Lab) -> Drawing:
    """Queue and goodput of XCP on a wire of 10 Mbit/s that it takes for another."""
    found = lab.frame("wire", carried_mbps=WIRE_MBPS, told_mbps={"from": 7})
    found = found[found["seed"] == lab.seeds[0]].reset_index(drop=True)
    data = pd.DataFrame(
        {
            "told_bps": found["told_mbps"] * 1e6,
            "queue_packets": found["queue_packets"],
            "law_packets": [rest_packets(told) for told in found["told_mbps"]],
            "goodput_bps": found["goodput_bps"],
        }
    )

    def draw(figure: Figure) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True)
        mbps = data["told_bps"] / 1e6
        top.plot(mbps, data["queue_packets"], "o-", color=COLOURS[0], label="mean queue")
        top.plot(mbps, data["law_packets"], "k--", label="(α/β)(C − y)d")
        top.set(ylabel="queue [packets]", ylim=(0, 100))
        bottom.plot(mbps, data["goodput_bps"] / 1e6, "o-", color=COLOURS[1], label="goodput")
        bottom.set(xlabel="capacity that XCP is told [Mbit/s]", ylabel="goodput [Mbit/s]")
        bottom.set_ylim(0, None)
        legend_below(figure)

    return Drawing(data, draw, size=(5.2, 4.8))


def rest_packets(told_mbps: float) -> float:
    """XCP's standing queue on the wire that is taken for another; NaN: it has no end."""
    rest = _lasthop.xcp_standing_queue(told_mbps * 1e6, WIRE_MBPS * 1e6, 0.04, beta=0.2263)
    return math.nan if rest is None else rest / PACKET_BYTES
