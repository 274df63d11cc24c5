# SPDX-License-Identifier: MIT OR Apache-2.0
"""The paper ``qfcp``: its scenarios, its table, and how it measures."""

import math
import tomllib

import pandas as pd
import pytest
from lasthop._lasthop import settling_time
from lasthop.lab import Lab, settled_s
from lasthop.paper import load_paper
from lasthop.papers.qfcp import figures, measures
from lasthop.scenario import load


def test_the_scenarios_have_the_parameters_of_the_paper() -> None:
    parameters = load_paper("qfcp").document["parameters"]
    for name in ("qfcp-download", "qfcp-twelve", "qfcp-loss", "qfcp-pair"):
        document = tomllib.loads(load(name).text)
        is_long = name in {"qfcp-loss", "qfcp-pair"}
        limit = parameters["buffer"]["loss" if is_long else "usual"]
        assert document["wlan"][0]["queue"]["limit"] == limit
        assert document["wlan"][0]["feedback"]["packet"] == parameters["packet"]
        assert all(flow["packet"] == parameters["packet"] for flow in document["flow"])
        if name != "qfcp-twelve":
            rtt = parameters["long_rtt" if is_long else "rtt"]
            assert [flow["rtt"] for flow in document["flow"]] == [rtt] * len(document["flow"])
    flows = tomllib.loads(load("qfcp-twelve").text)["flow"]
    assert [flow["rtt"] for flow in flows] == [f"{rtt} ms" for rtt in range(40, 371, 30)]
    assert ["source" in flow for flow in flows] == [False, True] * 6


def test_all_cells_of_the_table() -> None:
    assert measures.table_cells(Lab(seeds=[1, 2])) == [100.0, 100.0]
    # The paper's own examples, and a gain with which the queue is emptied and probed for ever.
    assert settling_time(0.1, 0.3) == pytest.approx(3.0)
    assert settling_time(0.9, 0.9) == pytest.approx(0.7)
    assert settling_time(0.3, 1.5) is None


def test_xcps_rest_in_packets() -> None:
    # (.4/.2263)·1 Mbit/s·d = q, d = 40 ms + q/10 Mbit/s: 8838 B/(1 − .17676) = 10.7 kB.
    assert figures.rest_packets(11) == pytest.approx(8.01, abs=0.01)
    assert figures.rest_packets(9) == 0.0
    assert math.isnan(figures.rest_packets(15.7))


def test_how_far_a_rate_is_from_the_later_one() -> None:
    # 3 Mbit/s from 3 to 5 s after the first second, 4 later.
    rates = [9e6, 1e6, 1e6, 1e6, 3e6, 3e6, *[4e6] * 9]
    so_far = pd.Series(rates).cumsum() / 8
    so_far.index = pd.Index(range(1, 16), dtype=float)
    assert measures.astray_after(so_far, 1.0) == pytest.approx(0.25)


def test_when_a_wavering_capacity_is_found() -> None:
    # 2 until 3 s, then 0.8 and 1.2 by turns, 1 over any second; the last with a 2 ends at 3.5 s.
    times = [0.25 * n for n in range(60)]
    sampled = pd.Series([2.0 if s < 3 else (0.8, 1.2)[n % 2] for n, s in enumerate(times)], times)
    assert settled_s(sampled) == 10.0
    assert settled_s(measures.moving_mean(sampled)) == 3.5


def test_the_longest_silence() -> None:
    # Rises at 1, 4, 5 and 7 s.
    so_far = pd.Series([0, 1, 1, 1, 2, 3, 3, 4], index=pd.Index(range(8), dtype=float))
    assert [measures.longest_silence_s(so_far, since_s) for since_s in (0, 2)] == [3.0, 2.0]


def test_jains_index_of_each_second() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 0.0], "b": [3.0, 2.0, 0.0]})
    found = list(measures.jain(frame))
    assert found[:2] == [0.8, 1.0] and math.isnan(found[2])
