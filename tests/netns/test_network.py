# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the network between real kernels does to packets: times, rates, sizes, versions of IP."""

import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from box import ENDS, LATE_MS, TWO, Box, delays_ms, link, slack_s
from demands import demand_program
from test_commands import wait_for


def test_twenty_delays_of_10_ms_are_200_ms(box: Box) -> None:
    nodes = [f"n{i}" for i in range(21)]
    links = [
        f'[[link]]\nname = "l{a}"\nfrom = "{a}"\nto = "{b}"\nrate = "1 Gbit/s"\ndelay = "10 ms"\n'
        for a, b in itertools.pairwise(nodes)
    ]
    flow = f'[[flow]]\nname = "f"\npath = {json.dumps(nodes)}\n'
    found, summary = box.train('duration = "20 s"\n' + "".join(links) + flow, 100, 100, 5000)
    delays = delays_ms(found)
    assert len(delays) == 100
    # No packet is early; nine of ten are there within 5 ms.
    assert 200.0 <= min(delays) <= 205.0
    assert statistics.quantiles(delays, n=10)[-1] <= 205.0 + 1e3 * slack_s(summary)
    assert summary["emulation"]["packets"] >= 100


def test_a_link_passes_its_rate_and_adds_its_delay(box: Box) -> None:
    # 1000 packets of 1500 B, sent at 30 Mbit/s, all kept: they leave in 1.2 s.
    found, summary = box.train(link(limit="3 MB"), 1000, 1472, 400)
    assert [row[0] for row in found] == list(range(1000))
    took_s = (found[-1][2] - found[0][2]) / 1e9
    # 999 · 1500 · 8 bits at 10 Mbit/s.
    assert took_s == pytest.approx(1.1988, rel=0.01, abs=0.012 + slack_s(summary))
    # The first: 1.2 ms of transmission and 10 ms.
    assert 11.2 <= delays_ms(found)[0] <= 14.0 + 1e3 * slack_s(summary)
    assert summary["queues"][0]["throughput_bps"] > 0


@pytest.mark.parametrize("gap_us", [0, 40])
def test_packets_stay_in_order_whoever_writes_them(box: Box, gap_us: int) -> None:
    # A few that leave together are written by one thread, more by another, by turns.
    found, summary = box.train(link("1 Gbit/s", "5 ms", "5 MB"), 3000, 200, gap_us)
    assert [row[0] for row in found] == list(range(3000))
    assert min(delays_ms(found)) >= 5.0
    assert summary["emulation"]["packets"] >= 3000


def test_a_trace_lets_packets_go_at_its_instants(box: Box) -> None:
    (box.folder / "seven.down").write_text("7\n")
    text = """
duration = "20 s"
[[ap]]
name = "ap"
radio = { kind = "trace", file = "seven.down" }
[[flow]]
name = "f"
station = "s"
"""
    found, summary = box.train(text, 100, 1472, 1000)
    gaps = [(b[2] - a[2]) / 7e6 for a, b in itertools.pairwise(found)]
    assert len(gaps) == 99
    near = [abs(gap - round(gap)) * 7 < 1.0 and round(gap) >= 1 for gap in gaps]
    slack = slack_s(summary)
    assert sum(near) >= (95 if not slack else 30)
    took_ms = (found[-1][2] - found[0][2]) / 1e6
    assert took_ms == pytest.approx(99 * 7, abs=1 + 1e3 * slack)


def test_a_byte_limit_counts_bytes_of_the_wire(box: Box) -> None:
    # At 1 Mbit/s a burst of 100 packets of 1000 B meets one in transmission and room for 20.
    found, summary = box.train(link("1 Mbit/s", "1 ms", "20 kB"), 100, 972, 0)
    # While they are being sent, on a busy machine, some leave: one each 8 ms.
    left = (found[-1][1] - found[0][1]) / 8e6
    assert 20 <= len(found) <= 23 + left
    assert summary["queues"][0]["drops"] + len(found) == 100
    assert {row[3] for row in found} == {972}


@pytest.mark.parametrize("host", ["SERVER", "SERVER6"])
def test_both_versions_of_ip_and_the_tos_byte_are_left_alone(box: Box, host: str) -> None:
    found, summary = box.train(link(), 5, 200, 1000, tos=0xBB, host=host)
    # DSCP EF and both bits of ECN.
    assert [row[4] for row in found] == [0xBB] * 5
    assert 10 <= min(delays_ms(found)) <= 12 + 1e3 * slack_s(summary)


def test_the_mtu_is_1500_and_larger_datagrams_are_put_together_again(box: Box) -> None:
    done = box.run(link(), inner=["sh", "-c", f"{sys.executable} {ENDS} mtu $LASTHOP_SERVER"])
    assert done.stdout.splitlines() == ["1472 sent", "1473 Message too long"]
    found, summary = box.train(link(), 5, 4000, 1000)
    assert [row[3] for row in found] == [4000] * 5
    assert summary["queues"][0]["drops"] == 0


def test_ping_and_curl_over_both_versions(box: Box) -> None:
    script = (
        "ping -q -c 4 -i 0.1 $LASTHOP_SERVER && ping -6 -q -c 2 -i 0.1 $LASTHOP_SERVER6 && "
        'for host in $LASTHOP_SERVER $LASTHOP_HOST "[$LASTHOP_SERVER6]"; do '
        "curl -s --retry 20 --retry-connrefused --retry-delay 1 -o got http://$host:$PORT/s.toml "
        "&& cmp got s.toml || exit 1; done"
    )
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0"], cwd=box.folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        port = server.stdout.readline().split(" port ")[1].split()[0]
        inside = f"{sys.executable} -m http.server --bind :: {port}"
        done = box.run(link(), "--serve", inside, inner=["sh", "-c", f"PORT={port}; {script}"])
    finally:
        server.kill()
    assert done.returncode == 0, done.stdout + done.stderr
    # A round trip is 20 ms.
    fastest = [
        float(line.split("=")[1].split("/")[0])
        for line in done.stdout.splitlines()
        if "min/avg" in line
    ]
    assert len(fastest) == 2
    assert all(20.0 <= least <= LATE_MS for least in fastest)


def elsewhere(process: int) -> set[str]:
    """Threads of a process that are in another network than it is."""
    own = os.readlink(f"/proc/{process}/ns/net")
    found = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError):  # It has ended.
            if os.readlink(task / "ns/net") != own:
                found.add(task.name)
    return found


def test_the_thread_of_the_flows_opens_them_itself(box: Box) -> None:
    # A thread for each connection would have no priority, and all flows would wait for it.
    process = box.start(link())

    def one_stays() -> bool:
        """Whether a thread is there for longer than it takes to set a namespace up."""
        before = elsewhere(process.pid)
        time.sleep(1.0)
        return bool(before & elsewhere(process.pid))

    try:
        assert wait_for(one_stays)
    finally:
        process.kill()
        process.communicate()


def test_several_flows_over_ipv6(box: Box) -> None:
    summary = box.summary(TWO, "--ipv6")
    assert all(flow["delivered_bytes"] > 0 for flow in summary["flows"])


@pytest.mark.parametrize("version", ["", "6"])
def test_a_server_answers_from_the_address_that_was_asked(box: Box, version: str) -> None:
    # A connected socket takes no datagram from any other.
    ask = (
        "import os, socket; family = socket.AF_INET6 if '6' in os.environ['V'] else socket.AF_INET;"
        "s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(0.3);"
        "s.connect((os.environ['LASTHOP_SERVER' + os.environ['V']], 7008));"
        'exec(\'for _ in range(20):\\n try:\\n  s.send(b"x"); print(s.recv(9)); break\\n'
        " except OSError: pass')"
    )
    echo = (
        "import socket; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM);"
        "s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0); s.bind(('::', 7008));"
        "exec('while True:\\n d, peer = s.recvfrom(9); s.sendto(d, peer)')"
    )
    (box.folder / "ask.py").write_text(ask)
    (box.folder / "echo.py").write_text(echo)
    done = box.run(
        TWO, "--station", "tablet", "--serve", f"{sys.executable} echo.py",
        inner=["env", f"V={version}", sys.executable, "ask.py"],
    )  # fmt: skip
    assert done.stdout == "b'x'\n", done.stderr


def test_the_machine_is_reached_over_ipv6(box: Box) -> None:
    done = box.run(TWO, inner=["sh", "-c", "ping -6 -q -c 2 -i 0.2 $LASTHOP_HOST6"])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("offload", [(), ("--offload",)])
def test_iperf3_fills_the_link(box: Box, offload: tuple[str, ...]) -> None:
    demand_program("iperf3")
    # The server may not be there yet.
    line = (
        "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.5; "
        "iperf3 -c $LASTHOP_SERVER -R -t 2 -J > iperf.json && exit; done; exit 1"
    )
    summary = box.summary(
        link("20 Mbit/s"), *offload, "--serve", "iperf3 -s", inner=["sh", "-c", line]
    )
    end = json.loads((box.folder / "iperf.json").read_text())["end"]
    # 1448 of 1500 B are payload.
    least = 16e6 if not slack_s(summary) else 5e6
    assert least < end["sum_received"]["bits_per_second"] < 20e6 * 1448 / 1500 * 1.02
