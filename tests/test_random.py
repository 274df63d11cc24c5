# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scenarios drawn at random: what must hold of all of them, and of those that are not valid.

``LASTHOP_CASES`` says how many of each kind are tried, ``LASTHOP_SEED`` with which seed. A case
that failed is named by its number, and is drawn again by these two.
"""

import os
import random
import tomllib
from contextlib import suppress
from typing import Any

import lasthop
import lasthop.scenario
import pytest
from lasthop.scenario import dump_toml, load, shipped, shipped_folder

CASES = int(os.environ.get("LASTHOP_CASES", "12"))
SEED = int(os.environ.get("LASTHOP_SEED", "1"))

WILD: list[Any] = [
    0, 1, -1, 2**31, 2**63, -(2**63), 0.5, 1e-300, 1e300, float("inf"), float("nan"), True, "", " ",
    "x", "\0", "é" * 50, "0 s", "1 ns", "1e9 s", "-1 s", "1e300 s", "0 B", "1 B", "1e15 B",
    "0 bit/s", "1 bit/s", "1e18 bit/s", "0 Hz", "1e-9 Hz", "0 packets", "1 packet", [], {}, [[]],
    {"kind": "x"}, {"kind": "cubic"}, {"kind": "trace", "file": "nowhere"}, ["a", "a"], "cubic",
]  # fmt: skip


class EnoughError(Exception):
    """A run has gone on for long enough."""


def run_a_while(document: dict[str, Any]) -> None:
    """Runs until the first report of progress."""

    def stop(_: float) -> None:
        raise EnoughError

    scenario = lasthop.scenario.Scenario(dump_toml(document), shipped_folder(), "x")
    with suppress(EnoughError):
        lasthop.run(scenario, on_progress=stop)


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every table or list with every key or index of it."""
    found: list[tuple[Any, Any]] = []
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        found.append((node, key))
        if isinstance(value, dict | list):
            found += places(value)
    return found


def keys_of(schema: dict[str, Any]) -> list[str]:
    """All keys that some table of a scenario may have."""
    found = set(schema["properties"])
    for definition in schema["$defs"].values():
        for variant in (definition, *definition.get("oneOf", [])):
            found |= set(variant.get("properties", {}))
    return sorted(found)


def mutated(draw: random.Random, document: dict[str, Any], keys: list[str]) -> None:
    """Changes a value, takes a key away, adds one of the schema, or doubles an entry."""
    table, key = draw.choice(places(document))
    how = draw.random()
    if how < 0.5:
        table[key] = draw.choice(WILD)
    elif how < 0.65:
        del table[key]
    elif how < 0.9 and isinstance(table, dict):
        table[draw.choice(keys)] = draw.choice(WILD)
    elif isinstance(table, list):
        table.append(table[key])
    else:
        table[key] = [table[key], table[key]]


@pytest.mark.parametrize("case", range(CASES))
def test_a_mutated_scenario_runs_or_is_refused_in_one_line(case: int) -> None:
    draw = random.Random(f"{SEED} mutated {case}")
    keys = keys_of(lasthop.schema())
    for _ in range(10):
        document = tomllib.loads(load(draw.choice(shipped())).text)
        document["duration"], document["warmup"] = "300 ms", "100 ms"
        for _ in range(draw.choice((1, 1, 2, 4))):
            mutated(draw, document, keys)
        try:
            run_a_while(document)
        except lasthop.ScenarioError as error:
            assert len(str(error).splitlines()) == 1, document
            assert any(mark in str(error) for mark in (":", "`", "wanted")), (str(error), document)
        except lasthop.UserError as error:
            assert "wanted text, a number" in str(error), "what is no value of TOML"


def drawn(draw: random.Random) -> dict[str, Any]:
    """A valid scenario of moderate size, as likely wired as wireless."""
    rate = draw.choice(("200 kbit/s", "2 Mbit/s", "11 Mbit/s"))
    queue = {"limit": draw.choice(("4 packets", "20 kB", "200 packets"))}
    if draw.random() < 0.3:
        queue["aqm"] = draw.choice(("red", "codel", "fq-codel", "two-queues"))
    document: dict[str, Any] = {
        "duration": "40 s",
        "warmup": draw.choice(("0 s", "3 s")),
        "seed": draw.randrange(2**32),
    }
    if draw.random() < 0.5:
        radio = draw.choice((
            {"kind": "constant", "rate": rate},
            {"kind": "jakes", "doppler": draw.choice(("2 Hz", "60 Hz")), "bandwidth": "1 MHz",
             "max_rate": rate, "attempts": draw.choice((1, 5, 15))},
            {"kind": "trace", "file": "traces/lte-driving.down"},
        ))  # fmt: skip
        document["ap"] = [{"name": "ap", "delay": "2 ms", "radio": radio, "queue": queue}]
        if draw.random() < 0.5:
            document["ap"][0]["price"] = {"kind": "linear", "a": "6 kB"}
        way: dict[str, Any] = {}
    else:
        link = {"name": "link", "from": "a", "to": "b", "rate": rate, "delay": "7 ms",
                "queue": queue}  # fmt: skip
        if draw.random() < 0.4:
            link["loss"] = {"kind": "bernoulli", "p": draw.choice((0.001, 0.03))}
        document["link"] = [link]
        way = {"path": ["a", "b"]}
    document["flow"] = []
    senders = ("newreno", "reno", "cubic", "vegas", "veno", "westwood", "linux-cubic", "linux-reno",
               {"kind": "aimd", "alpha": 0.3, "beta": 0.8})  # fmt: skip
    for number in range(draw.randint(1, 5)):
        flow = {"name": f"f{number}", "rtt": draw.choice(("1 ms", "40 ms", "300 ms")), **way,
                "sender": draw.choice(senders), "start": f"{draw.randrange(5000)} ms"}  # fmt: skip
        if not way:
            flow["station"] = f"m{draw.randint(0, 2)}"
            if draw.random() < 0.4:
                flow["receiver"] = {"kind": "clamp", "tau": "500 B"}
        if draw.random() < 0.4:
            flow["app"] = {"kind": "fixed", "size": f"{draw.randint(1, 60)} kB"}
        elif draw.random() < 0.3:
            flow["stop"] = "12 s"
        document["flow"].append(flow)
    return document


def run(document: dict[str, Any], **settings: Any) -> lasthop.Result:
    scenario = lasthop.scenario.Scenario(dump_toml(document), shipped_folder(), "drawn")
    return lasthop.run(scenario, set=settings or None)


@pytest.mark.parametrize("case", range(CASES))
def test_what_holds_of_every_valid_scenario(case: int) -> None:
    document = drawn(random.Random(f"{SEED} drawn {case}"))
    result = run(document)
    summary = {**result.summary, "wall_s": None}
    assert {**run(document).summary, "wall_s": None} == summary, "the same bits again"
    probed = run(document, **{"probe.every": "250 ms", "probe.packets": "true"})
    for part in ("flows", "queues", "fairness", "system"):
        assert probed.summary[part] == summary[part], "a probe changes nothing"

    measured_s = summary["duration_s"] - summary["warmup_s"]
    for queue in summary["queues"]:
        assert 0 <= queue["empty_fraction"] <= 1 + 1e-9
        assert 0 <= (queue["loss_rate"] or 0) <= 1
        assert 0 <= (queue["utilisation"] or 0) <= 1 + 1500 * 8 / (200e3 * measured_s) + 1e-3
        if queue["mean_delay_s"] is not None:
            assert 0 <= queue["mean_delay_s"] <= summary["duration_s"]
            assert 0 <= queue["p95_delay_s"] <= summary["duration_s"]
    for flow in summary["flows"]:
        assert flow["goodput_bps"] == pytest.approx(flow["delivered_bytes"] * 8 / measured_s)
        propagation_s = {"1 ms": 0.001, "40 ms": 0.04, "300 ms": 0.3}[
            next(f["rtt"] for f in document["flow"] if f["name"] == flow["name"])
        ]
        assert flow["mean_rtt_s"] is None or flow["mean_rtt_s"] >= propagation_s
    delivered = sum(flow["delivered_bytes"] for flow in summary["flows"])
    departed = sum(
        queue["throughput_bps"] * measured_s / 8
        for queue in summary["queues"]
        if "(back)" not in queue["name"]
    )
    # What came before the warm-up was over and waited in receivers may be delivered after it.
    assert delivered <= departed + 2**20
    if summary["fairness"]["jain"] is not None:
        assert 1 / len(summary["flows"]) - 1e-9 <= summary["fairness"]["jain"] <= 1 + 1e-9

    queues = probed.table("queues")
    limit = document.get("ap", document.get("link"))[0]["queue"]["limit"]
    most = {"4 packets": ("packets", 4), "20 kB": ("bytes", 20_000),
            "200 packets": ("packets", 200)}[limit]  # fmt: skip
    assert queues[most[0]].max() <= most[1], "no queue holds more than its limit"


@pytest.mark.parametrize("case", range(CASES))
def test_a_drained_network_has_delivered_what_was_sent(case: int) -> None:
    draw = random.Random(f"{SEED} drained {case}")
    document = drawn(draw)
    document["duration"], document["warmup"] = "900 s", "0 s"
    for flow in document["flow"]:
        flow["app"] = {"kind": "fixed", "size": f"{draw.randint(1, 80)} packets"}
        flow.pop("stop", None)
    result = run(document, **{"probe.packets": "true"})
    packets = result.table("packets")
    data = packets[packets["kind"] == 2]
    for number, flow in enumerate(document["flow"]):
        name = flow["name"]
        summary = result.summary["flows"][number]
        sent = data[(data["flow"] == name) & (data["at_receiver"] == 0)]
        come = data[(data["flow"] == name) & (data["at_receiver"] == 1)]
        assert summary["finish_s"] is not None, f"{name} has come to its end"
        whole = int(sent["number_bytes"].max() + sent.loc[sent["number_bytes"].idxmax(),
                                                          "payload_bytes"])  # fmt: skip
        assert summary["delivered_bytes"] == whole, "all of it, and nothing twice"
        assert len(sent) - sent["number_bytes"].nunique() == summary["retransmits"]
        assert len(come) <= len(sent), "nothing is made on the way"
        assert set(come["number_bytes"]) == set(sent["number_bytes"])
    forward = packets[packets["kind"].isin((0, 2))]  # data, and the SYN before
    lost = (forward["at_receiver"] == 0).sum() - (forward["at_receiver"] == 1).sum()
    drops = sum(
        queue["drops"] for queue in result.summary["queues"] if "(back)" not in queue["name"]
    )
    lossless = document.get("link", [{}])[0].get("loss") is None
    if (
        lossless
        and document.get("ap", [{"radio": {"kind": "constant"}}])[0]["radio"]["kind"] != "jakes"
    ):
        assert lost == drops, "what did not come was dropped at a queue"
    else:
        assert lost >= drops
