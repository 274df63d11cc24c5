# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison ``senders``: how its claims, which stand in ``senders.toml``, are measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from .senders_figures import FIGURES
from .senders_runs import LOSS_BASED, QUEUES, SENDERS, at, handoffs

if TYPE_CHECKING:
    from ..paper import Lab

__all__ = ["FIGURES", "MEASURES"]

Measure = Callable[["Lab"], list[float]]
Cell = tuple[str, str]
"""A sender and a queue."""

PLACES = ("fading", "driving", "walking")


def ratios(place: str, column: str, above: Cell, below: Cell, lab: Lab) -> list[float]:
    """One cell's column over another's, one value a seed."""
    pairs = zip(at(lab, place, *above, column), at(lab, place, *below, column), strict=True)
    return [a / b for a, b in pairs]


def extreme(
    pick: Callable[[Sequence[float]], float],
    place: str, column: str, senders: Sequence[str], above: str, below: str,
    lab: Lab,
) -> list[float]:  # fmt: skip
    """The least or greatest ratio over senders of a column with one queue to that with another."""
    by_sender = [ratios(place, column, (s, above), (s, below), lab) for s in senders]
    return [pick(of_seed) for of_seed in zip(*by_sender, strict=True)]


def lowest_delay(place: str, lab: Lab) -> list[float]:
    """The 95th percentile of Vegas's delay over the least of the others', all behind drop-tail."""
    others = [s for s in SENDERS if s != "vegas"]
    found = [
        ratios(place, "p95_delay_s", ("vegas", "drop-tail"), (s, "drop-tail"), lab) for s in others
    ]
    return [max(of_seed) for of_seed in zip(*found, strict=True)]


def spread(place: str, queue: str, lab: Lab) -> list[float]:
    """The greatest 95th percentile of the delay over the least, among the loss-based senders."""
    found = [at(lab, place, s, queue, "p95_delay_s") for s in LOSS_BASED]
    return [max(of_seed) / min(of_seed) for of_seed in zip(*found, strict=True)]


def likeness(place: str, lab: Lab) -> list[float]:
    """That spread under CLAMP's price over that with drop-tail."""
    clamp, plain = (spread(place, queue, lab) for queue in ("clamp", "drop-tail"))
    return [a / b for a, b in zip(clamp, plain, strict=True)]


def smoothest(place: str, lab: Lab) -> list[float]:
    """TFRC's variation over Reno's, the greatest over the queues that it can have."""
    found = [
        ratios(place, "cov", ("tfrc", queue), ("reno", queue), lab)
        for queue in QUEUES
        if queue != "clamp"
    ]
    return [max(of_seed) for of_seed in zip(*found, strict=True)]


def slower(lab: Lab) -> list[float]:
    """TFRC's mean time to recover over Reno's, the least over the queues that TFRC can have."""
    frame = handoffs(lab)
    values = []
    for seed in lab.seeds:
        of_seed = frame[(frame["seed"] == seed) & (frame["queue"] != "clamp")]
        table = of_seed.pivot(index="sender", columns="queue", values="recovery_s")
        tfrc, reno = (table.loc[sender].to_numpy(dtype=float) for sender in ("tfrc", "reno"))
        values.append(float((tfrc / reno).min()))
    return values


def _everywhere(stem: str, measure: Callable[[str, Lab], list[float]]) -> dict[str, Measure]:
    return {f"senders:{stem}-{place}": partial(measure, place) for place in PLACES}


def _price_delay(place: str, lab: Lab) -> list[float]:
    return extreme(max, place, "p95_delay_s", LOSS_BASED, "clamp", "drop-tail", lab)


def _price_throughput(place: str, lab: Lab) -> list[float]:
    return extreme(max, place, "throughput_bps", LOSS_BASED, "clamp", "drop-tail", lab)


def _price_over_fq(place: str, lab: Lab) -> list[float]:
    return extreme(min, place, "throughput_bps", LOSS_BASED, "clamp", "fq-codel", lab)


def _price_fairness(place: str, lab: Lab) -> list[float]:
    return extreme(min, place, "short_term_fairness", LOSS_BASED, "clamp", "drop-tail", lab)


def _fq_fairness(place: str, lab: Lab) -> list[float]:
    return extreme(min, place, "short_term_fairness", LOSS_BASED, "fq-codel", "drop-tail", lab)


def _gamma_delay(place: str, lab: Lab) -> list[float]:
    return ratios(place, "p95_delay_s", ("gamma", "drop-tail"), ("reno", "drop-tail"), lab)


MEASURES: dict[str, Measure] = {
    **_everywhere("price-delay", _price_delay),
    **_everywhere("price-throughput", _price_throughput),
    **_everywhere("price-likeness", likeness),
    **_everywhere("price-over-fq", _price_over_fq),
    **_everywhere("gamma-delay", _gamma_delay),
    **_everywhere("vegas-delay", lowest_delay),
    **_everywhere("price-fairness", _price_fairness),
    **{f"senders:fq-fairness-{trace}": partial(_fq_fairness, trace) for trace in PLACES[1:]},
    **_everywhere("tfrc-smooth", smoothest),
    "senders:tfrc-recovery": slower,
}
