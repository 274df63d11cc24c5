# SPDX-License-Identifier: MIT OR Apache-2.0
"""QFCP and XCP by router and host on a kernel: agreement, what routers tell, what senders do."""

import json
import re
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from box import CORE, Box
from demands import demand
from groups import joined, own_group
from house import AGENT, PATIENCE_S, SERVER, SERVER6, House, demand_agent, house, until
from pair import captured, fields

LINE_BPS = 10e6
SHORT = 100_000
"""A queue of 80 ms [B]: behind a longer one the end waits for most of a second for what is lost."""

LIMIT = 'queue = { limit = "50 packets" }'
FLOW = 'rtt = "40 ms"\nsender = "{law}"'


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of our own, with us in it."""
    demand_agent()
    with ExitStack() as stack:
        try:
            made = stack.enter_context(joined("lasthop-test"))
        except OSError as error:
            demand(f"cannot make a control group: {error}")
        yield made


def start(built: House, where: str, *words: object, law: str = "qfcp") -> subprocess.Popen[str]:
    """A router or host, once it is ready."""
    process = built.start(where, AGENT, law, *words)
    built.agents.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()
    return process


def tell(built: House, where: str, *place: object, law: str = "qfcp") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(built.run(where, AGENT, law, "status", "--json", *place))
    return found


@contextmanager
def both(group: Path, *options: object, law: str = "qfcp", **how: Any) -> Iterator[House]:
    """A router at the slow device, and a host: server and client, as all of us are in the group."""
    with house(distances=True, **how) as built:
        start(built, "router", "router", "--dev", "lan", *options, law=law)
        start(built, "server", "host", "--cgroup", group, law=law)
        built.helper("server", "serve")
        yield built


def backlog(built: House) -> float:
    """What the slow device holds [B]."""
    told = built.run("router", "tc", "-s", "qdisc", "show", "dev", "lan")
    found = re.search(r"backlog (\d+)(K?)b", told)
    assert found is not None
    return float(found[1]) * (1000 if found[2] else 1)


def test_a_connection_has_what_the_router_tells(group: Path) -> None:
    with both(group, "--set", "probing=false", "--capacity", "4 Mbit/s") as built:
        (bps,) = built.fetch([20_040], 2, 3).values()
        router = tell(built, "router", "--dev", "lan")
        host = tell(built, "server", "--cgroup", group)
    # Of a line of 10: what the router was told, less the headers.
    assert 0.85 * 4e6 <= bps <= 4.1e6
    assert host["offered"] == 1 and host["agreed"] == 2 and host["told"] == 1
    assert router["lowered"] > 100 and router["capacity_bps"] == 4_000_000


@pytest.mark.parametrize("host", [SERVER, SERVER6])
def test_it_finds_the_capacity_by_itself(group: Path, host: str) -> None:
    with both(group, "--max-capacity", "100 Mbit/s") as built:
        (bps,) = built.fetch([20_040], 4, 3, host).values()
        assert tell(built, "server", "--cgroup", group)["told"] == 1
    assert bps >= 0.85 * LINE_BPS


def test_a_path_without_distance_has_windows_of_two_segments(group: Path) -> None:
    with house() as built:
        start(built, "router", "router", "--dev", "lan", "--max-capacity", "100 Mbit/s")
        start(built, "server", "host", "--cgroup", group)
        with built.download(6.0) as result:
            pass
    # One alone would wait for the delayed acknowledgement: 5.4 to 5.7 Mbit/s.
    assert result["bps"] >= 0.7 * LINE_BPS


def test_xcp_flows_have_what_the_router_deals_out(group: Path) -> None:
    with both(group, "--capacity", "8 Mbit/s", law="xcp") as built:
        found = built.fetch([20_040, 20_041], 4, 4)
        router = tell(built, "router", "--dev", "lan", law="xcp")
        host = tell(built, "server", "--cgroup", group, law="xcp")
        held = backlog(built)
    # Of a line of 10: what the router was told, less the headers, and no queue.
    assert 0.85 * 8e6 <= sum(found.values()) <= 8.1e6
    assert min(found.values()) >= 0.8 * max(found.values())
    assert host["offered"] == 2 and host["agreed"] == 4 and host["told"] == 2
    assert router["lowered"] > 100 and router["capacity_bps"] == 8_000_000
    assert 0.03 <= router["interval_s"] <= 0.08 and router["input_bps"] <= 12e6
    assert held <= 15_000


@pytest.mark.parametrize(
    ("law", "exid", "host"), [("qfcp", "0x4c51", SERVER), ("xcp", "0x4c58", SERVER6)]
)
def test_another_parser_sees_the_option_and_right_sums(
    group: Path, tmp_path: Path, law: str, exid: str, host: str
) -> None:
    capture = tmp_path / "between.pcapng"
    with both(group, "--capacity", "4 Mbit/s", law=law) as built:
        built.sum_in_software("server", "eth")
        with captured(built, "modem", "wan", capture):
            built.fetch([20_040], 1, 2, host)
    names = ["tcp.options.experimental.exid", "tcp.options.experimental.data"]
    names += ["tcp.hdr_len", "tcp.checksum.status"]
    data = fields(capture, names, "tcp.srcport == 5301 && tcp.len > 0")
    acks = fields(capture, names, "tcp.dstport == 5301 && tcp.len == 0 && tcp.flags == 0x10")
    assert len(data) > 200 and len(acks) > 100
    # Beside time stamps: what is asked in data, what is told in acknowledgements; nothing was lost.
    assert {(row[0], len(row[1]), row[2], row[3]) for row in data} == {(exid, 16, "44", "1")}
    assert {(row[0], len(row[1]), row[2], row[3]) for row in acks} == {(exid, 8, "40", "1")}
    if law == "qfcp":
        # In the SYN-ACK as well.
        rows = fields(capture, names[1:2], "tcp.srcport == 5301")
        granted = {row[0][4:8] for row in rows if len(row[0]) == 16}
        # What comes back is what the router wrote; at first nothing was heard.
        assert {row[1][:4] for row in acks} <= granted | {"0000"}


def test_a_far_end_without_it_is_plain_tcp(group: Path) -> None:
    with house(limit=SHORT) as built:
        start(built, "router", "router", "--dev", "lan", "--capacity", "1 Mbit/s")
        host = start(built, "server", "host", "--cgroup", group)
        # The group is the server's alone: the client is out of it, and neither offers nor answers.
        top = group.parent / "cgroup.procs"
        out = ["sh", "-c", f'echo $$ > {top}; exec "$@"', "sh"]
        server = built.start("server", "iperf3", "-s", "-1")
        until(lambda: "5201" in built.run("server", "ss", "-ltn"))
        told = built.run("client", *out, "iperf3", "-c", SERVER, "-R", "-J", "-O", 1, "-t", 3)
        server.communicate(timeout=PATIENCE_S)
        counts = tell(built, "server", "--cgroup", group)
        assert host.poll() is None
    assert json.loads(told)["end"]["sum_received"]["bits_per_second"] >= 0.85 * LINE_BPS
    assert counts["agreed"] == 0 and counts["told"] == 0


def test_without_a_router_it_is_plain_tcp(group: Path) -> None:
    with house(distances=True, limit=SHORT) as built:
        start(built, "server", "host", "--cgroup", group)
        built.helper("server", "serve")
        (bps,) = built.fetch([20_020], 2, 3).values()
        counts = tell(built, "server", "--cgroup", group)
    assert bps >= 0.9 * LINE_BPS
    assert counts["agreed"] == 2 and counts["told"] == 0 and counts["options"] > 100


@pytest.mark.parametrize(("which", "law"), [("router", "qfcp"), ("server", "xcp")])
def test_traffic_goes_on_when_either_is_killed(group: Path, which: str, law: str) -> None:
    words = ["--set", "probing=false"] if law == "qfcp" else []
    with both(group, "--capacity", "2 Mbit/s", *words, law=law) as built:
        with ThreadPoolExecutor() as pool:
            found = pool.submit(built.fetch, [20_040], 5, 3)
            time.sleep(3)
            built.agents[0 if which == "router" else 1].kill()
            (bps,) = found.result().values()
        # Deaf, it is Reno, and fills the line: not the 2 Mbit/s of before.
        assert bps >= 0.8 * LINE_BPS
        (again,) = built.fetch([20_040], 2, 3).values()
    assert again >= 0.8 * LINE_BPS


@pytest.mark.parametrize("law", ["qfcp", pytest.param("xcp", marks=pytest.mark.measured)])
def test_who_hears_nothing_any_more_is_plain_tcp(group: Path, law: str) -> None:
    words = ["--set", "probing=false"] if law == "qfcp" else []
    with both(group, "--capacity", "2 Mbit/s", *words, law=law) as built:
        with ThreadPoolExecutor() as pool:
            found = pool.submit(built.fetch, [20_040], 5, 3)
            time.sleep(3)
            asked = tell(built, "router", "--dev", "lan", law=law)["asked"]
            heard = tell(built, "server", "--cgroup", group, law=law)["options"]
            built.helpers[0].send_signal(signal.SIGUSR1)
            (bps,) = found.result().values()
        host = tell(built, "server", "--cgroup", group, law=law)
        (again,) = built.fetch([20_040], 2, 3).values()
        later = tell(built, "server", "--cgroup", group, law=law)
    assert asked > 100 and heard > 100
    # What came after the signal had none; new connections do not agree on it.
    assert bps >= 0.8 * LINE_BPS and again >= 0.8 * LINE_BPS
    assert later["options"] == host["options"] and later["agreed"] == host["agreed"] == 2


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["xcp", "router", "--dev", "lo"], "--capacity: wanted a rate"),
        (["xcp", "router", "--dev", "lo", "--capacity", "0 Mbit/s"], "capacity = 0 bit/s: wanted"),
        (["xcp", "router", "--dev", "lo", "--set", "alpha=20.0"], "alpha = 20: wanted at most 16"),
        (["xcp", "router", "--dev", "lo", "--set", "probing=false"], "unknown key `probing`"),
        (["xcp", "host", "--cgroup", "/tmp", "--heed-loss"], "--heed-loss"),
        (["qfcp", "router", "--dev", "nowhere"], "--dev nowhere: no such device"),
        (["qfcp", "router", "--dev", "lo", "--capacity", "fast"], 'capacity = "fast": wanted'),
        (["qfcp", "router", "--dev", "lo", "--set", "alpha=0.0"], "alpha = 0: wanted more than 0"),
        (["qfcp", "router", "--dev", "lo", "--set", "simplex=false"], "simplex = false: wanted"),
        (["qfcp", "router", "--dev", "lo", "--set", "gain=1"], "unknown key `gain`"),
        (["qfcp", "host", "--cgroup", "/nowhere"], "--cgroup /nowhere"),
        (["qfcp", "host", "--cgroup", "/tmp"], "wanted a folder of cgroup2"),
        (["qfcp", "host", "--cgroup", "/tmp", "--name", "reno"], "reno is in the kernel already"),
        (["qfcp", "status", "--dev", "lo"], "no agent is at qfcp router of lo"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(words: list[str], complaint: str) -> None:
    demand_agent()
    done = subprocess.run([AGENT, *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and done.stdout == ""
    line = done.stderr.splitlines()[-1]
    assert line.startswith("lasthop-agent: ") and complaint in line


@pytest.mark.parametrize(
    ("law", "router"),
    [
        ("qfcp", 'kind = "qfcp", capacity = "1 Mbit/s", max_capacity = "4 Mbit/s"'),
        ("xcp", 'kind = "xcp", capacity = "4 Mbit/s"'),
    ],
)
def test_an_emulated_router_is_obeyed(
    box: Box, monkeypatch: pytest.MonkeyPatch, law: str, router: str
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    link = f"{LIMIT}\nfeedback = {{ {router} }}"
    summary = box.summary(CORE.format(duration=8, link=link, flow=FLOW.format(law=law)))
    (flow,) = summary["flows"]
    # Of the 10 Mbit/s that there are.
    assert 0.85 * 4e6 <= flow["goodput_bps"] <= 4.1e6
    assert summary["emulation"]["congestion_control"] == [law]
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
        assert not [name for name in file.read().split() if name.startswith("lh")]


def test_emulations_at_once_do_not_hear_each_other(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    try:
        above = own_group()
    except OSError as error:
        demand(str(error))
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    router = 'feedback = { kind = "qfcp", capacity = "4 Mbit/s", max_capacity = "4 Mbit/s" }'
    text = CORE.format(duration=8, link=f"{LIMIT}\n{router}", flow=FLOW.format(law="qfcp"))
    running = [box.start(text, "--allow-lag", "--json") for _ in range(2)]
    groups = [f"lasthop-{process.pid}-*/cgroup.threads" for process in running]
    until(lambda: all(any(place.read_text() for place in above.glob(name)) for name in groups))
    for process in running:
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        summary = json.loads(out)
        assert 0.85 * 4e6 <= summary["flows"][0]["goodput_bps"] <= 4.1e6
        assert not [note for note in summary.get("notes", []) if "share" in note]
    assert not [place for name in groups for place in above.glob(name)]


@pytest.mark.measured
def test_a_loss_tells_nothing_and_the_queue_is_short(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    router = 'feedback = { kind = "qfcp", capacity = "1 Mbit/s" }'
    found = {}
    for law, link in (("qfcp", f"{LIMIT}\n{router}"), ("linux-cubic", LIMIT)):
        for loss in (0.0, 0.01):
            own = FLOW.format(law=law)
            flow = f'{own}\nsink = {{ loss = {{ kind = "bernoulli", p = {loss} }} }}'
            summary = box.summary(CORE.format(duration=20, link=link, flow=flow))
            found[law, loss] = summary["flows"][0]["goodput_bps"]
            if law == "qfcp":
                assert summary["queues"][0]["mean_bytes"] <= 10_000
    assert found["qfcp", 0.0] >= 0.93 * LINE_BPS
    assert found["qfcp", 0.01] >= 0.95 * found["qfcp", 0.0]
    # To CUBIC a loss is congestion: on so short a path it is Reno, √(1.5/p) = 12.2 segments a round
    # trip, 3.5 Mbit/s.
    assert found["linux-cubic", 0.0] >= 0.93 * LINE_BPS
    assert found["linux-cubic", 0.01] <= 0.45 * found["linux-cubic", 0.0]


@pytest.mark.measured
def test_where_repairs_are_lost_nothing_bursts(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    router = 'feedback = { kind = "qfcp", capacity = "1 Mbit/s" }'
    own = FLOW.format(law="qfcp").replace("40 ms", "100 ms")
    flow = f'{own}\nsink = {{ loss = {{ kind = "bernoulli", p = 0.01 }} }}'
    summary = box.summary(CORE.format(duration=40, link=f"{LIMIT}\n{router}", flow=flow))
    # Of 300 repairs three are lost. With a send buffer of two windows the sender runs dry until
    # they come, and then bursts: 13 drops, and 3.9 ms.
    assert summary["queues"][0]["drops"] == 0
    assert summary["queues"][0]["mean_delay_s"] <= 3e-3


@pytest.mark.measured
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([], id="tenths"),
        pytest.param(["--set", "alpha=0.05", "--set", "weight=0.15"], id="twentieths"),
    ],
)
def test_four_flows_share_evenly_with_a_short_queue(group: Path, steps: list[str]) -> None:
    with (
        both(group, "--max-capacity", "100 Mbit/s", *steps) as built,
        ThreadPoolExecutor() as pool,
    ):
        found = pool.submit(built.fetch, [20_040, 20_041, 20_060, 20_061], 8, 6)
        time.sleep(8)
        held = []
        while not found.done():
            held.append(backlog(built))
            time.sleep(0.05)
        rates = list(found.result().values())
    assert sum(rates) >= 0.9 * LINE_BPS
    assert min(rates) >= 0.9 * max(rates)
    assert statistics.mean(held) <= 10_000
