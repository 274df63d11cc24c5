# SPDX-License-Identifier: MIT OR Apache-2.0
"""Our laws as congestion controls of a kernel: put there, changed, taken away; what they do."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from box import CORE, Box
from house import AGENT, PATIENCE_S, demand_agent, house

PRODUCT = 'queue = { limit = "84 packets" }'
"""A buffer of the product, with 100 ms."""

Run = subprocess.CompletedProcess[str]


@pytest.fixture(autouse=True)
def agent(monkeypatch: pytest.MonkeyPatch) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)


def cc(*words: object) -> Run:
    """What becomes of a command."""
    return subprocess.run(
        [AGENT, "cc", *map(str, words)], capture_output=True, text=True, check=False, timeout=60
    )


def controls() -> list[str]:
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
        return file.read().split()


def status(name: str) -> dict[str, Any] | None:
    """What is told of a control, first of one that is registered; none where it is not there."""
    found: list[dict[str, Any]] = json.loads(cc("status", "--json").stdout)
    own = [control for control in found if control["name"] == name]
    return max(own, key=lambda control: bool(control["registered"]), default=None)


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def loaded(name: str, *words: object) -> Iterator[subprocess.Popen[str]]:
    """A control as long as it is asked for."""
    process = subprocess.Popen(
        [AGENT, "cc", "load", *map(str, words), "--name", name],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{name}\n", process.communicate()
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_control_serves_sockets_and_namespaces_and_goes_with_its_process() -> None:
    with loaded("lasthop_t1", "gamma") as process:
        assert "lasthop_t1" in controls()
        with house(congestion="lasthop_t1") as built:
            with built.download(2) as found:
                until(lambda: (status("lasthop_t1") or {})["connections"] > 0)
            assert found["bps"] > 8e6
        told = status("lasthop_t1")
        assert told is not None and told["registered"] and told["pid"] == process.pid
        assert told["opened"] >= 2
        metrics = cc("status", "--metrics").stdout.splitlines()
        opened = 'lasthop_cc_connections_opened_total{control="lasthop_t1",law="gamma"} '
        assert int(next(line for line in metrics if line.startswith(opened)).split()[-1]) >= 2
        assert metrics[-1] == "# EOF"
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: "lasthop_t1" not in controls())
        # Connections that wait for their end keep the programs; nobody else can have them.
        left = status("lasthop_t1")
        assert left is None or not left["registered"]


def test_a_connection_keeps_its_control_until_it_ends() -> None:
    with (
        loaded("lasthop_t2", "drain") as process,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as near,
        server.accept()[0] as far,
    ):
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"lasthop_t2")
        done = cc("unload", "lasthop_t2")
        assert done.returncode == 0
        assert "that keep it until they end: 1" in done.stderr
        assert process.wait(timeout=PATIENCE_S) == 0
        assert "lasthop_t2" not in controls()
        told = status("lasthop_t2")
        assert told is not None and not told["registered"] and told["connections"] == 1
        # It goes on by the law, and nobody else can have it.
        near.sendall(bytes(1 << 20)[: 1 << 16])
        assert far.recv(10)
        used = near.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        assert used.rstrip(b"\0") == b"lasthop_t2"
        with pytest.raises(FileNotFoundError):
            far.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"lasthop_t2")
    until(lambda: status("lasthop_t2") is None)


def test_a_control_that_is_kept_outlives_its_process() -> None:
    # A bpffs of our own: the machine need not have one.
    steps = (
        f"mount -t bpf bpf /sys/fs/bpf && {AGENT} cc load drain --keep --name lasthop_t3 &&"
        f" {AGENT} cc status --json && {AGENT} cc unload lasthop_t3 && ls /sys/fs/bpf/lasthop"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", steps], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    name, _, rest = done.stdout.partition("\n")
    (told,) = (found for found in json.loads(rest) if found["name"] == "lasthop_t3")
    assert name == "lasthop_t3"
    assert told["pinned"] == "/sys/fs/bpf/lasthop/lasthop_t3" and told["pid"] is None
    assert "lasthop-agent cc unload lasthop_t3" in done.stderr
    assert "lasthop_t3" not in controls()


def test_parameters_change_while_it_runs() -> None:
    with loaded("lasthop_t4", "gamma-delta", "--beta", "0.75", "--gamma", "0.4"):
        before = status("lasthop_t4")
        # α follows β, 4(1 − β²)/3, until it is told its own.
        assert before is not None and before["alpha"] == pytest.approx(
            4 * (1 - 0.75**2) / 3, abs=1e-4
        )
        assert "threshold = 0.4" in before["parameters"]
        assert cc("set", "lasthop_t4", "beta=0.5").returncode == 0
        assert (status("lasthop_t4") or {})["alpha"] == pytest.approx(1)
        assert cc("set", "lasthop_t4", "alpha=0.25", "delta.increase=4.0").returncode == 0
        after = status("lasthop_t4")
        assert (
            after is not None and after["alpha"] == 0.25 and "increase = 4" in after["parameters"]
        )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["load", "reno"], "cc load reno: wanted gamma, gamma-delta, gaimd, drain"),
        (["load", "gaimd", "--beta", "1.5"], "beta = 1.5: wanted more than 0 and less than 1"),
        (["load", "gaimd", "--set", "bta=1"], "unknown key `bta`"),
        (["load", "gaimd", "--name", "a_name_that_is_too_long"], "wanted up to 15 letters"),
        (["load", "gaimd", "--name", "reno"], "reno is in the kernel already"),
        (["set", "lasthop_none", "beta=0.5"], "lasthop_none: no control of lasthop's"),
        (["unload", "reno"], "reno: no control of lasthop's"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(words: list[str], complaint: str) -> None:
    done = cc(*words)
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("lasthop-agent: ") and complaint in line


@pytest.mark.measured
def test_gamma_keeps_the_queue_shorter_than_reno_at_equal_goodput(box: Box) -> None:
    found = {}
    for kind in ('"linux-reno"', '{ kind = "linux-aimd", gamma = {} }'):
        flow = f'rtt = "100 ms"\nsender = {kind}'
        summary = box.summary(CORE.format(duration=14, link=PRODUCT, flow=flow))
        found[kind] = summary["flows"][0]["goodput_bps"], summary["queues"][0]["mean_delay_s"]
    (reno_bps, reno_s), (gamma_bps, gamma_s) = found.values()
    # Nothing of ours is left behind, and results name the law.
    assert not [name for name in controls() if name.startswith("lh")]
    assert summary["emulation"]["congestion_control"] == ["linux-aimd"]
    assert gamma_bps > 0.97 * reno_bps
    # Reno fills the buffer of 100 ms each time; γ turns back at half of it.
    assert gamma_s < 0.8 * reno_s


def jain(folder: Path, variant: str, flows: int) -> float:
    """Jain's index of flows that begin within a second, from 20 to 60 s."""
    folder.mkdir()
    law = f'{{ kind = "linux-aimd", gamma = {{ variant = "{variant}" }} }}'
    flow = f'count = {flows}\nspread = "1 s"\nrtt = "100 ms"\nsender = {law}'
    text = CORE.format(duration=60, link='queue = { limit = "200 packets" }', flow=flow)
    # A refused run counts for nothing.
    for _ in range(3):
        process = Box(folder).start(text, "--allow-lag", "--json", "--set", "warmup=20 s")
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        summary = json.loads(out)
        if not summary["emulation"]["faults"]:
            return float(summary["fairness"]["jain"])
    pytest.fail(f"no attempt kept real time: {summary['emulation']['faults']}")


@pytest.mark.measured
def test_drain_shares_evenly_where_gamma_does_not(tmp_path: Path) -> None:
    # Two emulations a processor keep real time.
    asked = [(variant, flows) for flows in (32, 16, 8, 4) for variant in ("drain", "knee")]
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        found = pool.map(lambda one: jain(tmp_path / f"{one[0]}{one[1]}", *one), asked)
        index = dict(zip(asked, found, strict=True))
    told = {f"{variant} {flows}": round(value, 3) for (variant, flows), value in index.items()}
    # With 32 flows there are 2.6 segments each, and the queue hardly ever empties.
    for flows, least in ((4, 0.95), (8, 0.95), (16, 0.95), (32, 0.9)):
        assert index["drain", flows] >= least, told
    # One that saw a higher crest of the queue than others gives way later, for ever.
    assert min(index["knee", flows] for flows in (4, 8, 16, 32)) < 0.9, told
