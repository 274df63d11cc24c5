# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent beside an emulated access point: what a scenario says of its queue, it makes of it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from box import CATCHES, Box
from house import AGENT, demand_agent

POINT = """
duration = "30 s"

[[ap]]
name = "ap"
delay = "5 ms"
radio = { kind = "constant", rate = "10 Mbit/s" }
queue = { limit = "600 kB" }
price = { kind = "share", target = "25 ms" }

[[flow]]
name = "flow"
station = "phone"
rtt = "30 ms"
receiver = "share"
"""
CLAMP = POINT.replace('"share", target = "25 ms"', '"linear", a = "20 kB"').replace(
    'receiver = "share"', 'receiver = { kind = "clamp", tau = "500 B" }\nsender = "reno"'
)
PROXY = POINT.replace('price = { kind = "share"', 'proxy = { kind = "share-kernel"').replace(
    'receiver = "share"', 'receiver = "linux"'
)
TWO = """
duration = "5 s"
[[link]]
name = "to-a"
from = "s"
to = "a"
rate = "100 Mbit/s"
duplex = false
[[link]]
name = "to-b"
from = "s"
to = "b"
rate = "100 Mbit/s"
duplex = false
[[ap]]
name = "a"
delay = "5 ms"
radio = {{ kind = "constant", rate = "10 Mbit/s" }}
proxy = {{ kind = "share-kernel", target = "25 ms" }}
[[ap]]
name = "b"
delay = "5 ms"
radio = {{ kind = "constant", rate = "10 Mbit/s" }}
{law}
[[flow]]
name = "f"
path = ["s", "a"]
station = "phone"
[[flow]]
name = "g"
path = ["s", "b"]
station = "tablet"
{receiver}
"""
"""Two access points, one of which has a proxy."""
PRICED = TWO.replace('proxy = {{ kind = "share-kernel"', 'price = {{ kind = "share"')
PRICED = PRICED.replace('"25 ms"', '"10 ms"').replace('"phone"', '"phone"\nreceiver = "share"')
"""The same, where that one has a price."""
STATION = '[[ap.station]]\nname = "phone"\nprice = { kind = "share", target = "90 ms" }\n'
PLAIN = """
[[flow]]
name = "{}"
station = "phone"
rtt = "30 ms"
"""
"""A flow more."""
DOWNLOAD = "iperf3 -c $LASTHOP_SERVER -R -t 6 > /dev/null"


def queue(box: Box, *options: str) -> dict[str, Any]:
    """The access point's queue under a download of six seconds."""
    serve = ("--serve", "iperf3 -s -1")
    summary = box.summary(POINT, "--cc", "reno", *options, *serve, inner=["sh", "-c", DOWNLOAD])
    found: dict[str, Any] = summary["queues"][0]
    return found


def test_the_agent_takes_the_place_of_the_laws_of_a_scenario(box: Box) -> None:
    demand_agent()
    plain = queue(box)
    agent = f"{AGENT} proxy --dev lasthop --target '25 ms' --metrics 127.0.0.1:9469"
    steered = queue(box, "--privileged", "--serve", agent)
    # 600 kB last for 480 ms, and reno fills them.
    assert plain["mean_delay_s"] > 0.12
    # 30 ms away a flow stands below T on average, and overshoots it once in the beginning.
    assert 0.005 < steered["mean_delay_s"] < 0.04
    assert steered["p95_delay_s"] < 0.1


@pytest.mark.parametrize("server", ["$LASTHOP_SERVER", "$LASTHOP_SERVER6"], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("offload", [[], ["--offload"]], ids=["single", "joined"])
def test_the_proxy_stands_at_a_gateway_in_front_of_the_access_point(
    box: Box, server: str, offload: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    # What comes from beyond the gateway has one of its 64 hops less, and has lost no time.
    command = f"ping -c 3 {server} && iperf3 -c {server} -R -t 2 > /dev/null && "
    # This machine is behind it as well.
    command += "ping -c 1 $LASTHOP_HOST > /dev/null && ping -c 1 $LASTHOP_HOST6 > /dev/null"
    serve = ("--serve", "iperf3 -s -1")
    told = ("--json", "told.json")
    done = box.run(PROXY, *offload, *serve, *told, inner=["sh", "-c", command])
    assert done.returncode == 0, done.stderr
    fastest = re.search(r"= ([0-9.]+)/", done.stdout)
    assert done.stdout.count("ttl=63") == 3, done.stdout
    assert fastest and 40.0 <= float(fastest[1]) < 45.0, done.stdout
    summary = json.loads((box.folder / "told.json").read_text())
    assert summary["emulation"]["agent"] == "proxy" and summary["queues"][0]["mean_delay_s"] < 0.04


@pytest.mark.parametrize("law", ["share-kernel", "station-kernel"])
def test_a_proxy_of_a_scenario_shares_between_unlike_paths(
    box: Box, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    text = PROXY.replace('"30 s"', '"12 s"\nwarmup = "4 s"').replace("share-kernel", law)
    far = '\n[[flow]]\nname = "far"\nstation = "phone"\nrtt = "120 ms"\nsender = "cubic"\n'
    near = text.replace('receiver = "linux"', 'receiver = "linux"\nsender = "cubic"')
    summary = box.summary(near + far + 'receiver = "linux"\n')
    assert summary["emulation"]["agent"] == "proxy"
    queue = summary["queues"][0]
    # Of 25 ms that are wanted what longer paths do not fill of theirs is missing.
    assert 0.012 < queue["mean_delay_s"] < 0.03, queue
    assert queue["utilisation"] > 0.95 and queue["drops"] == 0, queue
    assert summary["fairness"]["jain"] > 0.97, summary["flows"]


@pytest.mark.parametrize("options", [[], ["--ipv6"], ["--proxy"]], ids=["client", "IPv6", "proxy"])
def test_a_scenario_with_a_price_runs_with_the_agent(
    box: Box, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    short = CLAMP.replace('"30 s"', '"8 s"\nwarmup = "3 s"')
    summary = box.summary(short, *options)
    assert summary["emulation"]["agent"] == ("proxy" if "--proxy" in options else "client")
    (flow,), (queue,) = summary["flows"], summary["queues"]
    # 9.65 Mbit/s of payload; a + τ last for 16.4 ms. Reno by itself fills 480 ms.
    # After a slow start that ended early, the proxy refills by τ a round trip.
    assert flow["goodput_bps"] > (0.75 if "--proxy" in options else 0.9) * 9.65e6
    assert (0.0 if "--proxy" in options else 0.008) < queue["mean_delay_s"] < 0.035
    assert queue["drops"] == 0


@pytest.mark.measured
@pytest.mark.parametrize(
    ("text", "weigh", "apart"),
    [
        (POINT, '{{ kind = "share", weight = {} }}', 0.1),
        # Its windows are of whole segments: here of six for the least weight.
        (CLAMP, '{{ kind = "clamp", tau = "{} kB" }}', 0.2),
    ],
    ids=["share", "clamp"],
)
def test_flows_behind_the_proxy_have_the_scenarios_weights(
    box: Box, text: str, weigh: str, apart: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    network, flow = text.replace('"30 s"', '"16 s"\nwarmup = "6 s"').split("[[flow]]")
    flow = re.sub("receiver = .*", "", flow)
    for weight in (1, 2, 4):
        network += f"[[flow]]{flow}\nreceiver = {weigh.format(weight)}\n".replace(
            'name = "flow"', f'name = "flow-{weight}"'
        )
    summary = box.summary(network, "--proxy")
    parts = [flow["goodput_bps"] for flow in summary["flows"]]
    assert [part / sum(parts) * 7 for part in parts] == pytest.approx([1, 2, 4], rel=apart)
    assert summary["notes"] == []


@pytest.mark.parametrize(
    ("text", "options", "lines"),
    [
        (
            POINT.replace('"share", target', '"share", fair = true, target')
            + PLAIN.format("b")
            + PLAIN.format("c"),
            ["--proxy"],
            [
                "ap[0].price: lasthop-agent does not keep fair",
                "flow[1] and 1 more: lasthop-agent lowers its windows as well",
            ],
        ),
        (
            POINT.replace(
                'receiver = "share"', 'receiver = { kind = "share", rise = 3.0, g = 0.9 }'
            ),
            ["--proxy"],
            ["flow[0].receiver: lasthop-agent does not keep rise"],
        ),
        (
            POINT.replace('"share"\n', '{ kind = "share", theta = "0 s", g = 1.0 }\n'),
            ["--proxy"],
            [],
        ),
        (
            CLAMP.replace('"linear"', '"smooth", b = 0.5'),
            ["--proxy"],
            ['ap[0].price: lasthop-agent does not keep kind = "smooth", b'],
        ),
        (
            PROXY.replace("target", 'queue = "qdisc", target'),
            [],
            [
                "ap[0].proxy: lasthop-agent is in front of the queue and does not see it:"
                " it does not keep queue"
            ],
        ),
    ],
    ids=["router", "receiver", "theta", "price", "sight"],
)
def test_what_the_proxy_does_not_keep_is_said(
    box: Box, text: str, options: list[str], lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    summary = box.summary(text.replace('"30 s"', '"1 s"'), "--cc", "reno", *options)
    assert summary["notes"] == lines


def test_what_the_agent_refuses_is_no_note_beside_a_command(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    text = POINT.replace('"share"\n', '{ kind = "share", theta = "11 s" }\n')
    done = box.run(text, "--cc", "reno", "--proxy", inner=["true"])
    assert done.returncode == 2
    assert "law.theta = 11 s" in done.stderr


def test_what_a_command_opens_obeys_the_scenario_as_well(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    serve = ("--serve", "iperf3 -s -1")
    summary = box.summary(CLAMP, "--cc", "reno", *serve, inner=["sh", "-c", DOWNLOAD])
    assert summary["emulation"]["agent"] == "client"
    assert summary["queues"][0]["mean_delay_s"] < 0.04


@pytest.mark.parametrize(
    ("text", "options", "parts"),
    [
        (POINT, [], ["flow[0].receiver", '"share"', "--proxy"]),
        (CLAMP.replace("tau =", "packets = 10, tau ="), [], ["flow[0].receiver", "tau, phi and"]),
        (
            CLAMP
            + PLAIN.format("b")
            + 'receiver = { kind = "clamp", tau = "500 B", refill = 0.5 }\n',
            [],
            ["flow[1].receiver: refill = 0.5: one agent has both", "wanted 0 as in flow[0]"],
        ),
        (POINT.replace('receiver = "share"', ""), ["--proxy"], ["--proxy", "no receiver behind"]),
        (
            TWO.format(law='proxy = { kind = "share-kernel", target = "10 ms" }', receiver=""),
            [],
            ["ap[1].proxy", "one agent has all access points", "ap[0].proxy"],
        ),
        (
            TWO.format(law='price = "share"', receiver='receiver = "share"'),
            [],
            ["flow[1].receiver", '"share"', "--proxy"],
        ),
        (
            PRICED.format(law='price = "share"', receiver='receiver = "share"'),
            ["--proxy"],
            ["ap[1].price", "target = 25 ms: one agent has all", "10 ms", "ap[0].price"],
        ),
        (
            PRICED.format(
                law='price = { kind = "linear", a = "9 kB" }', receiver='receiver = "share"'
            ),
            ["--proxy"],
            ["ap[1].price", '"linear": receivers behind the proxy have another law'],
        ),
        (
            POINT.replace("[[flow]]", STATION + "[[flow]]"),
            ["--proxy"],
            ["ap[0].station[0].price", "target = 90 ms", "wanted 25 ms as in ap[0].price"],
        ),
        (PROXY, ["--proxy"], ["--proxy", "without ap[0].proxy"]),
        (
            POINT.replace('price = { kind = "share", target = "25 ms" }', ""),
            ["--proxy"],
            ["--proxy", "no receiver behind an access point with a price"],
        ),
        (
            POINT + PLAIN.format("b") + 'receiver = { kind = "share", g = 0.5 }\n',
            ["--proxy"],
            ["flow[1].receiver", "g = 0.5", "one agent has all flows", "0.88", "flow[0]"],
        ),
        (
            POINT
            + PLAIN.format("b")
            + 'receiver = "share"\n'
            + PLAIN.format("c")
            + 'receiver = { kind = "share", weight = 200 }\n',
            ["--proxy"],
            ["flow[2].receiver", "200 of what most flows have", "from 0.01 to 100"],
        ),
        (
            POINT
            + "".join(
                PLAIN.format(f"f{weight}") + f'receiver = {{ kind = "share", weight = {weight} }}\n'
                for weight in range(2, 12)
            ),
            ["--proxy"],
            ["the weights of 10 flows differ from most: one agent has 8 at most"],
        ),
    ],
)
def test_what_no_agent_does_is_said_in_a_line(
    box: Box, text: str, options: list[str], parts: list[str]
) -> None:
    done = box.run(text, "--cc", "reno", *options)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert all(part in done.stderr for part in parts), done.stderr


def test_a_run_whose_agent_ends_before_it_is_refused(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    mortal = tmp_path / "lasthop-agent"
    mortal.write_text(f'#!/bin/sh\n(sleep 2; kill -9 $$) > /dev/null 2>&1 &\nexec {AGENT} "$@"\n')
    mortal.chmod(0o755)
    monkeypatch.setenv("LASTHOP_AGENT", str(mortal))
    done = box.run(CLAMP.replace('"30 s"', '"4 s"'))
    assert "not to be believed: lasthop-agent ended before the run did: signal: 9" in done.stderr


def test_ctrl_c_on_a_terminal_does_not_end_the_agent_before_the_command(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    status, heard = box.interrupted(CLAMP, "--allow-lag", inner=CATCHES)
    assert b"caught" in heard
    assert status == 5, heard
    assert b"not to be believed" not in heard


def test_an_agent_that_complains_a_lot_does_not_wait_to_be_heard(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    wrote = tmp_path / "wrote"
    many = f"(seq 100000 >&2; touch {wrote}) > /dev/null &"
    talkative = tmp_path / "lasthop-agent"
    talkative.write_text(f'#!/bin/sh\n{many}\nexec {AGENT} "$@"\n')
    talkative.chmod(0o755)
    monkeypatch.setenv("LASTHOP_AGENT", str(talkative))
    box.summary(CLAMP.replace('"30 s"', '"4 s"'))
    assert wrote.exists()


@pytest.mark.parametrize("inner", [[], ["true"]], ids=["flows", "command"])
def test_without_the_agent_nothing_is_pretended(
    box: Box, inner: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LASTHOP_AGENT", "/nowhere")
    monkeypatch.setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
    done = box.run(CLAMP, inner=inner)
    assert done.returncode == (0 if inner else 2), done.stderr
    assert "flow[0].receiver" in done.stderr and "there is no lasthop-agent" in done.stderr
