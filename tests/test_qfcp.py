# SPDX-License-Identifier: MIT OR Apache-2.0
"""The paper ``qfcp``: every claim is measured, every figure drawn, all cells of its table equal."""

import math
import tomllib

import pandas as pd
import pytest
from conftest import assert_drawn
from lasthop._lasthop import settling_time
from lasthop.paper import Lab, load_paper
from lasthop.papers import qfcp, qfcp_figures, qfcp_runs
from lasthop.runs import Runner
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
    assert qfcp.table_cells(Lab("quick", [1, 2], Runner())) == [100.0, 100.0]
    # The paper's own examples, and a gain with which the queue is emptied and probed for ever.
    assert settling_time(0.1, 0.3) == pytest.approx(3.0)
    assert settling_time(0.9, 0.9) == pytest.approx(0.7)
    assert settling_time(0.3, 1.5) is None


def test_xcps_rest_by_a_pencil() -> None:
    # (.4/.2263)·1 Mbit/s·d = q, d = 40 ms + q/10 Mbit/s: 8838 B/(1 − .17676) = 10.7 kB.
    assert qfcp_figures.rest_packets(11e6, 10e6, 0.04) == pytest.approx(8.01, abs=0.01)
    assert qfcp_figures.rest_packets(9e6, 10e6, 0.04) == 0.0
    assert math.isnan(qfcp_figures.rest_packets(15.7e6, 10e6, 0.04))


def acknowledged(rates: list[float]) -> dict[str, pd.DataFrame]:
    """The samples of one flow that has these rates in bit/s, a second each, sampled twice."""
    bytes_so_far = [0.0]
    for rate in rates:
        bytes_so_far += [bytes_so_far[-1] + rate / 16, bytes_so_far[-1] + rate / 8]
    time = [i / 2 for i in range(len(bytes_so_far))]
    frame = pd.DataFrame({"time_s": time, "flow": "f", "acknowledged_bytes": bytes_so_far})
    return {"flows": frame}


def test_when_a_rate_is_found() -> None:
    tables = acknowledged([8e6, 1e6, 5e6, 4e6, 4e6, 4e6, 4e6, 4e6, 4e6, 4e6])
    # The third second has 5 Mbit/s, and the last half of it is in the second up to 3.5 s: 4.5.
    assert qfcp_runs.found_s(tables) == 3.5
    assert qfcp_runs.found_s(tables, 1.0, 9.0) == 2.5
    assert qfcp_runs.found_s(tables, 4.0, 6.0) == 0.0


def test_how_far_a_rate_is_from_the_later_one() -> None:
    # 3 Mbit/s from 3 to 5 s after the first second, 4 later.
    tables = acknowledged(
        [9e6, 1e6, 1e6, 1e6, 3e6, 3e6, 4e6, 4e6, 4e6, 4e6, 4e6, 4e6, 4e6, 4e6, 4e6]
    )
    assert qfcp_runs.astray(tables, 1.0) == pytest.approx(0.25)


def test_jains_index_of_each_second() -> None:
    # qfcp eq. 12.
    frame = pd.DataFrame({"a": [1.0, 2.0, 0.0], "b": [3.0, 2.0, 0.0]})
    found = list(qfcp_runs.jain(frame))
    assert found[:2] == [0.8, 1.0] and math.isnan(found[2])


@pytest.mark.parametrize("figure", list(qfcp.FIGURES))
def test_every_figure_is_drawn_with_named_axes(
    figure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Short runs: this is about drawing, not about what is measured.
    monkeypatch.setitem(qfcp_runs.LENGTH, "quick", "12 s")
    monkeypatch.setattr(qfcp_figures, "WIRE", (9, 10, 11))
    assert_drawn(qfcp.FIGURES[figure](Lab("quick", [1], Runner())))
