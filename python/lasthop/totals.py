# SPDX-License-Identifier: MIT OR Apache-2.0
"""A run's figures as one number each: sums over its flows, means over its queues."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def total_goodput(summary: Mapping[str, Any]) -> float:
    """The sum of the flows' goodputs in bit/s."""
    return float(sum(flow["goodput_bps"] or 0.0 for flow in summary["flows"]))


def mean_delay(summary: Mapping[str, Any]) -> float | None:
    """The mean queueing delay in s: see :func:`over_queues`."""
    return over_queues(summary, "mean_delay_s")


def over_queues(summary: Mapping[str, Any], key: str) -> float | None:
    """The mean of a figure over the queues that have it; None where none has.

    Of a link's two ways the busier one counts: the way back of acknowledgements, with room
    to spare, says nothing of what the data meet, and would halve each figure.
    """
    queues = {queue["name"]: queue for queue in summary["queues"]}
    idler = set()
    for name, queue in queues.items():
        back = queues.get(f"{name} (back)")
        if back is not None:
            is_ahead = (queue["throughput_bps"] or 0.0) >= (back["throughput_bps"] or 0.0)
            idler.add((back if is_ahead else queue)["name"])
    return mean_of(queue[key] for name, queue in queues.items() if name not in idler)


def mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of those values that there are; None of none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
