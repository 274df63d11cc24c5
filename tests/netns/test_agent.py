# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent between real kernels: short queues, and never anything broken."""

import os
import signal
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from captures import FIELDS, capturing, judge
from demands import demand, demand_program
from distance import port_at
from house import AGENT, CLIENT, SERVER, SERVER6, house
from lasthop._lasthop import jain
from pair import fields, obey, stamp

LINE_BPS = 9.57e6
"""What 10 Mbit/s carry of payload: 1448 of 1514 B."""


def test_the_queue_is_short_and_the_link_is_full() -> None:
    with house(limit=300_000) as built:
        with built.download(2) as plain:
            time.sleep(1.5)
            before_ms = built.ping_ms(10)
        built.agent("--target", "20 ms")
        with built.download(3) as steered:
            time.sleep(1.2)
            after_ms = built.ping_ms(30)
            status, rate_bps = built.status(), built.rate_bps()
        # The buffer holds 240 ms; reno is far into it by now.
        assert statistics.mean(before_ms) > 60
        # The law's own figure: T while d is next to nothing.
        assert 10 <= statistics.mean(after_ms) <= 25
        assert max(after_ms) <= 2 * 20 + 25
        assert steered["bps"] >= 0.97 * LINE_BPS
        assert plain["bps"] == pytest.approx(LINE_BPS, rel=0.1)
        assert rate_bps == pytest.approx(10e6, rel=0.03)
        assert status["queues"][0]["delay_s"] <= 0.045
        assert 0 < status["counts"]["lowered"]["packets"] <= status["counts"]["ack"]["packets"]
        assert status["unsteered_fraction"] < 0.05


@pytest.mark.parametrize("mode", ["proxy", "ap"])
def test_segments_of_a_virtual_machines_super_packets_are_known(mode: str) -> None:
    with house(rate="100mbit", virtual=True) as built:
        if mode == "ap":
            stamp(built, "--a", "10 kB")
            obey(built)
        else:
            built.agent()
        with built.download(4):
            # Long enough for super-packets of 64 kB.
            time.sleep(1.5)
            built.tbf("change", "10mbit")
            time.sleep(1.5)
            waits_ms = built.ping_ms(20)
            status = built.status()
    assert statistics.mean(waits_ms) <= 35
    if mode == "ap":
        assert status["queues"][0]["a_bytes"] == 10_000
        # What is sent again, where the line has become slower, bears none.
        counts = status["counts"]
        assert counts["unstamped"]["packets"] <= 0.01 * counts["stamped"]["packets"]
    else:
        assert {flow["mss_bytes"] for flow in status["flows"]} == {1448}


@pytest.mark.parametrize(("host", "congestion"), [(SERVER, "bbr"), (SERVER6, "reno")])
def test_four_flows_share_evenly(host: str, congestion: str) -> None:
    with house(congestion=congestion) as built:
        built.agent()
        with built.download(2, flows=4, host=host) as found:
            time.sleep(1.2)
            waits_ms = built.ping_ms(20, host=host)
            flows = built.status()["flows"]
        assert jain(found["each"]) >= 0.98
        assert found["bps"] >= 0.96 * LINE_BPS
        assert statistics.mean(waits_ms) <= 30
        # Four, and the one that iperf3 itself speaks by.
        assert len(flows) == 5
        assert sum(flow["state"] == "limited" for flow in flows) >= 4


def test_windows_are_of_the_segments_that_come_not_of_those_a_client_would_take() -> None:
    with house(slow="modem") as built:
        for where, device in (
            ("router", "lan"), ("modem", "wan"), ("modem", "lan"), ("client", "eth"),
        ):  # fmt: skip
            built.run(where, "ip", "link", "set", "dev", device, "mtu", 9000)
        built.agent()
        with built.download(3, flows=8) as found:
            time.sleep(2)
            waits_ms = built.ping_ms(20)
            flows = built.status()["flows"]
    assert sum(flow["mss_bytes"] == 1448 for flow in flows) >= 8
    assert found["bps"] >= 0.96 * LINE_BPS
    assert statistics.mean(waits_ms) <= 32


def test_bbr_and_cubic_share_evenly() -> None:
    ports = [20_030, 21_030, 22_030, 23_030]
    with house(distances=True) as built:
        built.helper("server", "serve", "bbr", "cubic")
        plain = built.fetch(ports, warm_s=3, take_s=4)
        built.agent()
        steered = built.fetch(ports, warm_s=3, take_s=4)
    assert jain(list(plain.values())) <= 0.9
    assert jain(list(steered.values())) >= 0.98
    assert sum(steered.values()) >= 0.96 * sum(plain.values())


@pytest.mark.parametrize("slow", ["router", "modem"])
def test_the_queue_is_no_longer_than_bbr_near_by_bears(slow: str) -> None:
    ports = [port_at(n, away_ms) for n, away_ms in enumerate((5, 5, 100, 100))]
    with house(rate="100mbit", limit=3_125_000, slow=slow, distances=True) as built:
        # Of BBR alone those near by may by chance have their shares as it is.
        built.helper("server", "serve", "bbr", "cubic")
        built.agent()
        shares, before, after = built.watched(ports, warm_s=8, take_s=5)
    assert [before["queues"][0]["target_s"], before["target_s"]] == [0.025, 0.025]
    # A server 5 ms away bears a queue of as much or less, and goes on to bear it.
    queues = [queue for status in after for queue in status["queues"]]
    assert all(0.003 <= queue["target_s"] <= 0.015 for queue in queues)
    assert statistics.mean(queue["delay_s"] for queue in queues) <= 0.015
    assert jain(shares) >= 0.98
    assert sum(shares) >= 85e6


@pytest.mark.parametrize("host", [SERVER, SERVER6])
def test_a_queue_downstream_is_known_from_acks(host: str) -> None:
    with house(slow="modem") as built:
        built.agent()
        with built.download(4, flows=2, host=host) as found:
            time.sleep(1.8)
            waits_ms = built.ping_ms(30, host=host)
            status, rate_bps = built.status(), built.rate_bps()
        assert status["source"] == "outstanding"
        (queue,) = status["queues"]
        # Of payload: 9.57 Mbit/s.
        assert rate_bps == pytest.approx(LINE_BPS, rel=0.04)
        assert queue["client_rtt_s"] < 0.005
        assert 10 <= statistics.mean(waits_ms) <= 32
        assert found["bps"] >= 0.96 * LINE_BPS
        assert jain(found["each"]) >= 0.98


def test_clients_that_share_a_queue_downstream_share_it_evenly() -> None:
    with house(slow="modem", distances=True) as built:
        built.helper("server", "serve", "cubic")
        built.agent("--queue", "shared")
        with ThreadPoolExecutor() as pool:
            # Two addresses of one host: with a queue for each, each takes the other's for its path.
            hosts = {SERVER: 20_020, SERVER6: 21_020}
            loads = [
                pool.submit(built.fetch, [port], 4, 5, host=host) for host, port in hosts.items()
            ]
            time.sleep(4)
            waits_ms = built.ping_ms(60)
            status = built.status()
            rates = [bps for load in loads for bps in load.result().values()]
    assert status["source"] == "shared"
    (queue,) = status["queues"]
    assert queue["weights"] == 2
    assert statistics.mean(waits_ms) <= 32
    assert jain(rates) >= 0.98
    assert sum(rates) >= 0.95 * LINE_BPS


@pytest.mark.measured
@pytest.mark.parametrize("slow", ["modem", "router"])
def test_hosts_at_several_distances_share_one_address_evenly(slow: str) -> None:
    with house(slow=slow, distances=True) as built:
        built.helper("server", "serve")
        built.agent()
        with ThreadPoolExecutor() as pool:
            # 5 to 100 ms away; the two farther ones join a queue that stands.
            found = pool.submit(built.fetch, [20_005, 20_020, "20050+1", "20100+2"], 6, 5)
            time.sleep(9)
            status = built.status()
            rates = list(found.result().values())
        away_s = {int(f["client"].split(":")[1]): f["client_rtt_s"] for f in status["flows"]}
    assert sum(rates) >= 0.96 * LINE_BPS
    # With the nearest one's path for all, the farthest got a fourteenth: .65 to .70.
    assert jain(rates) >= 0.95
    assert status["source"] == ("qdisc" if slow == "router" else "outstanding")
    assert away_s[20_100] == pytest.approx(0.1, abs=0.015)


@pytest.mark.measured
@pytest.mark.parametrize("slow", ["modem", "router"])
def test_beside_a_constant_stream_of_datagrams_tcp_keeps_its_half(slow: str) -> None:
    with house(slow=slow, distances=True) as built:
        built.helper("server", "serve")
        built.agent()
        with ThreadPoolExecutor() as pool:
            found = pool.submit(built.fetch, [20_020], 3, 5)
            time.sleep(1)
            built.helper("server", "pour", CLIENT, 5e6)
            time.sleep(3)
            waits_ms = built.ping_ms(30)
            status = built.status()
            (bps,) = found.result().values()
    assert bps >= 0.9 * LINE_BPS / 2
    assert statistics.mean(waits_ms) <= 40
    (queue,) = status["queues"]
    assert queue["unsteered_fraction"] == pytest.approx(0.5, abs=0.08)
    assert status["unsteered_fraction"] > 0.3


@pytest.mark.measured
@pytest.mark.parametrize("slow", ["modem", "router"])
def test_who_wants_less_than_its_share_has_it_and_others_the_rest(slow: str) -> None:
    wanted_bps = 2e6
    with house(slow=slow) as built:
        built.agent()
        with (
            built.download(8, port=5202, pace_bps=wanted_bps) as paced,
            built.download(6, flows=2) as greedy,
        ):
            time.sleep(2)
            waits_ms = built.ping_ms(60)
    assert paced["bps"] >= 0.95 * wanted_bps
    assert greedy["bps"] >= 0.95 * (LINE_BPS - wanted_bps)
    assert jain(greedy["each"]) >= 0.98
    assert statistics.mean(waits_ms) <= 32


@pytest.mark.measured
@pytest.mark.parametrize("slow", ["modem", "router"])
@pytest.mark.parametrize("law", ["share", "station"])
def test_many_that_have_little_to_send_leave_the_line_to_a_download(law: str, slow: str) -> None:
    each_bps, count = 20e3, 40
    with house(slow=slow) as built:
        built.agent("--law", law)
        with built.download(
            15, flows=count, port=5202, pace_bps=each_bps, block_bytes=1000
        ) as thin:
            # Who came within two seconds is on its way to its share.
            time.sleep(4)
            with built.download(7) as greedy:
                time.sleep(3)
                waits_ms = built.ping_ms(60)
    assert thin["bps"] >= 0.9 * count * each_bps
    assert greedy["bps"] >= 0.93 * (LINE_BPS - count * each_bps)
    assert statistics.mean(waits_ms) <= 32


@pytest.mark.measured
@pytest.mark.parametrize("slow", ["modem", "router"])
def test_connections_on_several_processors_share_as_on_one(slow: str) -> None:
    demand("" if (os.cpu_count() or 1) > 1 else "no second processor")
    with house(slow=slow) as built:
        for device in ("lan", "wan"):
            built.spread("router", device)
        built.agent()
        with built.download(6, flows=8) as found:
            time.sleep(2)
            waits_ms = built.ping_ms(60)
    assert found["bps"] >= 0.96 * LINE_BPS
    assert jain(found["each"]) >= 0.98
    assert statistics.mean(waits_ms) <= 32


@pytest.mark.measured
def test_stations_have_queues_of_their_own() -> None:
    other = "10.1.0.3"
    rates_bps = {CLIENT: 10e6, other: 4e6}
    with house(slow="modem") as built:
        run = built.run
        run("client", "ip", "addr", "add", f"{other}/24", "dev", "eth")
        # A queue for each, as an access point has them, of single segments: that qdisc parts none.
        run("server", "ip", "link", "set", "eth", "gso_max_segs", "1")
        run("modem", "tc", "qdisc", "replace", "dev", "lan", "root", "handle", "1:", "htb")
        for number, (address, bps) in enumerate(rates_bps.items(), 1):
            queue = ("dev", "lan", "parent", "1:")
            run("modem", "tc", "class", "add", *queue, "classid", f"1:{number}", "htb",
                "rate", int(bps), "burst", "3000", "cburst", "3000")  # fmt: skip
            run("modem", "tc", "filter", "add", *queue, "protocol", "ip", "u32",
                "match", "ip", "dst", address, "flowid", f"1:{number}")  # fmt: skip
        built.agent()
        with (
            built.download(6, flows=2) as first,
            built.download(6, flows=2, port=5202, at=other) as second,
        ):
            time.sleep(2)
            waits_ms = {address: built.ping_ms(30, at=address) for address in rates_bps}
            status = built.status()
    found = {queue["client"]: queue["rate_bps"] for queue in status["queues"]}
    for address, got in ((CLIENT, first), (other, second)):
        line_bps = LINE_BPS / 10e6 * rates_bps[address]
        assert got["bps"] >= 0.95 * line_bps
        assert jain(got["each"]) >= 0.97
        assert found[address] == pytest.approx(line_bps, rel=0.06)
        assert statistics.mean(waits_ms[address]) <= 34


@pytest.mark.measured
@pytest.mark.parametrize("law", ["share", "clamp"])
@pytest.mark.parametrize("slow", ["modem", "router"])
def test_weights_are_parts_of_the_rate(law: str, slow: str, tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    rules = {
        20_020: "port = 20020",
        20_021: "port = 20021",
        20_022: 'port = 20022\nprefix = "10.1.0.0/16"',
    }
    file.write_text(
        "".join(f"[[weight]]\nweight = {1 << i}\n{rule}\n" for i, rule in enumerate(rules.values()))
    )
    with house(slow=slow, distances=True) as built:
        built.helper("server", "serve")
        built.agent("--config", file, "--law", law)
        found = built.fetch(list(rules), 4, 8)
    whole = sum(found.values())
    assert whole >= 0.95 * LINE_BPS
    for i, port in enumerate(rules):
        assert 7 * found[port] / whole == pytest.approx(1 << i, rel=0.1)


@pytest.mark.parametrize(("slow", "host"), [("modem", SERVER), ("router", SERVER6)])
def test_the_station_window_tells_by_updates_what_other_connections_may_send(
    slow: str, host: str
) -> None:
    with house(slow=slow, distances=True) as built:
        built.helper("server", "serve", "cubic")
        built.agent("--law", "station", "--target", "20 ms")
        with ThreadPoolExecutor() as pool:
            found = pool.submit(built.fetch, [20_010, 20_080], 3, 3, host)
            time.sleep(3.5)
            waits_ms = built.ping_ms(40, host=host)
            status = built.status()
            rates = list(found.result().values())
    counts = {kind: count["packets"] for kind, count in status["counts"].items()}
    assert status["law"] == "station"
    assert sum(rates) >= 0.95 * LINE_BPS
    assert jain(rates) >= 0.95
    assert statistics.mean(waits_ms) <= 32
    # What comes in behind an ACK is told apart from the clients' own.
    assert 0 < counts["updates"] < counts["ack"]
    assert counts["midstream"] == 0


@pytest.mark.measured
@pytest.mark.parametrize("slow", ["modem", "router"])
def test_clamp_settles_at_a_and_raises_it_for_many(slow: str) -> None:
    with house(slow=slow, distances=True) as built:
        built.helper("server", "serve")
        built.agent("--law", "clamp", "--a", "10 kB")
        with ThreadPoolExecutor() as pool:
            found = pool.submit(built.fetch, [20_020, 20_021, 20_022], 8, 5)
            time.sleep(10)
            few = built.status()["queues"][0]["a_bytes"]
            rates = list(found.result().values())
            many = pool.submit(built.fetch, range(20_000, 20_012), 8, 5)
            time.sleep(10)
            raised = built.status()["queues"][0]["a_bytes"]
            crowd = list(many.result().values())
    assert few == 10_000
    assert raised > 15_000
    assert sum(rates) >= 0.95 * LINE_BPS
    assert jain(rates) >= 0.97
    assert sum(crowd) >= 0.95 * LINE_BPS
    assert jain(crowd) >= 0.9


@pytest.mark.parametrize("law", ["share", "station"])
def test_a_capture_has_no_edge_to_the_left_no_zero_window_and_right_sums(
    law: str, tmp_path: Path
) -> None:
    demand_program("tshark")
    before, behind = tmp_path / "before.pcapng", tmp_path / "behind.pcapng"
    only = "tcp and src host 10.1.0.2"
    with house() as built:
        built.sum_in_software("client", "eth")
        built.agent("--law", law, "--target", "10 ms")
        # Behind the agent, and out of its programs' sight.
        with (
            capturing(built, "client", "eth", only, before),
            capturing(built, "router", "wan", only, behind),
            built.download(3, flows=4) as found,
            built.download(3, port=5202, pace_bps=5e5),
        ):
            time.sleep(1.5)
            # Windows grow, that of who has seldom an ACK at hand as well.
            for rate in ("20mbit", "40mbit", "80mbit"):
                built.tbf("change", rate)
                time.sleep(0.5)
        counts = {kind: count["packets"] for kind, count in built.status()["counts"].items()}
    acks = judge(behind, before)
    assert acks >= 1000
    assert counts["lowered"] + counts["updates"] >= 0.9 * acks
    assert (counts["updates"] > 0) == (law == "station")
    # What the SYN opens, at most the first ten segments.
    for _, _, window, _, _, _ in fields(behind, FIELDS, "tcp.flags.syn == 1"):
        assert int(window) <= 14600
    assert found["bps"] >= 0.9 * LINE_BPS


def test_a_dry_run_touches_nothing() -> None:
    with house(limit=300_000) as built:
        built.agent("--dry-run")
        with built.download(1):
            time.sleep(1.2)
            waits_ms = built.ping_ms(10)
        status = built.status()
        assert statistics.mean(waits_ms) > 60
        assert status["counts"]["lowered"]["packets"] == 0
        assert status["dry_run"]
        assert status["queues"][0]["rate_bps"] == pytest.approx(10e6, rel=0.05)


def test_killed_it_leaves_a_clean_device_and_flows_go_on() -> None:
    with house(limit=100_000) as built:
        agent = built.agent()
        assert built.programs()
        with built.download(2) as found:
            time.sleep(1.5)
            agent.send_signal(signal.SIGKILL)
            agent.wait()
            assert not built.programs()
        # Let loose, reno overshoots the buffer once and recovers.
        assert found["bps"] >= 0.6 * LINE_BPS


def test_one_agent_a_device_and_it_leaves_when_told() -> None:
    with house() as built:
        first = built.agent()
        second = built.ask("router", AGENT, "proxy", "--dev", "lan")
        assert second.returncode == 2
        assert "an agent is at lan already" in second.stderr
        built.run("router", AGENT, "detach", "--dev", "lan")
        _, err = first.communicate(timeout=10)
        assert first.returncode == 0, err
        assert not built.programs()
        assert built.ask("router", AGENT, "status", "--dev", "lan").returncode == 2


def test_a_device_that_goes_takes_the_agent_along() -> None:
    with house() as built:
        agent = built.agent()
        built.run("router", "ip", "link", "del", "lan")
        _, err = agent.communicate(timeout=30)
        assert agent.returncode == 0
        assert "the device is gone" in err


def test_connections_that_were_there_before_pass_untouched() -> None:
    with house(limit=100_000) as built, built.download(2) as found:
        time.sleep(0.5)
        built.agent()
        time.sleep(1)
        counts = built.status()["counts"]
        assert counts["midstream"]["packets"] > 0
        assert counts["lowered"]["packets"] == 0
    assert found["bps"] >= 0.6 * LINE_BPS
