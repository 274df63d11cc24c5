# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the paper on CLAMP wishes for: the law at the sender, beamforming, incremental redundancy.

With what theory says of the two radios, computed here from their channels' distributions alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ...lab import Drawing, Lab, PlusMinus, Run
from ...plot import COLOURS, legend_below, log_x

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOWS = ("flow-1_bps", "flow-2_bps", "flow-3_bps", "flow-4_bps")
PLACES = {"receiver": "at receivers", "sender": "at senders", "mixed": "flows 1 and 4 at senders"}
SPEEDS = {"slow": "0.1 m/s", "fast": "10 m/s"}

SNR, BANDWIDTH_HZ, TOP_BPS = 4.0, 4.3e6, 40e6
"""The radio of the scenario ``beams``."""
CHANNELS = {
    "one": ("one antenna, 0.6 Hz", COLOURS[1], "o-"),
    "two": ("two antennas, 0.6 Hz, beam 10 Hz", COLOURS[0], "o-"),
    "fast": ("one antenna, 60 Hz", COLOURS[2], "o-"),
    "one-real": ("one antenna, 0.6 Hz, with outages", COLOURS[1], "s--"),
    "two-real": ("two antennas, with outages", COLOURS[0], "s--"),
}
MEMORIES = {"paper": "scheduler's memory 0.1 s", "long": "scheduler's memory 3 s"}

RATE_BPS, ATTEMPTS = 10e6, 4
"""The radio of the scenario ``redundancy``."""
KINDS = {
    "plain": ("plain retransmissions", COLOURS[1]),
    "redundancy": ("incremental redundancy", COLOURS[0]),
}


def total_bps(run: Run) -> float:
    """What all queues of an access point carry."""
    return float(sum(queue["throughput_bps"] for queue in _radio(run)))


def empty(run: Run) -> float:
    """The largest share of the time in which a queue of an access point is empty."""
    return float(max(queue["empty_fraction"] for queue in _radio(run)))


def _radio(run: Run) -> list[dict[str, float]]:
    return [queue for queue in run.summary["queues"] if str(queue["name"]).startswith("ap/")]


def over_receivers(lab: Lab, place: str, columns: Sequence[str], speed: str) -> list[float]:
    """What the law at a place gives over that at receivers: the furthest from 1, by seed."""
    data = lab.frame("sender", speed=speed)

    def furthest(seed: int) -> float:
        here = data[data["seed"] == seed].set_index("place")[list(columns)]
        ratios = (here.loc[place] / here.loc["receiver"]).to_numpy(float)
        return float(max(ratios, key=lambda ratio: abs(math.log(ratio))))

    return [furthest(seed) for seed in lab.seeds]


def sender(lab: Lab) -> Drawing:
    """The rates of four flows by the place of the law."""
    data = lab.frame("sender")

    def draw(figure: Figure) -> None:
        places = np.arange(len(FLOWS))
        axeses = figure.subplots(1, 2, sharey=True)
        for axes, (speed, title) in zip(axeses, SPEEDS.items(), strict=True):
            for i, (place, label) in enumerate(PLACES.items()):
                here = data[(data["speed"] == speed) & (data["place"] == place)]
                axes.bar(
                    places + 0.27 * (i - 1),
                    here[list(FLOWS)].mean() / 1e6,
                    0.25,
                    color=COLOURS[i],
                    label=label,
                )
            axes.set(title=title, ylim=(0, None))
            axes.set_xticks(places, [f"flow {n + 1}" for n in places])
        axeses[0].set_ylabel("goodput [Mbit/s]")
        legend_below(figure)

    rows = [["law", "speed", "mean ms", *(f"flow {n} Mbit/s" for n in (1, 2, 3, 4))]]
    for (place, speed), here in data.groupby(["place", "speed"], sort=False):
        delay = PlusMinus.of([1e3 * value for value in here["mean_delay_s"]]).text(1)
        flows = [PlusMinus.of([value / 1e6 for value in here[flow]]).text(2) for flow in FLOWS]
        rows.append([PLACES[str(place)], SPEEDS[str(speed)], delay, *flows])
    return Drawing(data, draw, (8.2, 3.8), rows)


@cache
def best_of(mobiles: int) -> float:
    """What a radio carries [bit/s] that serves the best of so many Rayleigh channels."""
    snr = np.linspace(0, SNR * (20 + math.log(mobiles)), 200_001)
    below = (1 - np.exp(-snr / SNR)) ** mobiles
    return float(np.sum(np.diff(below) * _carried((snr[1:] + snr[:-1]) / 2)))


def _carried(snr: np.ndarray) -> np.ndarray:
    return np.asarray(np.minimum(BANDWIDTH_HZ * np.log2(1 + snr), TOP_BPS))


@cache
def fair_beams(mobiles: int, directions: int = 2000) -> float:
    """What the proportional fair scheduler carries [bit/s] where channels stand still.

    The mean over many draws of two channels a mobile, of the allocation that is fair in the long
    run: each direction of the beam goes to the mobile of the greatest rate over its own mean.
    """
    random = np.random.default_rng(1)

    def gaussian(*shape: int) -> np.ndarray:
        parts = random.normal(scale=math.sqrt(0.5), size=(2, *shape))
        return np.asarray(parts[0] + 1j * parts[1])

    total, draws = 0.0, 1600 // mobiles
    for _ in range(draws):
        channels, beams = gaussian(2, mobiles), gaussian(directions, 2)
        beams /= np.linalg.norm(beams, axis=1, keepdims=True)
        rates = _carried(SNR * np.abs(beams @ channels) ** 2)
        means = rates.mean(axis=0) / mobiles
        for step in range(40):
            chosen = (rates / means).argmax(axis=1)
            served = rates[np.arange(directions), chosen]
            got = np.bincount(chosen, served, mobiles) / directions
            means += (got - means) / (2 + step / 4)
        total += float(got.sum()) / draws
    return total


def over_fair_beams(lab: Lab) -> list[float]:
    """The total of eight nearly still mobiles over what is computed of still ones, by seed."""
    data = lab.frame("beams-still").set_index("seed")["total_bps"]
    return [float(data[seed]) / fair_beams(8) for seed in lab.seeds]


def over_best_of(lab: Lab, mobiles: int) -> list[float]:
    """The total in fast fading under the long memory over that of the best channel, by seed."""
    data = lab.frame("beams", memory="long", channel="fast", mobiles=str(mobiles))
    totals = data.set_index("seed")["total_bps"]
    return [float(totals[seed]) / best_of(mobiles) for seed in lab.seeds]


def unevenness(lab: Lab) -> list[float]:
    """How unequal two flows of one mobile are with two antennas over that with one, by seed."""
    data = lab.frame("beams-clamp").set_index(["antennas", "seed"])
    ratio = data["flow-3_bps"] / data["flow-4_bps"]
    return [float(ratio["two", seed] / ratio["one", seed]) for seed in lab.seeds]


def beams(lab: Lab) -> Drawing:
    """Total throughput by the number of mobiles."""
    data = lab.frame("beams")
    counts = [int(count) for count in data["mobiles"].unique()]

    def draw(figure: Figure) -> None:
        axeses = figure.subplots(1, 2, sharey=True)
        for axes, (memory, title) in zip(axeses, MEMORIES.items(), strict=True):
            for channel, (label, colour, style) in CHANNELS.items():
                here = data[(data["memory"] == memory) & (data["channel"] == channel)]
                means = here.groupby(here["mobiles"].astype(int))["total_bps"].mean() / 1e6
                axes.plot(means.index, means, style, color=colour, ms=4, label=label)
            best = [best_of(count) / 1e6 for count in counts]
            axes.plot(counts, best, ":", color="0.4", label="best of independent channels, theory")
            still = [fair_beams(count) / 1e6 for count in counts]
            axes.plot(counts, still, "-.", color="0.4", label="two antennas, still, computed")
            axes.set(xscale="log", xlabel="mobiles", title=title, ylim=(0, None))
            axes.set_xticks(counts, [str(count) for count in counts])
            axes.minorticks_off()
        axeses[0].set_ylabel("total throughput [Mbit/s]")
        legend_below(figure)

    rows = [["Mbit/s", "memory", *(f"{count} mobiles" for count in counts)]]
    for (channel, memory), here in data.groupby(["channel", "memory"], sort=False):
        totals = here.groupby(here["mobiles"].astype(int))["total_bps"]
        cells = [PlusMinus.of([t / 1e6 for t in totals.get_group(n)]).text(2) for n in counts]
        rows.append([CHANNELS[str(channel)][0], MEMORIES[str(memory)].split("memory ")[1], *cells])
    for label, of in (("best of independent channels, theory", best_of),
                      ("two antennas, still, computed", fair_beams)):  # fmt: skip
        rows.append([label, "long", *(f"{of(count) / 1e6:.2f}" for count in counts)])
    return Drawing(data, draw, (8.6, 4.4), rows)


@cache
def failures(snr: float, kind: str, cells: int = 4000) -> tuple[float, ...]:
    """The probability that 0, 1 … attempts at one rate do not get a frame through.

    Each meets an independent Rayleigh channel of this mean SNR. Attempts that add up are a sum of
    independent numbers, whose distribution is convolved on a grid.
    """
    needed = RATE_BPS / BANDWIDTH_HZ
    edges = np.linspace(0, needed, cells + 1)
    below = -np.expm1(-np.expm1(edges * math.log(2)) / snr)
    once = float(below[-1])
    if kind == "plain":
        return tuple(once**count for count in range(ATTEMPTS + 1))
    part = np.diff(below)
    found, so_far = [1.0, once], part
    for count in range(2, ATTEMPTS + 1):
        so_far = np.convolve(so_far, part)[:cells]
        middles = np.arange(cells) + count / 2
        found.append(float(so_far[middles < cells].sum()))
    return tuple(found)


def theory_bps(snr: float, kind: str) -> float:
    """What gets through [bit/s]: a frame but for those that are lost, over its attempts."""
    *tried, lost = failures(snr, kind)
    return RATE_BPS * (1 - lost) / sum(tried)


def over_theory(lab: Lab, kind: str, what: str, least: float = 0.0) -> list[float]:
    """Throughput or frame errors over theory, by seed: the mean SNR where that is furthest from 1.

    Of frame errors those of which theory has at least so many.
    """
    data = lab.frame("redundancy", attempts=kind)

    def furthest(seed: int) -> float:
        ratios = [
            row["capacity_bps"] / theory_bps(snr, kind)
            if what == "throughput"
            else row["loss_rate"] / failures(snr, kind)[-1]
            for _, row in data[data["seed"] == seed].iterrows()
            for snr in [float(row["snr"])]
            if failures(snr, kind)[-1] >= least
        ]
        return float(max(ratios, key=lambda ratio: abs(math.log(ratio))))

    return [furthest(seed) for seed in lab.seeds]


def redundancy(lab: Lab) -> Drawing:
    """Throughput and frame errors by the mean SNR, beside theory."""
    data = lab.frame("redundancy")
    snrs = sorted({float(snr) for snr in data["snr"]})
    fine = np.geomspace(snrs[0], snrs[-1], 40)

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for kind, (label, colour) in KINDS.items():
            here = data[data["attempts"] == kind]
            means = here.groupby(here["snr"].astype(float))[["capacity_bps", "loss_rate"]].mean()
            seen = means[means["loss_rate"] > 0]
            left.plot(means.index, means["capacity_bps"] / 1e6, "o", color=colour, label=label)
            right.plot(seen.index, seen["loss_rate"], "o", color=colour)
            theory = [theory_bps(float(snr), kind) / 1e6 for snr in fine]
            lost = [failures(float(snr), kind)[-1] for snr in fine]
            left.plot(fine, theory, "-", color=colour, lw=0.9, label=f"{label}, theory")
            right.plot(fine, lost, "-", color=colour, lw=0.9)
        left.set(ylabel="throughput [Mbit/s]", ylim=(0, None))
        right.set(ylabel="frames lost", yscale="log", ylim=(1e-5, 1))
        for axes in (left, right):
            axes.set_xlabel("mean SNR")
            log_x(axes)
        legend_below(figure)

    rows = [["attempts", "SNR", "Mbit/s", "theory", "lost", "theory"]]
    for (kind, snr), here in data.groupby(["attempts", "snr"], sort=False):
        rate = PlusMinus.of([value / 1e6 for value in here["capacity_bps"]]).text(3)
        lost = PlusMinus.of(list(here["loss_rate"])).text(5)
        mean, name = float(str(snr)), str(kind)
        theory = [f"{theory_bps(mean, name) / 1e6:.3f}", f"{failures(mean, name)[-1]:.5f}"]
        rows.append([KINDS[name][0], f"{mean:g}", rate, theory[0], lost, theory[1]])
    return Drawing(data, draw, (8.2, 4.0), rows)
