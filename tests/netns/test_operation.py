# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent as operators meet it: as a service, measured, looked at, and in the way of others."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from demands import demand_program
from house import AGENT, BURST_BYTES, House, demand_agent, house, until
from prometheus_client.openmetrics.parser import text_string_to_metric_families

PAGE = "127.0.0.1:9469"
RIGHTS = {12, 38, 39}
"""CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF of linux/capability.h."""
TAKE_AWAY = """
import ctypes, struct
def bpf(command, *words):
    held = ctypes.create_string_buffer(struct.pack(f"{len(words)}I", *words), 120)
    got = ctypes.CDLL(None, use_errno=True).syscall(321, command, held, 120)
    return got, struct.unpack_from("2I", held)[1]
last = link = 0
while bpf(31, link, 0)[0] == 0:  # BPF_LINK_GET_NEXT_ID
    last = link = bpf(31, link, 0)[1]
fd = bpf(30, last)[0]  # BPF_LINK_GET_FD_BY_ID
assert bpf(34, fd)[0] == 0  # BPF_LINK_DETACH
"""


def page(built: House, path: str, host: str = PAGE) -> str:
    return built.run("router", "curl", "-sS", "-H", f"Host: {host}", f"http://{PAGE}{path}")


def test_what_prometheus_reads_is_what_the_status_tells() -> None:
    with house(limit=300_000) as built:
        built.agent("--metrics", PAGE)
        with built.download(2, flows=2):
            time.sleep(2.5)
            text = page(built, "/metrics")
            told = json.loads(page(built, "/status.json"))
            samples = json.loads(page(built, "/samples.json"))["samples"]
        families = {family.name: family for family in text_string_to_metric_families(text)}
        for family in families.values():
            assert family.documentation, family.name
            assert family.name.startswith("lasthop_agent")
        packets = {s.labels["kind"]: s.value for s in families["lasthop_agent_packets"].samples}
        assert packets.keys() == told["counts"].keys()
        assert packets["data"] > 500
        assert packets["data"] <= told["counts"]["data"]["packets"]
        assert families["lasthop_agent_packets"].type == "counter"
        (rate,) = families["lasthop_agent_queue_rate_bytes_per_second"].samples
        assert rate.labels == {"device": "lan", "client": ""}
        assert rate.value == pytest.approx(10e6 / 8, rel=0.05)
        (delay,) = families["lasthop_agent_queue_delay_seconds"].samples
        assert 0 <= delay.value < 0.3
        (about,) = families["lasthop_agent"].samples
        assert about.labels["law"] == "share" and about.labels["queue"] == "qdisc"
        last = samples[-1]
        (station,) = [s for s in last["stations"] if s["name"] == "10.1.0.2"]
        assert station["flows"] == 3
        assert station["rate_bps"] == pytest.approx(9.57e6, rel=0.25)
        assert [s["t_s"] for s in samples] == sorted(s["t_s"] for s in samples)
        assert "<title>lasthop" in page(built, "/")
        assert "wanted by an address" in page(built, "/", host="elsewhere.example")


def test_the_table_in_a_pipe(one: House) -> None:
    one.agent()
    with one.download(2):
        time.sleep(0.5)
        first, queues, row, heads, *flows = one.run(
            "router", AGENT, "top", "--dev", "lan"
        ).splitlines()
    assert first.startswith("lan: ") and "connections, a queue of" in first
    assert queues.split() == ["QUEUE", "kB", "ms", "Mbit/s", "PRICE", "ms"]
    assert row.split()[0] == "lan" and float(row.split()[3]) == pytest.approx(10, rel=0.05)
    assert heads.split()[:4] == ["STATION", "SERVER", "STATE", "Mbit/s"]
    station, server, state, rate = flows[0].split()[:4]
    assert (station.split(":")[0], server, state) == ("10.1.0.2", "10.2.0.2:5201", "limited")
    assert float(rate) == pytest.approx(9.57, rel=0.25)


def test_the_manager_of_services_hears_of_it(
    one: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(str(tmp_path / "notify"))
    told.settimeout(20)
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "600000")
    reading, writing = os.pipe()
    journal = os.fstat(writing)
    monkeypatch.setenv("JOURNAL_STREAM", f"{journal.st_dev}:{journal.st_ino}")
    words = [*one.within("router"), AGENT, "proxy", "--dev", "lan"]
    agent = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=writing, text=True)
    os.close(writing)
    one.agents.append(agent)
    heard = told.recv(4096).decode()
    assert "READY=1" in heard and "STATUS=at lan: target 25 ms, queue by qdisc" in heard
    beats = []
    while len(beats) < 4 or not any("STATUS=lan: 0 connections" in h for h in beats):
        beats.append(told.recv(4096).decode())
    assert sum(h.startswith("WATCHDOG=1") for h in beats) >= 3
    agent.terminate()
    while "STOPPING=1" not in heard:
        heard = told.recv(4096).decode()
    assert "SIGTERM" in heard
    with open(reading) as log:
        err = log.read()
    assert agent.wait(20) == 0
    # The level at the head of each line is the journal's.
    assert err.splitlines() and all(line.startswith("<6>") for line in err.splitlines()), err


def test_it_keeps_three_rights_and_no_way_to_more(one: House) -> None:
    agent = one.agent()
    status = Path(f"/proc/{agent.pid}/status").read_text()
    fields = dict(line.split(":\t") for line in status.splitlines())
    for name in ("CapPrm", "CapEff"):
        assert {bit for bit in range(64) if int(fields[name], 16) >> bit & 1} == RIGHTS
    assert int(fields["CapInh"], 16) == int(fields["CapAmb"], 16) == 0
    assert fields["NoNewPrivs"].strip() == "1"


def test_it_runs_without_root(one: House) -> None:
    demand_program("setpriv")
    rights = "+net_admin,+perfmon,+bpf"
    agent = one.start("router", "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
        "--inh-caps", rights, "--ambient-caps", rights, AGENT, "proxy", "--dev", "lan")  # fmt: skip
    one.agents.append(agent)
    until(lambda: one.ask("router", AGENT, "status", "--dev", "lan").returncode == 0)
    assert one.programs()
    assert os.stat(f"/proc/{agent.pid}").st_uid == 65534
    reader = ["setpriv", "--reuid", "65533", "--regid", "65533", "--clear-groups"]
    other = one.ask("router", *reader, AGENT, "status", "--dev", "lan")
    assert other.returncode == 2 and "only root may ask" in other.stderr


def test_another_qdisc_is_an_administrators_word(one: House) -> None:
    agent = one.agent()
    assert one.status()["source"] == "qdisc"
    one.run("router", "tc", "qdisc", "del", "dev", "lan", "root")
    until(lambda: one.status()["source"] == "outstanding")
    one.run("router", "tc", "qdisc", "add", "dev", "lan", "root", "tbf",
        "rate", "10mbit", "burst", str(BURST_BYTES), "limit", "100000")  # fmt: skip
    until(lambda: one.status()["source"] == "qdisc")
    agent.send_signal(signal.SIGINT)
    _, err = agent.communicate(timeout=20)
    assert "its root qdisc is noqueue, no longer tbf" in err
    assert "its root qdisc is tbf, no longer noqueue" in err


def test_programs_that_another_takes_away_are_gone(one: House) -> None:
    agent = one.agent()
    one.run("router", sys.executable, "-c", TAKE_AWAY)
    _, err = agent.communicate(timeout=20)
    assert agent.returncode == 0
    assert "left lan: its programs were taken from the device" in err
    assert not one.programs()


def test_killed_at_any_moment_it_leaves_a_clean_device() -> None:
    moments = random.Random(1)
    with house(limit=100_000) as built:
        with built.download(6, flows=2) as found:
            for _ in range(8):
                agent = built.start("router", AGENT, "proxy", "--dev", "lan")
                time.sleep(moments.uniform(0, 0.4))
                agent.kill()
                agent.communicate()
                assert not built.programs()
        assert found["bps"] > 0.5 * 9.57e6


SQUATTER = """
import os, socket, time
os.setuid(65534)
taken = socket.socket(socket.AF_UNIX)
taken.bind("\\0lasthop-agent/lan")
taken.listen()
print(flush=True)
time.sleep(60)
"""


def test_nobody_else_is_taken_for_the_agent(one: House) -> None:
    other = one.start("router", sys.executable, "-c", SQUATTER)
    assert other.stdout
    other.stdout.readline()
    try:
        for words in (["proxy", "--dev", "lan"], ["status", "--dev", "lan"]):
            done = one.ask("router", AGENT, *words)
            assert done.returncode == 2
            assert "of user 65534 has the name of the agent at lan and is none" in done.stderr
    finally:
        other.kill()
        other.communicate()
    assert not one.programs()


def test_a_pipe_that_is_closed_is_no_error() -> None:
    demand_agent()
    with subprocess.Popen(
        [AGENT, "config", "default"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as agent:
        assert agent.stdout and agent.stderr
        agent.stdout.close()
        assert agent.stderr.read() == b""
    assert agent.returncode == 0


def test_a_page_in_use_is_said_in_a_line(one: House) -> None:
    taken = one.start("router", sys.executable, "-m", "http.server", "-b", "127.0.0.1", "9469")
    try:
        until(lambda: "9469" in one.run("router", "ss", "-ltn"))
        done = one.ask("router", AGENT, "proxy", "--dev", "lan", "--metrics", PAGE)
    finally:
        taken.kill()
        taken.communicate()
    assert done.returncode == 1, "that may pass"
    assert f"--metrics {PAGE}: cannot listen there" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not one.programs()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('metrics = "0.0.0.0:9469"', ["metrics", '"0.0.0.0:9469"', "this machine alone"]),
        ('law = { kind = "shares" }', ["law", '"shares"']),
        ("law = { target = 20 }", ["law.target", "20", "with its unit"]),
        ("dry_run = 1", ["dry_run = 1", "true or false"]),
        ("device = \n", ["line 1"]),
        ("[queues]", ["unknown key `queues`"]),
    ],
)
def test_a_file_that_is_wrong_is_said_in_a_line(
    one: House, tmp_path: Path, text: str, parts: list[str]
) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(text)
    for words in (["config", "check", file], ["proxy", "--dev", "lan", "--config", file]):
        done = one.ask("router", AGENT, *words)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert done.stderr.startswith(f"lasthop-agent: {file}: ")
        assert all(part in done.stderr for part in parts), done.stderr


def test_the_default_file_is_right(one: House, tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(one.run("router", AGENT, "config", "default"))
    told = f"{file}: valid; it names no device: proxy wants --dev\n"
    assert one.run("router", AGENT, "config", "check", file) == told
    file.write_text('device = "eth1"\n')
    assert one.run("router", AGENT, "config", "check", file) == f"{file}: valid\n"


@pytest.fixture(scope="module")
def shared() -> Iterator[House]:
    with house() as built:
        yield built


@pytest.fixture
def one(shared: House) -> Iterator[House]:
    """A house that tests have one after the other, without an agent in the beginning."""
    yield shared
    for agent in shared.agents:
        agent.kill()
        agent.communicate()
    shared.agents.clear()


def test_any_of_a_devices_names_leads_to_its_agent(one: House) -> None:
    one.run("router", "ip", "link", "property", "add", "dev", "lan", "altname", "lan0")
    one.agent()
    second = one.ask("router", AGENT, "proxy", "--dev", "lan0")
    assert second.returncode == 2 and "an agent is at lan already" in second.stderr
    doctor = one.run("router", AGENT, "doctor", "--dev", "lan0")
    assert "partial  tcx: an agent is at lan already" in doctor
    told = one.run("router", AGENT, "status", "--dev", "lan0", "--json")
    assert json.loads(told)["device"] == "lan"
    one.run("router", "ip", "link", "property", "del", "dev", "lan", "altname", "lan0")


def test_who_ends_it_may_begin_another_at_once(one: House) -> None:
    for _ in range(4):
        one.agent()
        one.run("router", AGENT, "detach", "--dev", "lan")
        assert "no agent is at lan" in one.ask("router", AGENT, "status", "--dev", "lan").stderr


def test_a_log_that_ends_does_not_end_it(one: House) -> None:
    agent = one.start("router", AGENT, "proxy", "--dev", "lan")
    assert agent.stdout is not None and agent.stderr is not None
    assert agent.stdout.readline() == "ready\n"
    agent.stderr.close()
    # It says what it makes of this.
    one.run("router", "tc", "qdisc", "replace", "dev", "lan", "root", "pfifo")
    until(lambda: '"outstanding"' in one.run("router", AGENT, "status", "--dev", "lan", "--json"))
    one.run("router", AGENT, "detach", "--dev", "lan")
    assert agent.wait(10) == 0
    one.run("router", "tc", "qdisc", "del", "dev", "lan", "root")
    one.tbf("add", "10mbit")


NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
KNOCK = """
import socket, sys
while True:
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\\0lasthop-agent/lan")
"""
CROWD = """
import socket, sys, time
held = []
for number in range(int(sys.argv[1])):
    s = socket.create_connection(("127.0.0.1", 9469))
    if number % 2:
        s.sendall(b"GET /metrics HTTP/1.1\\r\\nHost: localhost\\r\\n")
        s.sendall(b"Content-Length: 1000000000000000\\r\\n\\r\\n")
    held.append(s)
print("ready", flush=True)
time.sleep(60)
"""


def test_no_user_keeps_it_from_its_work(one: House) -> None:
    agent = one.agent("--metrics", PAGE)
    knocking = one.start("router", *NOBODY, sys.executable, "-c", KNOCK)
    crowd = one.start("router", *NOBODY, sys.executable, "-c", CROWD, 200)
    try:
        assert crowd.stdout is not None
        assert crowd.stdout.readline() == "ready\n"
        assert "lasthop_agent_uptime_seconds" in page(one, "/metrics")
        before = json.loads(page(one, "/status.json"))["uptime_s"]
        time.sleep(2.5)
        assert json.loads(page(one, "/status.json"))["uptime_s"] > before + 1
        began = time.monotonic()
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(10) == 0
        assert time.monotonic() < began + 2
    finally:
        for process in (knocking, crowd):
            process.kill()
            process.communicate()


def test_without_rights_it_says_which(one: House) -> None:
    refused = one.ask("router", *NOBODY, AGENT, "proxy", "--dev", "lan")
    assert refused.returncode == 2
    assert refused.stderr == (
        "lasthop-agent: missing: CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF: run it as root, by sudo\n"
    )
    doctor = one.ask("router", *NOBODY, AGENT, "doctor", "--dev", "lan")
    assert doctor.returncode == 1 and not doctor.stderr
    # A variable that came down from a service is no journal.
    heard = one.ask("router", "env", "JOURNAL_STREAM=8:1", AGENT, "status", "--dev", "lan")
    assert heard.stderr.startswith("lasthop-agent: no agent")
