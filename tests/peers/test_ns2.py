# SPDX-License-Identifier: MIT OR Apache-2.0
"""lasthop against ns-2: the same dumbbells, the same numbers within stated tolerances.

ns-2's numbers are stored in `ns2.csv`, so ns-2 is not needed; one test runs it where it is
installed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import lasthop
import pytest
from demands import demand_program
from peer_cases import CASES, STEPPED, Case
from record_ns2 import QUANTITIES, TABLE, VARIANTS, jain, quantities, run_ns2, settings_of
from tables import allowance, means, stored

# Relative tolerance of each quantity by the beginning of the case's name; three standard deviations
# of ns-2's own runs come on top. Where flows share a drop-tail queue, who loses how much hangs on
# how packets fall in step, and only sums are held to a few per cent.
SHARED = {"goodput_bps": 0.02, "drops": 0.05, "jain": 0.05}
TOLERANCES: dict[str, dict[str, float]] = {
    "loss-": {"goodput_bps": 0.03, "retransmits": 0.05},
    "reno-loss-": {"goodput_bps": 0.03, "retransmits": 0.05, "timeouts": 0.1},
    "share-": {"goodput_bps": 0.01, "mean_queue_delay_s": 0.01, "drops": 0.01},
    "reno-share-": {"goodput_bps": 0.01, "mean_queue_delay_s": 0.01, "drops": 0.01},
    "red-": {"goodput_bps": 0.01, "mean_queue_delay_s": 0.02, "drops": 0.02, "jain": 0.05},
    "droptail-": {"goodput_bps": 0.01, "mean_queue_delay_s": 0.01, "drops": 0.01, "jain": 0.05},
    "two-rtts": {"goodput_bps": 0.02, "mean_queue_delay_s": 0.06, "jain": 0.05, "timeouts": 0.05},
    "short-transfer": {"goodput_bps": 0.001, "finish_s": 0.01, "drops": 0.0, "timeouts": 0.0},
    # ns-2's window may fall below two segments.
    "smooth-loss-": {"goodput_bps": 0.03, "retransmits": 0.05, "timeouts": 0.1},
    "responsive-loss-": {"goodput_bps": 0.03, "retransmits": 0.05, "timeouts": 0.1},
    "newreno-jitter-": {**SHARED, "timeouts": 0.05},
    "newreno-limited-jitter-": {**SHARED, "timeouts": 0.05},
    "newreno-spread-": {**SHARED, "timeouts": 0.05},
    "newreno-limited-": SHARED,
    "smooth-jitter-": {**SHARED, "timeouts": 0.05},
    "smooth-spread-": {**SHARED, "timeouts": 0.05},
    "smooth-newreno-35": SHARED,
    "smooth-limited-jitter-": {**SHARED, "timeouts": 0.05},
    "smooth-limited-": SHARED,
    # With ten flows 1.06 of ns-2's time-outs, where that has the same number whatever the seed.
    "handoff-limited": {"goodput_bps": 0.05, "retransmits": 0.05, "timeouts": 0.1, "jain": 0.05},
    "handoff-": {"goodput_bps": 0.05, "retransmits": 0.05, "timeouts": 0.05, "jain": 0.05},
    "stepped-": {"goodput_bps": 0.02, "drops": 0.05, "jain": 0.05},
    # The recovery of RFC 6675 beside that of Sack1.
    "sack-": SHARED,
    "vegas-": {"goodput_bps": 0.01, "mean_queue_delay_s": 0.10, "drops": 0.0},
    "veno-": {"goodput_bps": 0.01, "mean_queue_delay_s": 0.10, "drops": 0.25},
    # Linux filters the bandwidth twice.
    "westwood-": {"goodput_bps": 0.01, "mean_queue_delay_s": 0.10, "drops": 0.25},
    "w1": {"goodput_bps": 0.01, "mean_queue_delay_s": 0.01, "drops": 0.01, "timeouts": 0.01},
    "w3": {"goodput_bps": 0.03, "mean_queue_delay_s": 0.06},
}
LIVE_CASE = "share-4-buffer-42"


@cache
def simulated(case: Case) -> dict[str, float]:
    """Mean of lasthop over the variants that ns-2 was run with."""
    runs = [
        _from_summary(lasthop.run(case.scenario(*variant)).summary, case) for variant in VARIANTS
    ]
    return means(runs)


def _from_summary(summary: dict[str, Any], case: Case) -> dict[str, Any]:
    flows = summary["flows"]
    queue = next(queue for queue in summary["queues"] if queue["name"] == "bottleneck")
    goodput_bps = sum(flow["goodput_bps"] for flow in flows)
    finishes = [flow["finish_s"] for flow in flows if flow["finish_s"] is not None]
    return {
        "goodput_bps": goodput_bps,
        # ns-2 counts a packet's own transmission into its time in the queue.
        "mean_queue_delay_s": queue["mean_delay_s"] + 1500 * 8 / (case.rate_mbps * 1e6),
        "drops": queue["drops"],
        "retransmits": sum(flow["retransmits"] for flow in flows),
        "timeouts": sum(flow["timeouts"] for flow in flows),
        "first_flow_share": flows[0]["goodput_bps"] / goodput_bps,
        "jain": jain([flow["goodput_bps"] for flow in flows]),
        "finish_s": max(finishes, default=None),
    }


def tolerances(name: str) -> dict[str, float]:
    return next(found for prefix, found in TOLERANCES.items() if name.startswith(prefix))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_table_was_made_with_the_settings_of_today(case: Case) -> None:
    row = stored(TABLE)[case.name]
    assert {key: row[key] for key in settings_of(case)} == settings_of(case)


@pytest.mark.parametrize(
    ("case", "quantity", "tolerance"),
    [
        pytest.param(case, quantity, tolerance, id=f"{case.name}-{quantity}")
        for case in CASES
        for quantity, tolerance in tolerances(case.name).items()
    ],
)
def test_lasthop_agrees_with_ns2(case: Case, quantity: str, tolerance: float) -> None:
    reference, allowed = allowance(stored(TABLE)[case.name], quantity, tolerance)
    assert simulated(case)[quantity] == pytest.approx(reference, rel=0, abs=allowed)


@pytest.mark.parametrize("quantity", ["drops", "retransmits", "timeouts"])
@pytest.mark.parametrize("cases", STEPPED, ids=lambda cases: cases[0].name)
def test_over_some_round_trip_times_flows_in_step_agree_with_ns2(
    cases: tuple[Case, ...], quantity: str
) -> None:
    reference = sum(float(stored(TABLE)[case.name][quantity]) for case in cases)
    assert sum(simulated(case)[quantity] for case in cases) == pytest.approx(reference, rel=0.05)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_goodput_is_within_the_bottleneck(case: Case) -> None:
    most_bps = case.rate_mbps * 1e6 * 1460 / 1500
    ours = simulated(case)["goodput_bps"]
    theirs = float(stored(TABLE)[case.name]["goodput_bps"])
    assert 0 < ours <= most_bps * 1.001
    assert 0 < theirs <= most_bps * 1.001


def test_ns2_still_says_what_is_stored() -> None:
    demand_program("ns")
    case = next(case for case in CASES if case.name == LIVE_CASE)
    runs = [quantities(run_ns2(case, *variant)) for variant in VARIANTS]
    found = means(runs)
    for quantity in QUANTITIES:
        text = stored(TABLE)[case.name][quantity]
        assert (quantity in found) == bool(text)
        if text:
            assert found[quantity] == pytest.approx(float(text), rel=1e-4)
