# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of the paper ``clamp``, drawn in its manner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..paper import Drawing
from ..plot import COLOURS
from ..scenario import Overrides
from .clamp_runs import (
    BUFFER,
    FLOWS,
    LENGTH,
    PROPAGATION,
    A,
    curve,
    length,
    mean_curve,
    of_flow,
    of_queue,
    rate_of,
    series,
    within,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..paper import Lab

TCP, CLAMP = COLOURS[1], COLOURS[0]
PACKET_BYTES = 1500

AT_50_MS = ("6.5 kB", "18.2 kB")
"""CLAMP's a and TCP's buffer for 50 ms of mean queueing delay in fast fading."""
AT_180_MS = ("35 kB", "56 kB")
"""The same for 180 ms."""

DELAY_LABEL = "mean queueing delay [ms]"


def figure_2(lab: Lab) -> Drawing:
    """Windows of flow 1 and the queue as flows come and go."""
    tcp = series(lab, "deterministic-tcp", ())[0]
    clamp = series(lab, "deterministic-clamp", ())[0]
    window_tcp, window_clamp = of_flow(tcp, "flow-1"), of_flow(clamp, "flow-1")
    queue_tcp, queue_clamp = of_queue(tcp, "bottleneck"), of_queue(clamp, "bottleneck")
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
    return 5500.0 + 500.0 * np.asarray(flows, dtype=float)


def throughput(name: str, title: str, lab: Lab) -> Drawing:
    """Throughput of each flow against the mean queueing delay (Figs. 4 and 10)."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        mean = mean_curve(lab, name)
        styles = ("-", "-", "-.", "--")
        for index, (flow, delay) in enumerate(zip(FLOWS, PROPAGATION, strict=True)):
            axes.plot(
                mean["delay_s"] * 1e3, mean[f"{flow}_bps"] / 1e6, styles[index],
                color=COLOURS[index], marker=".", label=f"flow {index + 1}: {delay}",
            )  # fmt: skip
        axes.set(xlabel=DELAY_LABEL, ylabel="throughput per flow [Mbit/s]", title=title)
        axes.set(xlim=(0, None), ylim=(0, None))
        axes.legend()

    return Drawing(curve(lab, name), draw)


def total(column: str, label: str, factor: float, lab: Lab) -> Drawing:
    """A total of all flows against the mean queueing delay, four curves (Fig. 5)."""
    names = {
        "slow-clamp": ("CLAMP, 0.1 m/s", CLAMP, "-"),
        "slow-tcp": ("TCP NewReno, 0.1 m/s", TCP, "-"),
        "fast-clamp": ("CLAMP, 10 m/s", CLAMP, "--"),
        "fast-tcp": ("TCP NewReno, 10 m/s", TCP, "--"),
    }
    data = pd.concat(
        [curve(lab, name).assign(curve=text) for name, (text, _, _) in names.items()],
        ignore_index=True,
    )

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for name, (text, colour, style) in names.items():
            mean = mean_curve(lab, name)
            axes.plot(
                mean["delay_s"] * 1e3, mean[column] * factor, style,
                color=colour, marker=".", label=text,
            )  # fmt: skip
        axes.set(xlabel=DELAY_LABEL, ylabel=label, xlim=(0, None))
        if column == "download_s":
            axes.set_ylim(0, 60)
        else:
            axes.set_ylim(0, None)
        axes.legend()

    columns = ["curve", "parameter_bytes", "seed", "delay_s", column]
    return Drawing(data[columns], draw)


def windows(point: tuple[str, str], title: str, lab: Lab) -> Drawing:
    """Windows of the 30-ms flow over the last part of a run (Fig. 6)."""
    clamp, tcp = (of_flow(tables, "flow-1") for tables in _at(point, lab))
    start, end = _last_part(lab)
    clamp, tcp = within(clamp, start, end), within(tcp, start, end)
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
        axes.legend(loc="upper right", ncols=3)

    return Drawing(data, draw, size=(6.4, 3.6))


def queue_of_130(point: tuple[str, str], title: str, lab: Lab) -> Drawing:
    """Queue of the 130-ms flow over the last part of a run (Fig. 7)."""
    clamp, tcp = (of_queue(tables, "mobile-2") for tables in _at(point, lab))
    start, end = _last_part(lab)
    clamp, tcp = within(clamp, start, end), within(tcp, start, end)
    data = pd.DataFrame(
        {"time_s": clamp["time_s"], "clamp_bytes": clamp["bytes"], "tcp_bytes": tcp["bytes"]}
    )

    def draw(figure: Figure) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True, sharey=True)
        top.plot(data["time_s"], data["clamp_bytes"] / 1e3, color=CLAMP, lw=0.6, label="CLAMP")
        bottom.plot(data["time_s"], data["tcp_bytes"] / 1e3, color=TCP, lw=0.6, label="TCP")
        for axes in (top, bottom):
            axes.set(ylabel="queue [kB]", ylim=(0, None))
            axes.legend(loc="upper right")
        top.set_title(title)
        bottom.set_xlabel("time [s]")

    return Drawing(data, draw, size=(6.4, 4.8))


def figure_8a(lab: Lab) -> Drawing:
    """Rate of the long flow."""
    clamp, tcp = (rate_of(of_flow(t, "long"), 1.0) for t in dynamics(lab))
    data = pd.DataFrame(
        {"time_s": clamp["time_s"], "clamp_bps": clamp["rate_bps"], "tcp_bps": tcp["rate_bps"]}
    )

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot(data["time_s"], data["clamp_bps"] / 1e6, color=CLAMP, label="CLAMP")
        axes.plot(data["time_s"], data["tcp_bps"] / 1e6, color=TCP, label="TCP")
        axes.set(xlabel="time [s]", ylabel="rate of the long flow [Mbit/s]", ylim=(0, None))
        axes.legend(loc="upper left", ncols=2)

    return Drawing(data, draw, size=(6.4, 3.6))


def figure_8b(lab: Lab) -> Drawing:
    """Queue at the access point."""
    clamp, tcp = (of_queue(t, "mobile") for t in dynamics(lab))
    data = pd.DataFrame(
        {"time_s": clamp["time_s"], "clamp_bytes": clamp["bytes"], "tcp_bytes": tcp["bytes"]}
    )

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot(data["time_s"], data["clamp_bytes"] / 1e3, color=CLAMP, lw=0.7, label="CLAMP")
        axes.plot(data["time_s"], data["tcp_bytes"] / 1e3, color=TCP, lw=0.7, label="TCP")
        axes.set(xlabel="time [s]", ylabel="queue [kB]", ylim=(0, None))
        axes.legend(loc="upper right", ncols=2)

    return Drawing(data, draw, size=(6.4, 3.6))


def dynamics(lab: Lab, index: int = 0) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """The sampled tables of Fig. 8 with CLAMP and with TCP, for one seed."""
    return (
        series(lab, "flow-dynamics-clamp", ())[index],
        series(lab, "flow-dynamics-tcp", ())[index],
    )


def figure_9(lab: Lab) -> Drawing:
    """TCP's buffer and CLAMP's a against the mean queueing delay."""
    names = {
        "slow-tcp": ("TCP: buffer, 0.1 m/s", TCP, "-"),
        "fast-tcp": ("TCP: buffer, 10 m/s", TCP, "--"),
        "slow-clamp": ("CLAMP: a, 0.1 m/s", CLAMP, "-"),
        "fast-clamp": ("CLAMP: a, 10 m/s", CLAMP, "--"),
    }
    data = pd.concat(
        [curve(lab, name).assign(curve=text) for name, (text, _, _) in names.items()],
        ignore_index=True,
    )[["curve", "parameter_bytes", "seed", "delay_s"]]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for name, (text, colour, style) in names.items():
            mean = mean_curve(lab, name)
            axes.plot(
                mean["delay_s"] * 1e3, mean["parameter_bytes"] / 1e3, style,
                color=colour, marker=".", label=text,
            )  # fmt: skip
        axes.set(xlabel=DELAY_LABEL, ylabel="TCP buffer, CLAMP a [kB]")
        axes.set(xlim=(0, None), ylim=(0, None))
        axes.legend()

    return Drawing(data, draw)


def _at(point: tuple[str, str], lab: Lab) -> tuple[dict[str, pd.DataFrame], ...]:
    """The sampled tables with CLAMP and with TCP at one delay, first seed."""
    a, buffer = point
    start, _ = _last_part(lab)
    probe: Overrides = (*length(lab), ("probe.every", "50 ms"), ("probe.from", f"{start:g} s"))
    return (
        series(lab, "four-flows-fast-clamp", (*probe, (A, a)))[0],
        series(lab, "four-flows-fast-tcp", (*probe, (BUFFER, buffer)))[0],
    )


def _last_part(lab: Lab) -> tuple[float, float]:
    """The last 300 s of a full run, as the paper shows; the last 200 s of a quick one."""
    end = float(LENGTH[lab.scale][0].removesuffix(" s"))
    return end - (300 if lab.scale == "full" else 200), end


FIGURES: dict[str, Callable[[Lab], Drawing]] = {
    "2": figure_2,
    "4a": partial(throughput, "slow-clamp", "CLAMP, 0.1 m/s"),
    "4b": partial(throughput, "slow-tcp", "TCP NewReno, 0.1 m/s"),
    "4c": partial(throughput, "fast-clamp", "CLAMP, 10 m/s"),
    "4d": partial(throughput, "fast-tcp", "TCP NewReno, 10 m/s"),
    "5a": partial(total, "total_bps", "total throughput [Mbit/s]", 1e-6),
    "5b": partial(total, "download_s", "mean time to download 1 MB [s]", 1.0),
    "6a": partial(windows, AT_50_MS, "50 ms of queueing delay"),
    "6b": partial(windows, AT_180_MS, "180 ms of queueing delay"),
    "7a": partial(queue_of_130, AT_50_MS, "50 ms of queueing delay"),
    "7b": partial(queue_of_130, AT_180_MS, "180 ms of queueing delay"),
    "8a": figure_8a,
    "8b": figure_8b,
    "9": figure_9,
    "10a": partial(throughput, "low-clamp", "CLAMP, 10 m/s, low rate"),
    "10b": partial(throughput, "low-tcp", "TCP NewReno, 10 m/s, low rate"),
}
