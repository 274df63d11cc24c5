# SPDX-License-Identifier: MIT OR Apache-2.0
"""The paper ``gamma``: its network, how it measures, and that every figure is drawn."""

import dataclasses
import tomllib

import pytest
from conftest import assert_drawn
from lasthop import run
from lasthop.paper import Lab, load_paper
from lasthop.papers import gamma, gamma_runs
from lasthop.runs import Runner
from lasthop.scenario import load

SCENARIOS = ("gamma", "gamma-joins", "gamma-leaves", "gamma-diverse", "gamma-handoff")


def test_the_scenarios_have_the_parameters_of_the_paper() -> None:
    parameters = load_paper("gamma").document["parameters"]
    for name in SCENARIOS:
        document = tomllib.loads(load(name).text)
        for flow in document["flow"]:
            sender = flow["sender"]
            assert (flow["packet"], flow["jitter"]) == (parameters["packet"], parameters["jitter"])
            for key in ("initial_window", "rto_min", "rto_initial"):
                assert sender[key] == parameters[key], name
            limit = None if name == "gamma-handoff" else parameters["window_limit"]
            assert sender.get("window_limit") == limit
    for contender, pair in parameters["protocols"].items():
        assert gamma_runs.CONTENDERS[contender].overrides == gamma_runs.aimd(*pair)


def test_flows_double_and_halve() -> None:
    counts = [flow["count"] for flow in tomllib.loads(load("gamma-joins").text)["flow"]]
    assert [sum(counts[: i + 1]) for i in range(4)] == [12, 25, 50, 100]
    counts = [flow["count"] for flow in tomllib.loads(load("gamma-leaves").text)["flow"]]
    assert [sum(counts[i:]) for i in range(4)] == [100, 50, 25, 12]


def test_round_trip_times_are_spread_as_the_paper_says() -> None:
    # Lightly loaded, a flow sees its propagation and a few packets: least 30 ms, most 500 ms.
    few = {**dict(gamma_runs.diverse((), 500)), "flow[0].sender.window_limit": "1 packet"}
    result = run("gamma-diverse", set={**few, "duration": "5 s", "flow[0].jitter": "0 s"})
    least = result.flows["mean_rtt_s"]
    for i in (0, 10, 19):
        assert least[i] == pytest.approx(0.03 + i * 0.47 / 19, abs=0.005)


def test_readers_get_what_the_link_carries() -> None:
    # One reader of 1 Mbit/s on 10 Mbit/s always succeeds; of 20 Mbit/s it never does.
    alone = {
        **dict(gamma_runs.dumbbell(1, 10) + gamma_runs.reading(0.9)), "duration": "20 s",
    }  # fmt: skip
    assert run("gamma", set=alone).summary["system"]["success"] == 1.0
    greedy = {**alone, "flow[0].app.rate": "20 Mbit/s"}
    assert run("gamma", set=greedy).summary["system"]["success"] == 0.0
    modest = {**greedy, "flow[0].reader.rate": "1 Mbit/s"}
    assert run("gamma", set=modest).summary["system"]["success"] == 1.0


def test_the_system_is_its_flows() -> None:
    result = run("gamma", set={"duration": "20 s", "warmup": "4500 ms", "sample": "500 ms"})
    summary, flows, table = result.summary, result.flows, result.table("system")
    assert summary["system"]["goodput_bps"] == pytest.approx(flows["goodput_bps"].sum())
    assert summary["system"]["cov"] == pytest.approx(flows["cov"].mean())
    # 15.5 s of half seconds, none of them silent: what was sampled is what was delivered.
    assert len(table) == 31
    assert table["time_s"].iloc[0] == 4.5 and table["time_s"].iloc[-1] == 19.5
    assert table["goodput_bps"].mean() == pytest.approx(summary["system"]["goodput_bps"])
    assert (table["goodput_bps"] > 0).all()
    assert table["fairness"].mean() == pytest.approx(summary["fairness"]["short_term"])
    assert summary["system"]["success"] is None


def test_allotted_fairness_is_of_those_who_are_there() -> None:
    table = run("gamma-joins", set={"duration": "16 s"}).table("system")
    # Thirteen flows join at 15 s; counted before, with nothing, they would hold it below 12/25.
    assert table["fairness"].iloc[5:15].min() > 0.6


def test_steps_and_leads() -> None:
    values = {"a": [1.0, 1.0], "b": [2.0, 3.0], "c": [2.5, 2.0]}
    # From a to b 1 and 2, from b to c 0.5 and −1, which is less in the mean; each with two seeds.
    assert gamma.rising(["a", "b", "c"], values.__getitem__) == [0.5, -1.0]
    # b leads by 1 and 2, c by 1.5 and 1: c by less in the mean, though not with the first seed.
    assert gamma.above(["b", "c"], ["a"], values.__getitem__) == [1.5, 1.0]


@pytest.fixture(scope="module")
def short_lab() -> Lab:
    """Short runs of few points: this is about drawing, not about what is measured."""
    patch = pytest.MonkeyPatch()
    for name, family in gamma_runs.FAMILIES.items():
        fewer = dataclasses.replace(family, quick=family.quick[:2])
        patch.setitem(gamma_runs.FAMILIES, name, fewer)
    lab = Lab("quick", [1], Runner())
    yield lab
    patch.undo()


@pytest.mark.parametrize("figure", list(gamma.FIGURES))
def test_every_figure_is_drawn_with_named_axes(figure: str, short_lab: Lab) -> None:
    assert_drawn(gamma.FIGURES[figure](short_lab))
