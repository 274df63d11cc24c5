# SPDX-License-Identifier: MIT OR Apache-2.0
"""TFRC flows in lasthop against those of ns-2, whose numbers are stored in `ns2_tfrc.csv`."""

from __future__ import annotations

import statistics
from functools import cache

import lasthop
import pytest
from demands import demand_program
from tables import allowance, means, stored
from tfrc_cases import CASES, TABLE, VARIANTS, TfrcCase

# Relative tolerance of each quantity; three standard deviations of ns-2's own runs come on top.
# Without damping CoV and drops differ from ns-2's (see README.md): only goodput is held there.
DAMPED = {"goodput_bps": 0.02, "cov": 0.1, "drops": 0.1}
UNDAMPED = {"goodput_bps": 0.02}


@cache
def simulated(case: TfrcCase) -> dict[str, float]:
    """Mean of lasthop over the variants that ns-2 was run with."""
    runs = []
    for variant in VARIANTS:
        summary = lasthop.run(case.scenario(*variant)).summary
        flows = summary["flows"]
        runs.append(
            {
                "goodput_bps": sum(flow["goodput_bps"] for flow in flows),
                "cov": statistics.fmean(flow["cov"] for flow in flows),
                "drops": summary["queues"][0]["drops"],
            }
        )
    return means(runs)


@pytest.mark.parametrize(
    ("case", "quantity", "tolerance"),
    [
        pytest.param(case, quantity, tolerance, id=f"{case.name}-{quantity}")
        for case in CASES
        for quantity, tolerance in (DAMPED if case.damping else UNDAMPED).items()
        # A flow alone is so smooth that single packets make its variation.
        if (case.flows, quantity) != (1, "cov")
    ],
)
def test_tfrc_agrees_with_ns2(case: TfrcCase, quantity: str, tolerance: float) -> None:
    reference, allowed = allowance(stored(TABLE)[case.name], quantity, tolerance)
    assert simulated(case)[quantity] == pytest.approx(reference, rel=0, abs=allowed)


def test_a_flow_alone_is_smooth_in_both() -> None:
    case = next(case for case in CASES if case.flows == 1 and case.damping)
    assert simulated(case)["cov"] < 0.01
    assert float(stored(TABLE)[case.name]["cov"]) < 0.01


def test_ns2_still_says_what_is_stored() -> None:
    demand_program("ns")
    case = next(case for case in CASES if case.flows == 1 and case.damping)
    found = means([case.ns2(*variant) for variant in VARIANTS])
    for quantity, mean in found.items():
        assert mean == pytest.approx(float(stored(TABLE)[case.name][quantity]), rel=1e-4)
