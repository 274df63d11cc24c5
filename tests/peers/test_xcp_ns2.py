# SPDX-License-Identifier: MIT OR Apache-2.0
"""One flow of XCP in lasthop against ns-2's, whose numbers are stored in `ns2_xcp.csv`."""

from __future__ import annotations

from functools import cache

import lasthop
import pytest
from demands import demand_program
from tables import allowance, means, stored
from xcp_cases import CASES, NEAR, PERTURBED, TABLE, XcpCase

# Relative tolerance of each quantity; three standard deviations of ns-2's own runs come on top.
ALL = {"goodput_bps": 0.05, "retransmits": 0.05, "timeouts": 0.05}
OVERLOAD = {**ALL, "drops": 0.05}
TOLERANCES = {
    "right": {"goodput_bps": 0.01},
    "overload-80": OVERLOAD,
    **{case.name: OVERLOAD for case in NEAR},
    "overload-120": OVERLOAD,
    "loss-0.01": ALL,
    "loss-0.03": ALL,
    "loss-0.1": ALL,
}


@cache
def simulated(case: XcpCase) -> dict[str, float]:
    """Mean of lasthop over as many runs as ns-2 has."""
    runs = []
    for run in case.runs():
        summary = lasthop.run(case.scenario(*run)).summary
        flow = summary["flows"][0]
        counts = {key: flow[key] for key in ("goodput_bps", "retransmits", "timeouts")}
        runs.append({**counts, "drops": summary["queues"][0]["drops"]})
    return means(runs)


@pytest.mark.parametrize(
    ("case", "quantity", "tolerance"),
    [
        pytest.param(case, quantity, tolerance, id=f"{case.name}-{quantity}")
        for case in CASES
        for quantity, tolerance in TOLERANCES.get(case.name, {}).items()
    ],
)
def test_xcp_agrees_with_ns2(case: XcpCase, quantity: str, tolerance: float) -> None:
    reference, allowed = allowance(stored(TABLE)[case.name], quantity, tolerance)
    assert simulated(case)[quantity] == pytest.approx(reference, rel=0, abs=allowed)


@pytest.mark.parametrize("quantity", OVERLOAD)
def test_over_some_round_trip_times_xcp_in_overload_agrees_with_ns2(quantity: str) -> None:
    # Alone each hangs on the step that it falls into: in step with the router or not.
    reference = sum(float(stored(TABLE)[case.name][quantity]) for case in NEAR)
    assert sum(simulated(case)[quantity] for case in NEAR) == pytest.approx(reference, rel=0.05)


@pytest.mark.parametrize("quantity", OVERLOAD)
@pytest.mark.parametrize("case", PERTURBED, ids=lambda case: case.name)
def test_over_variations_of_a_round_trip_xcp_in_overload_agrees_with_ns2(
    case: XcpCase, quantity: str
) -> None:
    # 27 runs each, at a round trip and up to 10 µs beside it: without an allowance for ns-2's own
    # scatter.
    reference = float(stored(TABLE)[case.name][quantity])
    assert simulated(case)[quantity] == pytest.approx(reference, rel=0.05)


def test_ns2_still_says_what_is_stored() -> None:
    demand_program("ns")
    case = CASES[0]
    mean = means([case.ns2(*run) for run in case.runs()])["goodput_bps"]
    assert mean == pytest.approx(float(stored(TABLE)[case.name]["goodput_bps"]), rel=1e-4)
