# SPDX-License-Identifier: MIT OR Apache-2.0
"""The paper ``qfcp``: how its claims are measured. What they are stands in ``qfcp.toml``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._lasthop import settling_time
from ..scenario import Overrides
from .qfcp_figures import FIGURES
from .qfcp_runs import (
    LOSSES,
    NEWRENO,
    PACKET_BYTES,
    ROUTER_OFF,
    STEADY_S,
    XCP_B,
    astray,
    found_s,
    goodput,
    goodputs,
    jain,
    length,
    lossy,
    of,
    qfcp,
    rates,
    series,
    summaries,
    xcp,
)

if TYPE_CHECKING:
    from ..paper import Lab

__all__ = ["FIGURES", "MEASURES"]

Measure = Callable[["Lab"], list[float]]

TABLE = """
2.9 2.4 2.4 2.5 0.7 2.7 2.0 2.9 1.5 2.4
2.9 2.1 1.9 1.8 0.7 1.8 1.4 1.8 1.1 1.5
3.0 2.0 1.7 1.6 0.7 1.5 1.3 1.5 1.0 1.3
3.0 1.9 1.6 1.5 0.8 1.3 1.1 1.3 0.9 1.1
2.9 1.9 1.5 1.4 0.8 1.2 1.0 1.2 0.9 1.0
2.9 1.8 1.4 1.3 0.8 1.1 1.0 1.1 0.8 0.9
2.9 1.8 1.4 1.2 0.8 1.0 0.9 1.0 0.8 0.8
2.9 1.7 1.3 1.2 0.8 1.0 0.8 0.9 0.7 0.8
2.8 1.7 1.3 1.1 0.8 0.9 0.8 0.8 0.7 0.7
2.8 1.6 1.2 1.0 0.8 0.8 0.7 0.7 0.6 0.6
"""
"""The paper's Table I in s: rows β, columns α, each from 0.1 to 1.0."""

DOWN, TWELVE, LOSS, PAIR, STEPS = (
    "qfcp-download", "qfcp-twelve", "qfcp-loss", "qfcp-pair", "qfcp-steps",
)  # fmt: skip


def table_cells(lab: Lab) -> list[float]:
    """How many cells of Table I are equal."""
    cells = [[float(cell) for cell in row.split()] for row in TABLE.split("\n") if row]
    equal = [
        settling_time(0.1 * (column + 1), 0.1 * (row + 1)) == _tenths(cell)
        for row, found in enumerate(cells)
        for column, cell in enumerate(found)
    ]
    return [float(sum(equal))] * len(lab.seeds)


def _tenths(seconds: float) -> float:
    """A time as the model counts it: whole intervals of a tenth of a second."""
    return round(seconds * 10) * 0.1


def rest(told: float, carried: float, lab: Lab) -> list[float]:
    """XCP's queue in packets on a wire of ``carried`` Mbit/s that it takes for ``told``."""
    found = _wire(lab, told, carried)
    return [summary["queues"][0]["mean_bytes"] / PACKET_BYTES for summary in found]


def told_one(lab: Lab) -> list[float]:
    """Goodput in Mbit/s of XCP that is told 1 Mbit/s: what differs most from 0.96."""
    rows = [[goodput(s) / 1e6 for s in _wire(lab, 1, carried)] for carried in (4, 5, 6, 7, 10)]
    return [max(by_seed, key=lambda rate: abs(rate - 0.96)) for by_seed in zip(*rows, strict=True)]


def lossy_wire(lab: Lab) -> list[float]:
    """Goodput in Mbit/s of XCP with a right capacity of 5 Mbit/s, 200 ms, and 1 % of loss."""
    more: Overrides = (
        ("link[0].loss", '{ kind = "bernoulli", p = 0.01 }'),
        ("link[0].queue.limit", "200 packets"),
        ("flow[0].rtt", "200 ms"),
        ("duration", "200 s"),
    )
    return [goodput(summary) / 1e6 for summary in _wire(lab, 5, 5, more)]


def _wire(lab: Lab, told: float, carried: float, more: Overrides = ()) -> list[dict[str, Any]]:
    rates_of = (
        ("link[0].rate", f"{carried:g} Mbit/s"),
        ("link[0].feedback.capacity", f"{told:g} Mbit/s"),
    )
    return summaries(lab, "xcp-wire", (*rates_of, *more))


def over_tcp(what: Overrides, lab: Lab) -> list[float]:
    """Goodput of one download over that of TCP."""
    return _over(goodputs(lab, DOWN, what), goodputs(lab, DOWN, NEWRENO))


def of_queue(key: str, scale: float, what: Overrides, lab: Lab) -> list[float]:
    """A figure of the base station's queue behind one download."""
    found = summaries(lab, DOWN, (*length(lab), *what))
    return [summary["queues"][0][key] / scale for summary in found]


def long_queue(lab: Lab) -> list[float]:
    """TCP's mean queue in packets, over the second and third of three minutes."""
    setting: Overrides = (*NEWRENO, ("duration", "180 s"), ("warmup", "60 s"))
    found = summaries(lab, DOWN, setting)
    return [summary["queues"][0]["mean_bytes"] / PACKET_BYTES for summary in found]


def early_queue(what: Overrides, lab: Lab) -> list[float]:
    """The greatest sample of the base station's queue in the first seconds, in packets."""
    values = []
    for tables in series(lab, DOWN, what):
        samples = of(tables["queues"], "queue", "wlan")
        values.append(float(samples[samples["time_s"] < STEADY_S]["packets"].max()))
    return values


def overflows(what: Overrides, lab: Lab) -> list[float]:
    """Packets dropped at the base station in a minute, from the start of a download."""
    found = summaries(lab, DOWN, (*what, ("duration", "60 s"), ("warmup", "0 s")))
    return [float(summary["queues"][0]["drops"]) for summary in found]


def capacity_found(what: Overrides, lab: Lab) -> list[float]:
    """Seconds until one download has its rate."""
    return [found_s(tables) for tables in series(lab, DOWN, what)]


def fairness(what: Overrides, lab: Lab) -> list[float]:
    """Jain's index per second of twelve flows, its mean after the first seconds."""
    values = []
    for tables in series(lab, TWELVE, what):
        index = jain(rates(tables))
        values.append(float(index[index.index > STEADY_S + 1].mean()))
    return values


def downloads_share(lab: Lab) -> list[float]:
    """The downloads' share of TCP's goodput in percent."""
    found = summaries(lab, TWELVE, (*length(lab), *NEWRENO))
    return [
        100 * sum(f["goodput_bps"] for f in s["flows"] if f["name"].startswith("down"))
        / goodput(s)
        for s in found
    ]  # fmt: skip


def kept(share: float, what: Overrides, lab: Lab) -> list[float]:
    """Goodput with loss over that without."""
    return _over(
        goodputs(lab, LOSS, (*what, *lossy(share))), goodputs(lab, LOSS, (*what, *lossy(0)))
    )


def pair(what: Overrides, lab: Lab) -> list[float]:
    """Jain's index of a lossy flow and a lossless one."""
    found = summaries(lab, PAIR, (*length(lab), *what))
    return [summary["fairness"]["jain"] for summary in found]


def follows(lab: Lab) -> list[float]:
    """Seconds until the rate is found after a step of the WLAN's, the slowest of the four."""
    found = series(lab, STEPS, (("duration", "75 s"),))
    return [max(found_s(tables, at) for at in (15, 30, 45, 60)) for tables in found]


def there(lab: Lab) -> list[float]:
    """How far the rate is from the later one 3 s after a step of the WLAN's, the most of four."""
    found = series(lab, STEPS, (("duration", "75 s"),))
    return [max(astray(tables, at) for at in (15, 30, 45, 60)) for tables in found]


def steps_over_tcp(lab: Lab) -> list[float]:
    """Goodput over all steps against TCP's."""
    whole: Overrides = (("duration", "75 s"),)
    rows = [[goodput(s) for s in summaries(lab, STEPS, (*whole, *o))] for o in ((), NEWRENO)]
    return _over(*rows)


def best_of_all(lab: Lab) -> list[float]:
    """QFCP's goodput over the best of the others', the least ratio over the losses from 10⁻³."""
    others = (NEWRENO, (("flow[*].sender", "cubic"),), xcp("4 Mbit/s"), XCP_B)
    ratios = []
    for share in LOSSES[lab.scale]:
        if share >= 1e-2:
            best = np.max([goodputs(lab, LOSS, (*o, *lossy(share))) for o in others], axis=0)
            ratios.append(np.array(goodputs(lab, LOSS, (*qfcp(), *lossy(share)))) / best)
    return [float(value) for value in np.min(ratios, axis=0)]


def access(flows: str, lab: Lab) -> list[float]:
    """TCP's goodput in Mbit/s on the WLAN: one download, four, or four uploads."""
    names = {"one": ("m1",), "down": ("m1", "m2", "m3", "m4"), "up": ("m1", "m2", "m3", "m4")}
    end = "source" if flows == "up" else "station"
    table = ", ".join(
        f'{{ name = "{name}", {end} = "{name}", rtt = "40 ms", packet = "1340 B" }}'
        for name in names[flows]
    )
    found = summaries(lab, DOWN, (*length(lab), ("flow", f"[{table}]")))
    return [goodput(summary) / 1e6 for summary in found]


def many(router: str, lab: Lab) -> list[float]:
    """Goodput in Mbit/s of one flow, four seconds after 199 others have left a short path."""
    feedback = f'{{ kind = "qfcp", packet = "1340 B"{router} }}'
    ends = 'path = ["server", "client"], rtt = "10 ms", packet = "1340 B", sender = "qfcp"'
    flows = (
        f'[{{ name = "gone", count = 199, stop = "12 s", {ends} }}, {{ name = "left", {ends} }}]'
    )
    setting: Overrides = (
        ("link[0].feedback", feedback),
        ("flow", flows),
        ("warmup", "16 s"),
        ("duration", "20 s"),
    )
    found = summaries(lab, "qfcp-many", setting)
    return [summary["flows"][-1]["goodput_bps"] / 1e6 for summary in found]


def many_fair(lab: Lab) -> list[float]:
    """Jain's index of two hundred flows."""
    return [summary["fairness"]["jain"] for summary in summaries(lab, "qfcp-many")]


def many_long(router: str, lab: Lab) -> list[float]:
    """Goodput in Mbit/s of ten flows with a round trip of 400 ms."""
    feedback = f'{{ kind = "qfcp", packet = "1340 B"{router} }}'
    setting: Overrides = (
        ("link[0].feedback", feedback),
        ("link[0].queue.limit", "75 packets"),
        ("flow[0].count", "10"),
        ("flow[0].rtt", "400 ms"),
        ("duration", "60 s"),
        ("warmup", "20 s"),
    )
    return [goodput(summary) / 1e6 for summary in summaries(lab, "qfcp-many", setting)]


def _over(above: list[float], below: list[float]) -> list[float]:
    return [one / other for one, other in zip(above, below, strict=True)]


def off(name: str, capacity: str = "1 Mbit/s") -> Overrides:
    """QFCP without one of the router's enhancements."""
    return qfcp(capacity, router=ROUTER_OFF[name])


HEED = qfcp(sender="heed_loss = true")
TIMER = qfcp(sender="find_lost_retransmissions = false")
NEWRENO_REPAIR = qfcp(sender="sack = false")

MEASURES: dict[str, Measure] = {
    "qfcp:table1-cells": table_cells,
    "qfcp:wire-11-10": partial(rest, 11, 10),
    "qfcp:wire-10-7": partial(rest, 10, 7),
    "qfcp:wire-1": told_one,
    "qfcp:wire-loss": lossy_wire,
    "qfcp:2-tcp-one": partial(access, "one"),
    "qfcp:2-tcp-down": partial(access, "down"),
    "qfcp:2-tcp-up": partial(access, "up"),
    "qfcp:2-tcp-queue": long_queue,
    "qfcp:2-tcp-drops": partial(overflows, NEWRENO),
    "qfcp:2-xcp-1": partial(over_tcp, xcp("1 Mbit/s")),
    "qfcp:2-xcp-10": partial(over_tcp, xcp("10 Mbit/s")),
    "qfcp:2-xcp-10-drops": partial(of_queue, "drops", 1, xcp("10 Mbit/s")),
    "qfcp:2-found-1": partial(capacity_found, qfcp("1 Mbit/s")),
    "qfcp:2-found-10": partial(capacity_found, qfcp("10 Mbit/s")),
    "qfcp:2-goodput-1": partial(over_tcp, qfcp("1 Mbit/s")),
    "qfcp:2-goodput-10": partial(over_tcp, qfcp("10 Mbit/s")),
    "qfcp:2-drops-1": partial(of_queue, "drops", 1, qfcp("1 Mbit/s")),
    "qfcp:2-drops-10": partial(of_queue, "drops", 1, qfcp("10 Mbit/s")),
    "qfcp:2-queue-1": partial(of_queue, "mean_bytes", PACKET_BYTES, qfcp("1 Mbit/s")),
    "qfcp:2-queue-10": partial(of_queue, "mean_bytes", PACKET_BYTES, qfcp("10 Mbit/s")),
    "qfcp:2-first-queue-10": partial(early_queue, qfcp("10 Mbit/s")),
    "qfcp:2-off-probing-1": partial(over_tcp, off("probing")),
    "qfcp:2-off-probing-10": partial(
        of_queue, "mean_bytes", PACKET_BYTES, off("probing", "10 Mbit/s")
    ),
    "qfcp:2-off-resident": partial(over_tcp, off("resident queue")),
    "qfcp:2-off-smoothing": partial(of_queue, "mean_bytes", PACKET_BYTES, off("smoothing")),
    "qfcp:2-off-virtual": partial(of_queue, "drops", 1, off("virtual queue", "10 Mbit/s")),
    "qfcp:3-tcp": partial(fairness, NEWRENO),
    "qfcp:3-tcp-downloads": downloads_share,
    "qfcp:3-qfcp": partial(fairness, qfcp()),
    "qfcp:3-off-simplex": partial(fairness, off("both directions")),
    "qfcp:4a-qfcp": partial(kept, 0.01, qfcp()),
    "qfcp:4a-xcp-b": partial(kept, 0.01, XCP_B),
    "qfcp:4a-off-keep": partial(kept, 0.01, HEED),
    "qfcp:4b-qfcp": partial(pair, qfcp()),
    "qfcp:4b-xcp-b": partial(pair, XCP_B),
    "qfcp:4b-off-keep": partial(pair, HEED),
    "qfcp:loss-tenth": partial(kept, 0.1, qfcp()),
    "qfcp:loss-off-search": partial(kept, 0.1, TIMER),
    "qfcp:loss-off-sack": partial(kept, 0.01, NEWRENO_REPAIR),
    "qfcp:loss-best": best_of_all,
    "qfcp:steps-follow": follows,
    "qfcp:steps-there": there,
    "qfcp:steps-goodput": steps_over_tcp,
    "qfcp:many-fair": many_fair,
    "qfcp:many-left": partial(many, ""),
    "qfcp:many-off-bound": partial(many, ", bounded = false"),
    "qfcp:many-long": partial(many_long, ""),
    "qfcp:many-off-long": partial(many_long, ", average_flows = false, hold = false"),
}
