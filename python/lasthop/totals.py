# SPDX-License-Identifier: MIT OR Apache-2.0
"""A run's figures as one number each: sums over its flows, means over its queues."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def total_goodput(summary: Mapping[str, Any]) -> float:
    """The sum of the flows' goodputs in bit/s."""
    return float(sum(flow["goodput_bps"] or 0.0 for flow in summary["flows"]))


def mean_delay(summary: Mapping[str, Any]) -> float | None:
    """The mean queueing delay in s: see :func:`over_queues`."""
    return over_queues(summary, "mean_delay_s")


def over_queues(summary: Mapping[str, Any], key: str) -> float | None:
    """The mean of a figure over the queues that have it; None where none has.

    Each queue counts by the share of time in which something waits in it. Links with room to
    spare, and ways back of acknowledgements, say nothing of what data wait for; counted in full,
    they would halve each figure of a bottleneck.
    """
    figures = [
        (queue[key], 1.0 - (queue["empty_fraction"] or 0.0))
        for queue in summary["queues"]
        if queue[key] is not None
    ]
    if not figures:
        return None
    total = sum(weight for _, weight in figures)
    if total == 0.0:
        return float(sum(value for value, _ in figures) / len(figures))
    # Of one queue it is the very figure.
    return float(sum(value * (weight / total) for value, weight in figures))
