# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runs behind the comparison ``senders``: every sender with every queue at every place."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..grid import mean_delay, total_goodput
from ..result import tables_of
from ..scenario import Overrides, shipped_folder
from ..trace import describe

if TYPE_CHECKING:
    from ..paper import Lab

FLOWS = 4

# What every window law has today, so that laws are compared and not what repairs their losses.
TODAY = "sack = true, timestamps = true"
GAMMA = f"alpha = 1, beta = 0.5, recovery = \"sack\", {TODAY}, cut_at_each_timeout = false, " \
        "one_fast_retransmit = false, gamma = { threshold = 0.5 }"  # fmt: skip

SENDERS = {
    "reno": f'{{ kind = "newreno", {TODAY} }}',
    "cubic": f'{{ kind = "cubic", {TODAY} }}',
    "vegas": f'{{ kind = "vegas", {TODAY} }}',
    "veno": f'{{ kind = "veno", {TODAY} }}',
    "westwood": f'{{ kind = "westwood", {TODAY} }}',
    "gamma": f'{{ kind = "aimd", {GAMMA} }}',
    "delta": f'{{ kind = "aimd", {GAMMA}, delta = {{ threshold = 0.1, increase = 2 }} }}',
    "tfrc": '{ kind = "tfrc" }',
}
LOSS_BASED = ("reno", "cubic", "veno", "westwood")
"""They let the window grow until something is lost."""

QUEUES: dict[str, Overrides] = {
    "drop-tail": (),
    "red": (
        ("ap[0].queue.aqm", '{ kind = "red", queue_weight = 0, mean_packet = "1500 B" }'),
    ),
    "fq-codel": (("ap[0].queue.aqm", "fq-codel"),),
    "clamp": tuple(
        (f"flow[{i}].receiver", '{ kind = "clamp", tau = "500 B" }') for i in range(FLOWS)
    ),
}  # fmt: skip
PRICED_DELAY_S = 0.05
"""What CLAMP's a is worth at the mean rate of a trace."""

PAIRS = [(s, q) for s in SENDERS for q in QUEUES if (s, q) != ("tfrc", "clamp")]
"""TFRC has no window that a receiver could bound."""


@dataclass(frozen=True)
class Place:
    """Where senders and queues are compared."""

    name: str
    title: str
    scenario: str
    overrides: Overrides
    a_bytes: float
    """CLAMP's offset of the price."""
    full: tuple[str, str]
    """Duration and warm-up."""
    quick: tuple[str, str]

    def point(self, sender: str, queue: str, length: tuple[str, str]) -> Overrides:
        """All that is set for a run."""
        price: Overrides = (("ap[0].price", f'{{ kind = "linear", a = "{self.a_bytes:.0f} B" }}'),)
        return (
            ("duration", length[0]),
            ("warmup", length[1]),
            *self.overrides,
            *((f"flow[{i}].sender", SENDERS[sender]) for i in range(FLOWS)),
            *QUEUES[queue],
            *(price if queue == "clamp" else ()),
        )


FADING = Place(
    "fading", "access point, fast fading", "senders-fading", (), 6500,
    ("600 s", "20 s"), ("120 s", "20 s"),
)  # fmt: skip


def of_trace(name: str, title: str, path: str) -> Place:
    """A place where the radio follows a trace; a is what the trace carries in 50 ms."""
    a_bytes = describe(path)["mean_rate_bps"] * PRICED_DELAY_S / 8
    return Place(
        name, title, "senders-lte", (("ap[0].radio.file", path),), a_bytes,
        ("310 s", "10 s"), ("70 s", "10 s"),
    )  # fmt: skip


def places() -> list[Place]:
    """The places that are shipped."""
    traces = os.path.join(shipped_folder(), "traces")
    return [
        FADING,
        *(
            of_trace(kind, f"LTE, {kind}", os.path.join(traces, f"lte-{kind}.down"))
            for kind in ("driving", "walking")
        ),
    ]


MOST_RECORDED = 3
"""More panels cannot be read."""


def recorded() -> list[Place]:
    """Places of the first recordings in the folder that LASTHOP_TRACES names, by name."""
    folder = os.environ.get("LASTHOP_TRACES")
    found = sorted(Path(folder).glob("*.down"))[:MOST_RECORDED] if folder else []
    return [of_trace(path.stem, path.stem, str(path.resolve())) for path in found]


SKIPPED = "recorded traces: SKIPPED, as LASTHOP_TRACES names no folder with *.down files"


def matrix(lab: Lab) -> pd.DataFrame:
    """All runs, one row a place, sender, queue and seed."""
    if "matrix" not in lab.memory:
        more = recorded()
        if not more:
            print(SKIPPED, file=sys.stderr)
        lab.memory["matrix"] = pd.concat([_at(lab, place) for place in (*places(), *more)])
    frame: pd.DataFrame = lab.memory["matrix"]
    return frame


def _at(lab: Lab, place: Place) -> pd.DataFrame:
    length = place.full if lab.scale == "full" else place.quick
    points = [place.point(sender, queue, length) for sender, queue in PAIRS]
    groups = lab.run(place.scenario, points, label=place.title)
    rows = [
        {"place": place.name, "sender": s, "queue": q, "seed": seed, **_measures(record.summary)}
        for (s, q), group in zip(PAIRS, groups, strict=True)
        for seed, record in zip(lab.seeds, group, strict=True)
    ]
    return pd.DataFrame(rows)


def _measures(summary: dict[str, Any]) -> dict[str, Any]:
    flows, queues = summary["flows"], summary["queues"]
    return {
        "throughput_bps": total_goodput(summary),
        "mean_delay_s": mean_delay(summary),
        "p95_delay_s": np.mean([queue["p95_delay_s"] for queue in queues]),
        "fairness": summary["fairness"]["jain"],
        "short_term_fairness": summary["fairness"]["short_term"],
        "cov": np.mean([flow["cov"] for flow in flows]),
        "loss_rate": np.mean([queue["loss_rate"] for queue in queues]),
        "timeouts": sum(flow["timeouts"] for flow in flows),
    }


def at(lab: Lab, place: str, sender: str, queue: str, column: str) -> list[float]:
    """A column of one sender with one queue at one place, one value a seed."""
    frame = matrix(lab)
    wanted = (frame["place"] == place) & (frame["sender"] == sender) & (frame["queue"] == queue)
    return [float(value) for value in frame[wanted].sort_values("seed")[column]]


# Handoffs at the access point.

HANDOFF_S = 1.0
SPACING_S = 30.0
FIRST_S = 40.0
HANDOFFS = {"full": 10, "quick": 3}
BEFORE_S = 10.0
"""Goodput before a handoff is averaged over so much."""
WINDOW_S = 1.0
SAMPLE_S = 0.1
SHARE = 0.9


def handoffs(lab: Lab) -> pd.DataFrame:
    """Mean time to recover from handoffs at the access point, by sender, queue and seed."""
    if "handoffs" not in lab.memory:
        starts = [FIRST_S + SPACING_S * i for i in range(HANDOFFS[lab.scale])]
        instants = ", ".join(f'"{start:g} s"' for start in starts)
        more: Overrides = (
            (
                "ap[0].loss",
                f'{{ kind = "handoff", at = [{instants}], length = "{HANDOFF_S:g} s" }}',
            ),
            ("sample", f"{SAMPLE_S * 1e3:g} ms"),
        )
        length = (f"{starts[-1] + SPACING_S:g} s", "20 s")
        points = [(*FADING.point(sender, queue, length), *more) for sender, queue in PAIRS]
        groups = lab.run(FADING.scenario, points, tables=True, label="handoffs")
        lab.memory["handoffs"] = pd.DataFrame(
            [
                {
                    "sender": s,
                    "queue": q,
                    "seed": seed,
                    "recovery_s": np.mean(
                        recoveries(delivered(tables_of(record)["system"]), starts)
                    ),
                }
                for (s, q), group in zip(PAIRS, groups, strict=True)
                for seed, record in zip(lab.seeds, group, strict=True)
            ]
        )
    frame: pd.DataFrame = lab.memory["handoffs"]
    return frame


def delivered(system: pd.DataFrame) -> pd.Series:
    """Payload that all flows together have delivered, in bytes, by the instant in s."""
    total = system["goodput_bps"].cumsum() * SAMPLE_S / 8
    return pd.Series(total.to_numpy(), index=system["time_s"].to_numpy() + SAMPLE_S)


def recoveries(so_far: pd.Series, starts: Sequence[float]) -> list[float]:
    """Times to recover from handoffs that begin at ``starts``, in s.

    From the end of the handoff to the end of the first second whose goodput is 90 % of what it
    was on average in the 10 s before the handoff: 1 s at least. Who has not recovered when the
    next handoff comes counts with the time until then, or until the end of the run.
    """
    time_s = so_far.index.to_numpy(dtype=float)
    count = so_far.to_numpy()
    times = []
    for start in starts:
        end = start + HANDOFF_S
        limit = min(start + SPACING_S, float(time_s[-1]))
        before = (_upto(start, time_s, count) - _upto(start - BEFORE_S, time_s, count)) / BEFORE_S
        instants = time_s[(time_s >= end + WINDOW_S - 1e-9) & (time_s <= limit)]
        rates = (
            _upto(instants, time_s, count) - _upto(instants - WINDOW_S, time_s, count)
        ) / WINDOW_S
        back = instants[rates >= SHARE * before]
        times.append(float(back[0] if len(back) else limit) - end)
    return times


def _upto(instant: Any, time_s: np.ndarray, count: np.ndarray) -> Any:
    return np.interp(instant, time_s, count)
