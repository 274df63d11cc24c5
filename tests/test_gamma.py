# SPDX-License-Identifier: MIT OR Apache-2.0
"""The paper ``gamma``: its networks, and how it measures."""

import tomllib

import pytest
from lasthop import run
from lasthop.paper import load_paper
from lasthop.scenario import load

SCENARIOS = ("gamma", "gamma-joins", "gamma-leaves", "gamma-diverse", "gamma-handoff")


def test_the_scenarios_have_the_parameters_of_the_paper() -> None:
    parameters = load_paper("gamma").document["parameters"]
    for name in SCENARIOS:
        document = tomllib.loads(load(name).text)
        for flow in document["flow"]:
            sender = flow["sender"]
            assert (flow["packet"], flow["jitter"]) == (parameters["packet"], parameters["jitter"])
            assert sender["rules"] == "ns-2"
            for key in ("initial_window", "rto_min", "rto_initial"):
                assert sender[key] == parameters[key], name
            limit = None if name == "gamma-handoff" else parameters["window_limit"]
            assert sender.get("window_limit") == limit
    for contender, (alpha, beta) in parameters["protocols"].items():
        sender = load_paper("gamma").setting(contender)
        assert sender == {"flow[*].sender.alpha": alpha, "flow[*].sender.beta": beta}


def at(sweep: str, **point: float | str) -> dict[str, str]:
    """What a point of a sweep sets."""
    found = load_paper("gamma").sweeps[sweep]
    return dict(found.overrides({"contender": "reno", **point}, "full"))


@pytest.mark.parametrize("contender", ["smooth", "reno"])
def test_a_hundred_flows_send_as_much_again_as_in_ns2(contender: str) -> None:
    # Without the ticks of its clock it is 15.4 and 17.0 %, without its limited transmit 11.2, 14.1.
    claims = {claim.id: claim for claim in load_paper("gamma").claims}
    wanted = claims[f"gamma:4-{contender}"].reference
    network = at("wired-10", flows=100, contender=contender)
    found = [
        run("gamma", set=network, seed=seed).summary["system"]["overhead"] for seed in (1, 2, 3)
    ]
    assert 100 * sum(found) / 3 == pytest.approx(wanted, abs=1)


def test_networks_by_a_pencil() -> None:
    # 10 Mbit/s for 100 ms are 1 Mbit, 120 packets of 8320 bits.
    wired = at("wired-10", flows=30)
    assert (wired["link[0].rate"], wired["link[0].queue.limit"]) == ("10 Mbit/s", "120 packets")
    assert (wired["flow[0].count"], wired["flow[0].access"]) == ("30", "10 Mbit/s")
    assert at("proposals", flows=30)["link[0].rate"] == "30 Mbit/s"
    assert "flow[0].sink.loss" not in at("lossy-10", loss=0)
    lossy = at("lossy-100-slow", loss=0.01)
    assert lossy["flow[0].sink.loss"] == '{ kind = "bernoulli", p = 0.01 }'
    assert (lossy["link[0].rate"], lossy["flow[0].sink.rate"]) == ("100 Mbit/s", "10 Mbit/s")
    bursts = at("bursty-10", loss=0.05)["flow[0].sink.loss"]
    assert bursts == '{ kind = "gilbert-elliott", mean_loss = 0.05, mean_burst = 2 }'
    # 19 steps from 30 to 500 ms.
    assert at("diverse", longest_ms=500)["flow[0].rtt_step"] == "24736842 ns"


def test_flows_double_and_halve() -> None:
    counts = [flow["count"] for flow in tomllib.loads(load("gamma-joins").text)["flow"]]
    assert [sum(counts[: i + 1]) for i in range(4)] == [12, 25, 50, 100]
    counts = [flow["count"] for flow in tomllib.loads(load("gamma-leaves").text)["flow"]]
    assert [sum(counts[i:]) for i in range(4)] == [100, 50, 25, 12]


def test_round_trip_times_are_spread_as_the_paper_says() -> None:
    # Lightly loaded, a flow sees its propagation and a few packets: least 30 ms, most 500 ms.
    few = {"flow[0].sender.window_limit": "1 packet", "flow[0].jitter": "0 s", "duration": "5 s"}
    result = run("gamma-diverse", set={**at("diverse", longest_ms=500), **few})
    least = result.flows["mean_rtt_s"]
    for i in (0, 10, 19):
        assert least[i] == pytest.approx(0.03 + i * 0.47 / 19, abs=0.005)


def test_readers_get_what_the_link_carries() -> None:
    # One reader of 1 Mbit/s on 10 Mbit/s always succeeds; of 20 Mbit/s it never does.
    wide = {"link[0].rate": "10 Mbit/s", "link[0].queue.limit": "120 packets"}
    alone = {**at("readers", flows=1), **wide, "duration": "20 s"}
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
    assert table["fairness"].iloc[5:15].min() > 12 / 25
