# SPDX-License-Identifier: MIT OR Apache-2.0
"""lasthop's WLAN against ns-2's 802.11: the same flows, the same goodput within 4 per cent.

ns-2's numbers are stored in `ns2_wlan.csv`, so ns-2 is not needed; one test runs it where it is
installed.
"""

from __future__ import annotations

import statistics
from functools import cache
from typing import Any

import lasthop
import pytest
from demands import demand_program
from record_ns2 import WLAN_TABLE, quantities, run_ns2, settings_of
from tables import stored
from wlan_cases import WLAN_CASES, WLAN_VARIANTS, WlanCase

TOLERANCE = 0.04
LIVE_CASE = "down-1-rts"


@cache
def simulated(case: WlanCase) -> list[dict[str, Any]]:
    """Summaries of lasthop over the variants that ns-2 was run with."""
    return [lasthop.run(case.scenario(*variant)).summary for variant in WLAN_VARIANTS]


def goodput_bps(summary: dict[str, Any]) -> float:
    total: float = sum(flow["goodput_bps"] for flow in summary["flows"])
    return total


@pytest.mark.parametrize("case", WLAN_CASES, ids=lambda case: case.name)
def test_the_table_was_made_with_the_settings_of_today(case: WlanCase) -> None:
    row = stored(WLAN_TABLE)[case.name]
    assert {key: row[key] for key in settings_of(case)} == settings_of(case)


@pytest.mark.parametrize("case", WLAN_CASES, ids=lambda case: case.name)
def test_goodput_agrees_with_ns2(case: WlanCase) -> None:
    reference_bps = float(stored(WLAN_TABLE)[case.name]["goodput_bps"])
    ours_bps = statistics.fmean(goodput_bps(summary) for summary in simulated(case))
    assert ours_bps == pytest.approx(reference_bps, rel=TOLERANCE)


@pytest.mark.parametrize("case", WLAN_CASES, ids=lambda case: case.name)
def test_no_medium_carries_more_than_one_exchange_at_a_time(case: WlanCase) -> None:
    # A data exchange without back-off: DIFS, 192 us and 1368 B, SIFS, ACK; with RTS 676 us more.
    exchange_us = 50 + 192 + 1368 * 8 / case.rate_mbps + 10 + 304 + 676 * case.rts
    most_bps = 1300 * 8 / exchange_us * 1e6
    for summary in simulated(case):
        assert 0 < goodput_bps(summary) < most_bps
        # Collisions alone let two shares count the same time.
        assert sum(queue["utilisation"] for queue in summary["queues"]) < 1
    assert 0 < float(stored(WLAN_TABLE)[case.name]["goodput_bps"]) < most_bps


def test_ns2_still_says_what_is_stored() -> None:
    demand_program("ns")
    case = next(case for case in WLAN_CASES if case.name == LIVE_CASE)
    runs = [quantities(run_ns2(case, *variant)) for variant in WLAN_VARIANTS]
    for quantity in ("goodput_bps", "retransmits", "timeouts"):
        mean = statistics.fmean(run[quantity] for run in runs if run[quantity] is not None)
        assert mean == pytest.approx(float(stored(WLAN_TABLE)[case.name][quantity]), rel=1e-4)
