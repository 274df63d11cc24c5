# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop emu`` between real kernels. It takes root and /dev/net/tun."""

import itertools
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lasthop
import pytest
from conftest import assert_one_line

ENDS = Path(__file__).with_name("ends.py")
SERVE = f"{sys.executable} {ENDS} serve"
DEMANDED = bool(os.environ.get("CI") or os.environ.get("LASTHOP_REQUIRE_ROOT"))
MOST_LAG_S = 1e-3
LATE_MS = 60.0
"""The least of a few round trips of 20 ms, on whatever busy machine."""
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

LINK = """
duration = "{duration}"
[[link]]
name = "wire"
from = "a"
to = "b"
rate = "{rate}"
delay = "{delay}"
queue = {{ limit = "{limit}" }}
[[flow]]
name = "flow"
path = ["a", "b"]
sender = "cubic"
"""


def lacking() -> str:
    """What this machine lacks; empty if nothing."""
    if os.geteuid() != 0:
        return "not root"
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        return f"/dev/net/tun: {error.strerror}"
    if not shutil.which("unshare"):
        return "no unshare (util-linux)"
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    return f"no network namespace: {done.stderr.strip()}" if done.returncode else ""


@pytest.fixture(scope="module", autouse=True)
def _system() -> None:
    lack = lacking()
    if lack:
        message = f"SKIPPED: emulation cannot be tested here: {lack}"
        if DEMANDED:
            pytest.fail(message)
        pytest.skip(message)


def link(
    rate: str = "10 Mbit/s", delay: str = "10 ms", limit: str = "100 kB", duration: str = "20 s"
) -> str:
    return LINK.format(rate=rate, delay=delay, limit=limit, duration=duration)


class Box:
    """A folder with a scenario, and the command in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def arguments(self, text: str, options: Sequence[object], inner: Sequence[object]) -> list[str]:
        """The words of a command."""
        (self.folder / "s.toml").write_text(text)
        words = [sys.executable, "-m", "lasthop", "emu", "s.toml", *map(str, options)]
        return [*words, "--", *map(str, inner)] if inner else words

    def start(self, text: str, *options: object, inner: Sequence[object] = ()) -> Any:
        """Starts it and goes on."""
        return subprocess.Popen(
            self.arguments(text, options, inner), cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env={**os.environ, "MPLCONFIGDIR": str(self.folder / "mpl")},
        )  # fmt: skip

    def run(
        self, text: str, *options: object, inner: Sequence[object] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Runs it to its end, whether or not it keeps time."""
        process = self.start(text, "--allow-lag", *options, inner=inner)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def summary(self, text: str, *options: object, inner: Sequence[object] = ()) -> dict[str, Any]:
        """The result of a run that kept time; a second attempt is made on a busy machine."""
        for _ in range(2):
            done = self.run(text, "--json", *options, inner=inner)
            assert done.returncode == 0, done.stderr
            summary: dict[str, Any] = json.loads(done.stdout)
            if summary["emulation"]["lag_p99_s"] <= MOST_LAG_S:
                break
        return summary

    def train(
        self, text: str, count: int, size: int, gap_us: int, tos: int = 0, host: str = "SERVER"
    ) -> tuple[list[list[int]], dict[str, Any]]:
        """Datagrams from a server to the host: (number, sent, came, size, TOS) each."""
        line = f"{sys.executable} {ENDS} ask out.json $LASTHOP_{host} {count} {size} {gap_us} {tos}"
        summary = self.summary(text, "--serve", SERVE, inner=["sh", "-c", line])
        found: list[list[int]] = json.loads((self.folder / "out.json").read_text())
        return found, summary


def slack_s(summary: dict[str, Any]) -> float:
    """By how much more than wanted something may be late: nothing where time was kept.

    On a machine that others keep from its work no attempt keeps time; the emulator says so, and
    only what it says is forgiven. What must not be early is never forgiven.
    """
    emulation = summary["emulation"]
    return 0.0 if emulation["lag_p99_s"] <= MOST_LAG_S else float(emulation["lag_max_s"])


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def delays_ms(found: list[list[int]]) -> list[float]:
    return [(came - sent) / 1e6 for _, sent, came, *_ in found]


# Time and rate


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


# What the packets are


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


TWO = """
title = "Two flows to two stations"
duration = "2 s"

[[ap]]
name = "ap"
delay = "2 ms"
radio = { kind = "constant", rate = "20 Mbit/s" }

[[flow]]
name = "a"
station = "phone"
rtt = "20 ms"
receiver = "plain"

[[flow]]
name = "b"
station = "tablet"
rtt = "30 ms"
"""


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


def test_a_server_that_fails_is_told_of(box: Box) -> None:
    done = box.run(TWO, "--serve", "false", inner=["sleep", "0.5"])
    assert (done.returncode, done.stderr) == (0, 'lasthop: --serve "false": ended with 1\n')


def test_no_clamp_under_another_name(box: Box) -> None:
    clamp = TWO.replace('receiver = "plain"', 'receiver = { kind = "clamp", tau = "500 B" }')
    done = box.run(clamp, "--cc", "reno")
    assert done.returncode == 2
    assert "flow[0].receiver" in done.stderr


def test_a_command_shorter_than_the_warm_up_is_measured(box: Box) -> None:
    done = box.run(TWO, "--set", "warmup=1 s", "--json", "--flows", inner=["sleep", "0.2"])
    assert all(row["capacity_bps"] in (None, 20e6) for row in json.loads(done.stdout)["queues"])


@pytest.mark.skipif(not shutil.which("iperf3"), reason="SKIPPED: no iperf3")
@pytest.mark.parametrize("offload", [(), ("--offload",)])
def test_iperf3_fills_the_link(box: Box, offload: tuple[str, ...]) -> None:
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


# Commands


def test_exit_status_environment_and_descriptors(box: Box) -> None:
    script = "env; ls /proc/self/fd; test -t 0; exit 7"
    done = box.run(link(), inner=["sh", "-c", script])
    assert done.returncode == 7
    lines = done.stdout.splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    assert values["LASTHOP_STATION"] == "b"
    assert values["MAHIMAHI_BASE"] == values["LASTHOP_HOST"]
    assert {"LASTHOP_ADDRESS", "LASTHOP_SERVER", "LASTHOP_SERVER6"} <= set(values)
    # The standard three, and what `ls` itself opens: nothing of ours is open in the command.
    assert len([line for line in lines if line.isdigit()]) <= 4
    assert box.run(link(), inner=["no-such-command"]).returncode == 127
    assert box.run(link(), inner=["sh", "-c", "kill -KILL $$"]).returncode == 137


def test_a_station_of_ones_own(box: Box) -> None:
    text = """
duration = "9 s"
[[ap]]
name = "ap"
radio = { kind = "constant", rate = "10 Mbit/s" }
[[flow]]
name = "one"
station = "s1"
rtt = "10 ms"
[[flow]]
name = "two"
station = "s2"
rtt = "90 ms"
"""
    line = "echo $LASTHOP_STATION; ping -q -c 3 -i 0.1 $LASTHOP_SERVER"
    done = box.run(text, "--station", "s2", inner=["sh", "-c", line])
    assert done.stdout.startswith("s2\n")
    least = float(done.stdout.rpartition("= ")[2].split("/")[0])
    assert 90 <= least <= 70 + LATE_MS
    done = box.run(text, "--station", "s3", inner=["true"])
    assert_one_line(done, "--station", "s3", "s1, s2")


def test_ping_waits_behind_the_flows(box: Box) -> None:
    # 100 kB at 10 Mbit/s are 80 ms.
    line = "sleep 1.5; ping -q -c 10 -i 0.1 $LASTHOP_SERVER > ping"
    summary = box.summary(link(), "--flows", "--cc", "cubic", inner=["sh", "-c", line])
    mean = float((box.folder / "ping").read_text().rpartition("= ")[2].split("/")[1])
    slack = slack_s(summary)
    assert 50 <= mean <= 110 + 1e3 * slack
    assert summary["flows"][0]["goodput_bps"] > (7e6 if not slack else 3e6)
    assert summary["flows"][0]["sender"] == "cubic"


def gone(names: Iterator[str] | Sequence[str] = ()) -> bool:
    devices = os.listdir("/sys/class/net")
    return not any(name in devices for name in names)


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *children(child)]
    return found


def wait_for(condition: Any, seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_an_interrupt_ends_flows_with_a_result(box: Box) -> None:
    process = box.start(link(duration="60 s"), "--json", "--allow-lag")
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    summary = json.loads(out)
    assert 1 < summary["duration_s"] < 10
    assert summary["flows"][0]["delivered_bytes"] > 100_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command(box: Box, number: signal.Signals) -> None:
    process = box.start(link(), inner=["sleep", "100"])
    assert wait_for(lambda: len(children(process.pid)) >= 3)
    inside = children(process.pid)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in inside))


def test_ctrl_c_on_a_terminal_is_the_commands_matter(box: Box) -> None:
    import pty

    script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(box.folder)
        words = box.arguments(link(), ["--allow-lag"], ["sh", "-c", script])
        os.execv(words[0], words)
    heard = b""
    while b"ready" not in heard:
        heard += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    try:
        while True:
            data = os.read(terminal, 1000)
            if not data:
                break
            heard += data
    except OSError:
        pass  # The other side is closed.
    _, status = os.waitpid(pid, 0)
    assert b"caught" in heard
    assert os.waitstatus_to_exitcode(status) == 5


def test_nothing_is_left_of_a_killed_one_and_two_run_at_once(box: Box, tmp_path: Path) -> None:
    before = set(os.listdir("/sys/class/net"))
    first = box.start(link(), inner=["sleep", "100"])
    assert wait_for(lambda: len(children(first.pid)) >= 3)
    assert wait_for(lambda: len(set(os.listdir("/sys/class/net")) - before) >= 1)
    other = tmp_path / "other"
    other.mkdir()
    found, _ = Box(other).train(link(), 20, 100, 1000)
    assert len(found) == 20
    inside, own = children(first.pid), set(os.listdir("/sys/class/net")) - before
    first.kill()
    first.communicate()
    assert wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in inside))
    assert wait_for(lambda: gone(sorted(own)))
    assert box.run(link(), inner=["true"]).returncode == 0


# Results


def test_the_result_is_that_of_a_run_with_a_table_more(box: Box) -> None:
    text = link(duration="3 s")
    emulated = box.summary(text, "--out", "e.parquet", "--plot", "e.png")
    simulated = lasthop.run(text).summary
    assert set(emulated) == {*simulated, "emulation"}
    for rows in ("flows", "queues"):
        assert set(emulated[rows][0]) == set(simulated[rows][0])
    assert (box.folder / "e.png").stat().st_size > 1000
    read = lasthop.read(box.folder / "e.parquet")
    assert isinstance(read, lasthop.Result)
    assert read.summary["emulation"]["packets"] == emulated["emulation"]["packets"]
    assert len(read.table("queues")) > 100
    done = subprocess.run(
        [sys.executable, "-m", "lasthop", "rerun", "e.parquet"],
        cwd=box.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert_one_line(done, "e.parquet", "emulation")


def test_the_python_twin(box: Box) -> None:
    program = (
        "import lasthop, sys\n"
        f"result = lasthop.emulate({link()!r}, ['sh', '-c', 'exit 3'], set={{'duration': '1 s'}})\n"
        "assert result.status == 3 and not result.interrupted, result.status\n"
        "assert 'emulation' in result.summary\n"
        "try:\n"
        f"    lasthop.emulate({link()!r}, cc='warp')\n"
        "except lasthop.ScenarioError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=box.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "warp" in done.stdout


def test_a_fading_radio_is_as_fast_as_in_the_simulator(box: Box) -> None:
    text = """
duration = "5 s"
warmup = "1 s"
seed = 3
[[ap]]
name = "ap"
queue = { limit = "200 kB" }
[ap.radio]
kind = "jakes"
doppler = "60 Hz"
bandwidth = "4.3 MHz"
max_rate = "10 Mbit/s"
attempts = 15
[[flow]]
name = "f"
station = "s"
rtt = "20 ms"
sender = "cubic"
"""
    summary = box.summary(text)
    emulated, simulated = summary["queues"][0], lasthop.run(text).summary["queues"][0]
    # The radio is the same; in which slots there was something to send is not quite.
    assert emulated["capacity_bps"] == pytest.approx(simulated["capacity_bps"], rel=0.05)
    if not slack_s(summary):
        assert emulated["throughput_bps"] == pytest.approx(simulated["throughput_bps"], rel=0.1)


def test_every_congestion_control_of_the_kernel(box: Box) -> None:
    names = AVAILABLE.read_text().split()
    flows = "".join(
        f'[[flow]]\nname = "{name}"\nstation = "{name}"\nrtt = "10 ms"\n'
        f'sender = {{ kind = "kernel", congestion_control = "{name}" }}\n'
        for name in names
    )
    radio = '[[ap]]\nname = "ap"\nradio = { kind = "constant", rate = "20 Mbit/s" }\n'
    text = f'duration = "3 s"\nwarmup = "1 s"\n{radio}queue = {{ limit = "60 kB" }}\n{flows}'
    summary = box.summary(text)
    assert [flow["sender"] for flow in summary["flows"]] == names
    assert summary["emulation"]["congestion_control"] == names
    assert all(flow["goodput_bps"] > 1e6 for flow in summary["flows"])
    done = box.run(text, "--cc", names[-1], "--set", "duration=1500 ms", "--json")
    assert {flow["sender"] for flow in json.loads(done.stdout)["flows"]} == {names[-1]}
    run = subprocess.run(
        [sys.executable, "-m", "lasthop", "run", "s.toml"],
        cwd=box.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert_one_line(run, "sender", "lasthop emu")


@pytest.mark.parametrize(
    ("change", "options", "parts"),
    [
        ('sender = { kind = "kernel", congestion_control = "warp" }', [], ["warp", "reno"]),
        ('sender = { kind = "tfrc" }', [], ["sender", "--cc"]),
        ('receiver = { kind = "clamp", tau = "500 B" }', [], ["receiver", "plain"]),
        ("", ["--cc", "warp"], ["--cc", "warp", "reno"]),
        ("", ["--serve", "'"], ["--serve", "quoted"]),
        ("", ["--log", "x"], ["--log", "[[ap]]"]),
    ],
)
def test_what_cannot_be_emulated_is_one_clear_line(
    box: Box, change: str, options: list[str], parts: list[str]
) -> None:
    text = link(duration="2 s")
    if change:
        text = text.replace('sender = "cubic"', change)
    assert_one_line(box.run(text, *options), *parts)


def test_applications_do_what_the_scenario_says(box: Box) -> None:
    def flow(name: str, app: str) -> str:
        return f'[[flow]]\nname = "{name}"\npath = ["a", "b"]\nsender = "cubic"\napp = {app}\n'

    wire = link(duration="4 s", limit="300 kB").partition("[[flow]]")[0]
    text = wire + flow("fixed", '{ kind = "fixed", size = "500 kB" }')
    text += flow("cbr", '{ kind = "cbr", rate = "400 kbit/s" }')
    summary = box.summary(text)
    rows = {row["name"]: row for row in summary["flows"]}
    simulated = {row["name"]: row for row in lasthop.run(text).summary["flows"]}
    assert rows["fixed"]["delivered_bytes"] == 500_000
    # At 10 Mbit/s 500 kB take 0.43 s and slow start a few round trips of 20 ms.
    assert 0.4 < rows["fixed"]["finish_s"] < 1.0 + slack_s(summary)
    cbr, same = rows["cbr"]["delivered_bytes"], simulated["cbr"]["delivered_bytes"]
    assert cbr == pytest.approx(same, rel=0.05 + slack_s(summary) / 2)


# The log


def test_the_log_is_one_of_mm_link(box: Box) -> None:
    line = "sleep 0.5; ping -q -c 40 -i 0.05 -s 1400 $LASTHOP_SERVER"
    done = subprocess.run(
        [sys.executable, "-m", "lasthop", "emu", "mahimahi", "--allow-lag", "--log", "log",
         "--", "sh", "-c", line],
        cwd=box.folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

    def call(*arguments: str) -> str:
        words = [sys.executable, "-m", "lasthop", "trace", *arguments]
        result = subprocess.run(words, cwd=box.folder, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    assert ": right" in call("check", "log.down")
    down, up = (json.loads(call("stat", f"log.{way}", "--json")) for way in ("down", "up"))
    assert (down["departures"], up["departures"]) == (40, 40)
    assert down["drops"] == up["drops"] == 0
    assert 0 < down["utilisation"] < 1
    call("convert", "log.down", "--out", "back.down")
    back = (box.folder / "back.down").read_text().splitlines()
    shipped = Path(lasthop.__file__).parent / "scenarios" / "traces" / "lte-driving.down"
    assert back == shipped.read_text().splitlines()[: len(back)]
    assert len(back) > 500


# Without privileges


def as_nobody(box: Box, words: Sequence[str], mode: str) -> subprocess.CompletedProcess[str]:
    """Runs as a user without rights, before whom stands a TUN device of this mode."""
    # This Python, if it is in root's own folder, and nothing else of that.
    python = Path(sys.base_prefix)
    show = (
        f"mkdir python && mount --bind {python} python && mount -t tmpfs -o mode=755 none /root && "
        f"mkdir -p {python} && mount --bind python {python} && "
        if python.is_relative_to("/root")
        else ""
    )
    inner = " ".join(f"'{word}'" for word in words)
    script = (
        f"{show}mount -t tmpfs none /mnt && mknod /mnt/tun c 10 200 && chmod {mode} /mnt/tun && "
        "mount --bind /mnt/tun /dev/net/tun && "
        f"exec setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/ {inner}"
    )
    try:
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script], cwd=box.folder, capture_output=True,
            text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        if (box.folder / "python").exists():
            (box.folder / "python").rmdir()


def test_without_privileges(box: Box) -> None:
    # The folder of the test is below one that is the user's own.
    for folder in (box.folder, *box.folder.parents[:2]):
        folder.chmod(0o755)
    if as_nobody(box, [sys.executable, "-c", "import lasthop._lasthop"], "666").returncode != 0:
        pytest.skip("SKIPPED: this Python is not to be read by other users")
    ping = ["sh", "-c", "ping -q -c 3 -i 0.2 $LASTHOP_SERVER"]
    words = box.arguments(link(), ["--allow-lag"], ping)
    if Path("/proc/sys/user/max_user_namespaces").read_text().strip() == "0":
        done = as_nobody(box, words, "666")
        assert (done.returncode, done.stdout) == (1, "")
        assert "user namespace" in done.stderr
        return
    done = as_nobody(box, words, "666")
    assert done.returncode == 0, done.stderr
    least = float(done.stdout.rpartition("= ")[2].split("/")[0])
    assert 20 <= least <= LATE_MS
    done = as_nobody(box, words, "600")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("lasthop: cannot open a TUN device (/dev/net/tun): Permission")
    assert len(done.stderr.strip().splitlines()) == 1
