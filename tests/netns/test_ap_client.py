# SPDX-License-Identifier: MIT OR Apache-2.0
"""CLAMP's two agents between real kernels: one writes its price, the other goes by it."""

import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from distance import away_s, port_at
from house import BURST_BYTES, SERVER, SERVER6, House, house
from lasthop._lasthop import jain
from pair import FORGE, PRICE, captured, fields, heard, obey, stamp

LINE_BPS = 9.52e6
"""What 10 Mbit/s carry of payload with the option: 1440 of 1514 B."""
HIGHEST = b"\xff" * 4
"""A price of 4 s."""


@contextmanager
def forged(built: House, options: bytes) -> Iterator[subprocess.Popen[str]]:
    """A download from a server that writes these options; it prints how fast it came."""
    server = built.start("server", sys.executable, FORGE, "serve", options.hex())
    assert server.stdout is not None and server.stdout.readline() == "ready\n", server.communicate()
    client = built.start("client", sys.executable, FORGE, "fetch", SERVER, 1, 2)
    try:
        yield client
    finally:
        for process in (client, server):
            process.kill()
            process.communicate()


@pytest.mark.parametrize("priced", [False, True], ids=["plain", "priced"])
@pytest.mark.parametrize("version", [4, 6])
def test_hosts_are_as_far_away_with_a_price_in_front_of_tcp(version: int, priced: bool) -> None:
    tcp, udp = socket.IPPROTO_TCP, socket.IPPROTO_UDP
    ports = struct.pack("!HH", 5301, port_at(0, 100)) + bytes(16)

    def packet(kind: int) -> bytes:
        if version == 4:
            head = bytes([0x47 if priced else 0x45, 0, 0, 0, 0, 0, 0, 0, 64, kind]) + bytes(10)
            return head + bytes(8 * priced) + ports
        option = bytes([kind, 0]) + bytes(6)
        follows = socket.IPPROTO_DSTOPTS if priced else kind
        head = bytes([0x60, 0, 0, 0, 0, 0, follows, 64]) + bytes(32)
        return head + option * priced + ports

    assert away_s(packet(tcp), True) == 0.05
    assert away_s(packet(udp), True) == 0.0


@pytest.mark.parametrize("host", [SERVER, SERVER6])
def test_windows_obey_the_price(host: str) -> None:
    with house(limit=300_000) as built:
        stamp(built, "--a", "10 kB")
        obey(built)
        with built.download(3, host=host) as found:
            time.sleep(2)
            waits_ms = built.ping_ms(20, host=host)
            status, told = built.status(), heard(built)
        # a + τ, 8.4 ms, and what a segment takes by itself; reno's own queue would be 240 ms.
        assert 4 <= statistics.mean(waits_ms) <= 16
        assert found["bps"] >= 0.95 * LINE_BPS
    (queue,) = status["queues"]
    assert (status["mode"], status["law"], queue["a_bytes"]) == ("ap", "clamp", 10_000)
    assert queue["rate_bps"] == pytest.approx(10e6, rel=0.03)
    assert 0 <= queue["price_s"] < 0.01
    stamped, priced = status["counts"]["stamped"], told["counts"]["priced"]["packets"]
    assert stamped["packets"] > 500
    assert (
        status["counts"]["unstamped"]["packets"] == status["counts"]["overwritten"]["packets"] == 0
    )
    assert status["counts"]["mss_lowered"]["packets"] >= 2
    # Super-packets are cut between the two.
    assert priced >= stamped["packets"]
    assert told["counts"]["lowered"]["packets"] > 0.9 * told["counts"]["ack"]["packets"]
    (flow,) = [f for f in told["flows"] if f["forwarded_bytes"] > 1e6]
    assert (flow["state"], flow["mss_bytes"]) == ("limited", 1440 if host == SERVER else 1388)
    assert flow["window_bytes"] < 40_000
    assert flow["price_s"] is not None


def test_many_connections_on_short_paths_raise_a() -> None:
    with house(limit=300_000, distances=True) as built:
        built.helper("server", "serve")
        stamp(built, "--a", "10 kB")
        obey(built)
        raised = []
        # 12 servers 0 to 11 ms away, as many 100 to 111 ms away, and 3.
        for ports in (range(20_000, 20_012), range(20_100, 20_112), range(20_000, 20_003)):
            with ThreadPoolExecutor() as pool:
                done = pool.submit(built.fetch, ports, 2, 1)
                time.sleep(2.5)
                raised.append(built.status()["queues"][0]["a_bytes"])
                done.result()
    # 24 segments of 1440 B less 12 τ, and less what the shortest path holds: a ms or two here.
    assert 24 * 1440 - 12 * 500 - 4_000 <= raised[0] <= 24 * 1440 - 12 * 500
    assert raised[1:] == [10_000, 10_000]


def test_downloads_from_afar_are_even_soon_after_slow_start() -> None:
    with house(limit=312_500, distances=True) as built:
        built.helper("server", "serve", "reno")
        stamp(built, "--a", "29250 B")
        obey(built)
        # What slow start leaves is 1 : 2; by the paper's law alone it takes d²C/(kτ) = 10 s.
        rates = list(built.fetch([20_100, 21_100, 22_100, 23_100], 5, 3).values())
    assert sum(rates) >= 0.93 * LINE_BPS
    assert jain(rates) >= 0.99, rates


@pytest.mark.parametrize("mode", ["ap", "proxy"])
def test_a_is_as_little_as_bbr_near_by_bears(mode: str) -> None:
    ports = [port_at(n, away_ms) for n, away_ms in enumerate((5, 5, 100, 100))]
    with house(rate="100mbit", limit=3_125_000, distances=True) as built:
        built.helper("server", "serve", "bbr", "cubic")
        if mode == "ap":
            stamp(built, "--a", "310 kB")
            obey(built)
        else:
            built.agent("--law", "clamp", "--a", "310 kB")
        shares, before, after = built.watched(ports, warm_s=8, take_s=5)
    # 25 ms; a server 5 ms away bears as much, or less.
    assert {queue["a_bytes"] for queue in before["queues"]} <= {310_000, None}
    lowered = [queue["a_bytes"] for status in after for queue in status["queues"]]
    assert all(310_000 / 8 <= a_bytes <= 190_000 for a_bytes in lowered), lowered
    # .87 with the a that is set.
    assert jain(shares) >= 0.98, shares
    assert sum(shares) >= 80e6


@pytest.mark.parametrize("host", [SERVER, SERVER6])
def test_devices_without_an_ethernet_header(host: str) -> None:
    with house(limit=300_000, slow="modem", distances=True) as built:
        built.agent("--a", "10 kB", mode="ap", where="modem")
        obey(built)
        with built.download(4, host=host) as found:
            time.sleep(1.5)
            rate_bps = built.rate_bps(where="modem", every_s=0.25)
            status, told = built.status(where="modem"), heard(built)
        assert found["bps"] >= 0.85 * LINE_BPS
    assert status["counts"]["stamped"]["packets"] > 100
    assert told["counts"]["priced"]["packets"] > 100
    assert told["counts"]["lowered"]["packets"] > 100
    # What makes distances is an ordinary program: on a slow machine a moment may be a fifth off.
    assert rate_bps == pytest.approx(10e6, rel=0.1)


@pytest.mark.parametrize("host", [SERVER, SERVER6])
def test_another_parser_sees_the_price_and_nothing_behind_the_client(
    host: str, tmp_path: Path
) -> None:
    between, behind, acks = (tmp_path / f"{name}.pcapng" for name in ("between", "behind", "acks"))
    with house() as built:
        built.sum_in_software("server", "eth")
        built.sum_in_software("client", "eth")
        stamp(built, "--a", "10 kB")
        # The modem is the client: what it forwards has gone through the program.
        built.agent(mode="client", where="modem", dev="wan")
        with (
            captured(built, "modem", "wan", between),
            captured(built, "modem", "lan", behind),
            captured(built, "router", "wan", acks),
            built.download(2, host=host) as found,
        ):
            pass
    assert found["bps"] >= 0.9 * LINE_BPS
    data = f"{'ip' if host == SERVER else 'ipv6'}.src == {host} && tcp.len > 0"
    if host == SERVER:
        # Kind, length and tag; and the header's sum as the other parser works it out.
        is_there = "ip.hdr_len == 28 && ip[20:4] == 9e:08:4c:50 && ip.checksum.status == 1"
        is_plain = "ip.hdr_len == 20 && ip.checksum.status == 1"
    else:
        is_there = "ipv6.nxt == 60 && ipv6.opt.type == 0x3e && ipv6.opt.length == 4"
        is_plain = "ipv6.nxt == 6 && ipv6.plen == tcp.len + tcp.hdr_len"
    seen = fields(between, ["tcp.len"], data)
    after = fields(behind, ["tcp.checksum.status"], data)
    assert len(seen) == len(fields(between, ["tcp.len"], f"{data} && {is_there}"))
    assert len(after) == len(fields(behind, ["tcp.len"], f"{data} && {is_plain}")) > 500
    assert len(seen) > 500
    assert max(int(row[0]) for row in seen) == (1440 if host == SERVER else 1388)
    assert {row[0] for row in after} == {"1"}
    # The server is asked for segments with room, and its windows never end earlier than before.
    (room,) = {
        row[0]
        for row in fields(acks, ["tcp.options.mss_val"], "tcp.flags.syn == 1 && tcp.flags.ack == 0")
    }
    assert int(room) == (1452 if host == SERVER else 1400)
    edges: dict[str, int] = {}
    rows = fields(acks, ["tcp.stream", "tcp.ack", "tcp.window_size", "tcp.checksum.status"],
                  "tcp.dstport == 5201 && tcp.flags.syn == 0 && tcp.flags.reset == 0")  # fmt: skip
    assert len(rows) > 500
    for stream, ack, window, sums in rows:
        assert sums == "1" and int(window) > 0
        edge = int(ack) + int(window)
        assert edge >= edges.get(stream, edge)
        edges[stream] = edge


@pytest.mark.parametrize(
    "options",
    [PRICE + HIGHEST, bytes([1, 1, 1, 1]) + PRICE + HIGHEST, bytes([158, 6]) + HIGHEST],
    ids=["in its place", "behind another", "of another length"],
)
def test_a_server_that_writes_prices_changes_nothing(options: bytes) -> None:
    with house() as built:
        stamp(built, "--a", "10 kB")
        obey(built)
        with forged(built, options) as client:
            time.sleep(2)
            overwritten = built.status()["counts"]["overwritten"]["packets"]
            (flow,) = heard(built)["flows"]
            out, err = client.communicate(timeout=60)
            assert client.returncode == 0, err
        # With 4 s it would keep two segments: 3 kB in a queue of nothing, and d of 4 s.
        assert float(out) >= 0.9 * LINE_BPS
        assert flow["price_s"] < 0.1
        is_in_place = options[0] != 1 and options[1] != 6
        assert (overwritten > 100) == is_in_place


@pytest.mark.parametrize("host", [SERVER, SERVER6])
def test_the_price_of_an_access_point_farther_away_is_overwritten(host: str) -> None:
    with house(limit=100_000) as built:
        # The server's own device is slower: it prices a queue that the client is not to hear of.
        shaper = ("tbf", "rate", "8mbit", "burst", str(BURST_BYTES), "limit", "100000")
        built.run("server", "tc", "qdisc", "add", "dev", "eth", "root", *shaper)
        built.agent("--a", "1 kB", mode="ap", where="server", dev="eth")
        stamp(built, "--a", "10 kB")
        obey(built)
        with built.download(3, host=host):
            time.sleep(2.5)
            farther, nearer = built.status("eth", "server"), built.status()
            flows = heard(built)["flows"]
    # Slow start ends with a full path; from there on the window grows by tau, and so that queue.
    assert farther["queues"][0]["price_s"] > 0.005
    # Super-packets, which its qdisc cuts.
    assert farther["counts"]["stamped"]["packets"] > 10
    assert nearer["counts"]["overwritten"]["packets"] > 100
    assert nearer["counts"]["stamped"]["packets"] == 0
    assert max(f["price_s"] or 0 for f in flows) < 0.002


def test_a_forged_price_hurts_its_own_connection_alone() -> None:
    with house() as built:
        obey(built)
        with forged(built, PRICE + HIGHEST), built.download(2) as found:
            time.sleep(1.5)
            flows = heard(built)["flows"]
        (forging,) = [f for f in flows if f["server"].endswith(":5302")]
        assert (forging["price_s"], forging["window_bytes"]) == (
            pytest.approx(4),
            2 * forging["mss_bytes"],
        )
        assert all(f["price_s"] is None for f in flows if f != forging)
        assert found["bps"] >= 0.5 * LINE_BPS


def test_without_an_access_point_it_is_plain_tcp() -> None:
    with house(limit=100_000) as built:
        obey(built)
        stamp(built, "--dry-run")
        with built.download(2) as found:
            time.sleep(1)
            status, told = built.status(), heard(built)
        assert found["bps"] >= 0.9 * LINE_BPS
    assert told["counts"]["lowered"]["packets"] == told["counts"]["priced"]["packets"] == 0
    assert told["counts"]["unpriced"]["packets"] > 100
    assert status["dry_run"] and status["counts"]["stamped"]["packets"] == 0
    # It is looked at all the same.
    assert status["queues"][0]["price_s"] > 0


@pytest.mark.parametrize("where", ["router", "client"])
def test_killed_either_leaves_a_clean_device_and_flows_go_on(where: str) -> None:
    device = "lan" if where == "router" else "eth"
    with house(limit=100_000) as built:
        ap, client = stamp(built, "--a", "10 kB"), obey(built)
        with built.download(8) as found:
            time.sleep(1.5)
            assert heard(built)["flows"]
            (ap if where == "router" else client).kill()
            (ap if where == "router" else client).wait()
            assert not built.programs(device, where)
            if where == "router":
                # A price is good for a second.
                time.sleep(1.2)
                before = heard(built)["counts"]
                time.sleep(0.3)
                after = heard(built)["counts"]
                assert after["ack"]["packets"] > before["ack"]["packets"]
                assert after["lowered"] == before["lowered"]
                assert all(
                    f["state"] == "open"
                    for f in heard(built)["flows"]
                    if f["forwarded_bytes"] > 1e5
                )
        assert found["bps"] >= 0.6 * LINE_BPS


def test_what_the_modem_takes_out_is_let_go() -> None:
    with house(limit=100_000) as built:
        stamp(built, "--a", "10 kB")
        obey(built)
        with built.download(4):
            time.sleep(1.5)
            lowered = heard(built)["counts"]["lowered"]["packets"]
            # It takes prices out of connections that it does not know, and touches nothing else.
            built.agent(mode="client", where="modem", dev="wan")
            time.sleep(1.2)
            before = heard(built)["counts"]["lowered"]["packets"]
            time.sleep(0.3)
            after = heard(built)["counts"]["lowered"]["packets"]
            taken_out = built.status("wan", "modem")["counts"]
        assert lowered > 100
        assert after == before
        assert taken_out["priced"]["packets"] > 100 and taken_out["lowered"]["packets"] == 0
