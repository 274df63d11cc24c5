# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured of a run of ``clamp-report``."""

from __future__ import annotations

from statistics import fmean

from ...lab import Run

MEGABYTE_BITS = 8e6
PAYLOAD_BYTES = 460
"""Of a packet of 500 B."""


def queue_bytes(run: Run) -> float:
    """The mean of all queues together."""
    return float(sum(queue["mean_bytes"] for queue in run.summary["queues"]))


def download_s(run: Run) -> float:
    """The time for 1 MB of payload, mean over the flows."""
    return fmean(MEGABYTE_BITS / max(flow["goodput_bps"], 1e-9) for flow in run.summary["flows"])


def awnd_limited(run: Run) -> float:
    """The share of time in which the advertised window bounds, mean over the flows."""
    return fmean(flow["awnd_limited_fraction"] for flow in run.summary["flows"])


def window_packets(run: Run, figure: str) -> float:
    """A window in packets, mean over the flows."""
    return fmean(flow[figure] for flow in run.summary["flows"]) / PAYLOAD_BYTES


def loss_rate(run: Run) -> float:
    """The loss rate that is set."""
    return float(run.point["loss"])
