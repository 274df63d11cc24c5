# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of ``clamp``, drawn in its manner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ... import _lasthop
from ...lab import Drawing, Lab, within
from ...plot import COLOURS, legend_below
from .measures import long_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TCP, CLAMP = COLOURS[1], COLOURS[0]
PACKET_BYTES = 1500
A_BYTES, B, TAU_BYTES = 5500, 1, 500
"""CLAMP's parameters on the deterministic link (Fig. 2)."""

FLOWS = {"flow-1": "30 ms", "flow-2": "130 ms", "flow-3": "10 ms", "flow-4": "180 ms"}
"""The flows with their propagation delays."""
DELAY_LABEL = "mean queueing delay [ms]"


def figure_2(lab: Lab) -> Drawing:
    """Windows of flow 1 and the queue as flows come and go."""
    tcp, clamp = lab.run("deterministic-tcp"), lab.run("deterministic-clamp")
    window_tcp, window_clamp = tcp.flow("flow-1"), clamp.flow("flow-1")
    queue_tcp, queue_clamp = tcp.queue("bottleneck"), clamp.queue("bottleneck")
    data = pd.DataFrame(
        {
            "time_s": window_tcp["time_s"],
            "tcp_cwnd_bytes": window_tcp["cwnd_bytes"],
            "clamp_awnd_bytes": window_clamp["awnd_bytes"],
            "tcp_queue_bytes": queue_tcp["bytes"],
            "clamp_queue_bytes": queue_clamp["bytes"],
            "clamp_average_queue_bytes": queue_clamp["average_bytes"],
            "fluid_queue_bytes": fluid_queue(window_tcp["time_s"].to_numpy()),
        }
    )

    def draw(figure: Figure) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True)
        time = data["time_s"]
        top.plot(time, data["tcp_cwnd_bytes"] / PACKET_BYTES, color=TCP, label="TCP (CWND)")
        top.plot(time, data["clamp_awnd_bytes"] / PACKET_BYTES, color=CLAMP, label="CLAMP (AWND)")
        top.set(ylabel="window of flow 1 [packets]", title="(a) Window dynamics", ylim=(0, 70))
        bottom.plot(time, data["tcp_queue_bytes"] / 1e3, color=TCP, lw=0.5, label="TCP")
        bottom.plot(time, data["clamp_queue_bytes"] / 1e3, color=CLAMP, lw=0.5, label="CLAMP")
        average = data["clamp_average_queue_bytes"] / 1e3
        bottom.plot(time, average, color=COLOURS[2], label="CLAMP's average")
        bottom.plot(time, data["fluid_queue_bytes"] / 1e3, "k--", label="fluid model: (kτ + a)/b")
        bottom.set(xlabel="time [s]", ylabel="queue [kB]", title="(b) Queue dynamics", ylim=(0, 25))
        for axes in (top, bottom):
            axes.legend(loc="upper right", ncols=4)

    return Drawing(data, draw, size=(6.4, 5.6))


def fluid_queue(time_s: np.ndarray) -> np.ndarray:
    """The equilibrium of clamp#11 for the flows of Fig. 2 that are there at each time, in bytes."""
    flows = 1 + ((time_s >= 50) & (time_s < 200)) + ((time_s >= 100) & (time_s < 150))
    rest = {int(k): _lasthop.clamp_equilibrium(A_BYTES, B, TAU_BYTES, k) for k in np.unique(flows)}
    return np.array([rest[int(k)] for k in flows])


def mean_curve(lab: Lab, sweep: str) -> pd.DataFrame:
    """A curve, averaged over the seeds, in the order of the delay."""
    mean = lab.frame(sweep).groupby("parameter_bytes", as_index=False).mean()
    return mean.sort_values("delay_s")


def spread(axes: Axes, lab: Lab, sweep: str, column: str, times: float, colour: str) -> None:
    """From the least to the greatest of the seeds, around the curve of their mean."""
    seeds = (
        lab.frame(sweep)
        .groupby("parameter_bytes")
        .agg(delay_s=("delay_s", "mean"), low=(column, "min"), high=(column, "max"))
        .sort_values("delay_s")
    )
    axes.fill_between(seeds["delay_s"] * 1e3, seeds["low"] * times, seeds["high"] * times,
                      color=colour, alpha=0.15, lw=0)  # fmt: skip


def throughput(lab: Lab, sweep: str, title: str) -> Drawing:
    """Throughput of each flow against the mean queueing delay (Figs. 4 and 10)."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        mean = mean_curve(lab, sweep)
        styles = ("-", "-", "-.", "--")
        for index, (flow, delay) in enumerate(FLOWS.items()):
            axes.plot(
                mean["delay_s"] * 1e3, mean[f"{flow}_bps"] / 1e6, styles[index],
                color=COLOURS[index], marker=".", label=f"flow {index + 1}: {delay}",
            )  # fmt: skip
            spread(axes, lab, sweep, f"{flow}_bps", 1e-6, COLOURS[index])
        axes.set(xlabel=DELAY_LABEL, ylabel="throughput per flow [Mbit/s]", title=title)
        axes.set(xlim=(0, None), ylim=(0, None))
        legend_below(figure)

    return Drawing(lab.frame(sweep), draw)


CURVES = {
    "slow-clamp": ("CLAMP, 0.1 m/s", CLAMP, "-"),
    "slow-tcp": ("TCP NewReno, 0.1 m/s", TCP, "-"),
    "fast-clamp": ("CLAMP, 10 m/s", CLAMP, "--"),
    "fast-tcp": ("TCP NewReno, 10 m/s", TCP, "--"),
}
PARAMETERS = {
    "slow-tcp": ("TCP: buffer, 0.1 m/s", TCP, "-"),
    "fast-tcp": ("TCP: buffer, 10 m/s", TCP, "--"),
    "slow-clamp": ("CLAMP: a, 0.1 m/s", CLAMP, "-"),
    "fast-clamp": ("CLAMP: a, 10 m/s", CLAMP, "--"),
}


def against_delay(
    lab: Lab, column: str, label: str, times: float = 1.0, top: float | None = None
) -> Drawing:
    """A total of all flows against the mean queueing delay, four curves (Fig. 5)."""
    columns = ["curve", "parameter_bytes", "seed", "delay_s", column]
    return _curves(lab, CURVES, columns, column, label, times, top)


def figure_9(lab: Lab) -> Drawing:
    """TCP's buffer and CLAMP's a against the mean queueing delay."""
    columns = ["curve", "parameter_bytes", "seed", "delay_s"]
    label = "TCP buffer, CLAMP a [kB]"
    return _curves(lab, PARAMETERS, columns, "parameter_bytes", label, 1e-3, None)


def _curves(
    lab: Lab, curves: dict[str, tuple[str, str, str]], columns: list[str],
    column: str, label: str, times: float, top: float | None,
) -> Drawing:  # fmt: skip
    """A column of several sweeps against the mean queueing delay."""
    frames = [lab.frame(name).assign(curve=text) for name, (text, _, _) in curves.items()]
    data = pd.concat(frames, ignore_index=True)[columns]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for name, (text, colour, style) in curves.items():
            mean = mean_curve(lab, name)
            axes.plot(
                mean["delay_s"] * 1e3, mean[column] * times, style,
                color=colour, marker=".", label=text,
            )  # fmt: skip
            if column != "parameter_bytes":
                spread(axes, lab, name, column, times, colour)
        axes.set(xlabel=DELAY_LABEL, ylabel=label, xlim=(0, None))
        axes.set_ylim(0, top)
        legend_below(figure)

    return Drawing(data, draw)


def windows(lab: Lab, at: str, title: str) -> Drawing:
    """Windows of the 30-ms flow over the last part of a run (Fig. 6)."""
    clamp, tcp = (
        within(lab.run(f"last-part-{kind}", delay=f"{kind}-at-{at}").flow("flow-1"), *_span(lab))
        for kind in ("clamp", "tcp")
    )
    data = pd.DataFrame(
        {
            "time_s": clamp["time_s"],
            "clamp_awnd_bytes": clamp["awnd_bytes"],
            "clamp_cwnd_bytes": clamp["cwnd_bytes"],
            "tcp_cwnd_bytes": tcp["cwnd_bytes"],
        }
    )

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        lines = (
            ("clamp_cwnd_bytes", "CLAMP: CWND", COLOURS[4], 0.7),
            ("tcp_cwnd_bytes", "TCP: CWND", TCP, 0.7),
            ("clamp_awnd_bytes", "CLAMP: AWND", CLAMP, 1.4),
        )
        for column, text, colour, width in lines:
            axes.plot(
                data["time_s"], data[column] / PACKET_BYTES, color=colour, lw=width, label=text
            )
        # CWND is unbounded while AWND rules; the paper's axis ends where the story does.
        ceiling = 2.5 * max(data["clamp_awnd_bytes"].max(), data["tcp_cwnd_bytes"].max())
        axes.set(xlabel="time [s]", ylabel="window [packets]", title=title)
        axes.set_ylim(0, ceiling / PACKET_BYTES)
        legend_below(figure)

    return Drawing(data, draw, size=(6.4, 3.6))


def queue_of_130(lab: Lab, at: str, title: str) -> Drawing:
    """Queue of the 130-ms flow over the last part of a run (Fig. 7)."""
    clamp, tcp = (
        within(lab.run(f"last-part-{kind}", delay=f"{kind}-at-{at}").queue("mobile-2"), *_span(lab))
        for kind in ("clamp", "tcp")
    )
    data = _beside(clamp, tcp)

    def draw(figure: Figure) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True, sharey=True)
        top.plot(data["time_s"], data["clamp_bytes"] / 1e3, color=CLAMP, lw=0.6, label="CLAMP")
        bottom.plot(data["time_s"], data["tcp_bytes"] / 1e3, color=TCP, lw=0.6, label="TCP")
        for axes in (top, bottom):
            axes.set(ylabel="queue [kB]", ylim=(0, None))
        legend_below(figure)
        top.set_title(title)
        bottom.set_xlabel("time [s]")

    return Drawing(data, draw, size=(6.4, 4.8))


def _span(lab: Lab) -> tuple[float, float]:
    """The last 300 s of a full run, as the paper shows; the last 200 s of a quick one."""
    return (2700, 3000) if lab.scale == "full" else (200, 400)


def figure_8a(lab: Lab) -> Drawing:
    """Rate of the long flow."""
    clamp, tcp = (long_rate(lab.run(f"dynamics-{kind}")) for kind in ("clamp", "tcp"))
    data = pd.DataFrame({"clamp_bps": clamp, "tcp_bps": tcp}).reset_index()

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _both(axes, data, "bps", 1e6, None)
        axes.set(xlabel="time [s]", ylabel="rate of the long flow [Mbit/s]", ylim=(0, None))
        legend_below(figure)

    return Drawing(data, draw, size=(6.4, 3.6))


def figure_8b(lab: Lab) -> Drawing:
    """Queue at the access point."""
    clamp, tcp = (lab.run(f"dynamics-{kind}").queue("mobile") for kind in ("clamp", "tcp"))
    data = _beside(clamp, tcp)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _both(axes, data, "bytes", 1e3, 0.7)
        axes.set(xlabel="time [s]", ylabel="queue [kB]", ylim=(0, None))
        legend_below(figure)

    return Drawing(data, draw, size=(6.4, 3.6))


def _beside(clamp: pd.DataFrame, tcp: pd.DataFrame) -> pd.DataFrame:
    """Two queues over time."""
    return pd.DataFrame(
        {"time_s": clamp["time_s"], "clamp_bytes": clamp["bytes"], "tcp_bytes": tcp["bytes"]}
    )


def _both(axes: Axes, data: pd.DataFrame, unit: str, per: float, width: float | None) -> None:
    for kind, colour in (("CLAMP", CLAMP), ("TCP", TCP)):
        column = f"{kind.lower()}_{unit}"
        axes.plot(data["time_s"], data[column] / per, color=colour, lw=width, label=kind)
