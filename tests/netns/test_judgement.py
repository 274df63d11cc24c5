# SPDX-License-Identifier: MIT OR Apache-2.0
"""The emulator judges itself: what spoils a run is told, and such a run is refused."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from box import Box, link
from demands import demand
from test_commands import children, wait_for

DEFAULT_BUFFER = Path("/proc/sys/net/core/rmem_default")


def judged(box: Box, *options: object, inner: list[str], freeze_s: float = 0.0) -> tuple[int, Any]:
    """Exit status and ``emulation`` of a run, which is frozen for a while once its command runs."""
    process = box.start(link(), "--json", *options, inner=inner)
    try:
        assert wait_for(lambda: len(children(process.pid)) >= len(inner) - 1 > 0)
        if freeze_s:
            time.sleep(0.5)
            process.send_signal(signal.SIGSTOP)
            time.sleep(freeze_s)
            process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out, err
    emulation = json.loads(out)["emulation"]
    for fault in emulation["faults"]:
        assert f"lasthop: not to be believed: {fault}\n" in err
    return process.returncode, emulation


@pytest.mark.parametrize("freeze_s", [0.05, 0.3, 1.0])
def test_a_freeze_spoils_a_run(box: Box, freeze_s: float) -> None:
    # Nothing is relayed meanwhile: only the emulator's own watch tells.
    status, emulation = judged(box, inner=["sleep", "2"], freeze_s=freeze_s)
    assert status == 1
    # The freeze may begin while the emulator is asleep, for 5 ms at most.
    assert freeze_s - 0.006 <= emulation["stall_max_s"]
    assert emulation["stall_limit_s"] == pytest.approx(0.02)
    assert any("the emulator stood still" in fault for fault in emulation["faults"])


def test_a_freeze_under_flows_spoils_a_run_whatever_the_percentile_says(box: Box) -> None:
    line = ["ping", "-q", "-i", "0.01", "-c", "600", "-W", "3"]
    inner = ["sh", "-c", " ".join([*line, "$LASTHOP_SERVER > ping"])]
    status, emulation = judged(box, inner=inner, freeze_s=0.1)
    assert status == 1
    assert any("the emulator stood still" in fault for fault in emulation["faults"])
    # Those that came in the freeze waited at the entrance: that is part of their lag.
    assert emulation["lag_max_s"] >= 0.07


def test_a_spoilt_run_is_accepted_on_demand(box: Box) -> None:
    status, emulation = judged(box, "--allow-lag", inner=["sleep", "2"], freeze_s=0.3)
    assert (status, bool(emulation["faults"])) == (0, True)


def test_a_run_without_a_fault_is_accepted(box: Box) -> None:
    # On a busy machine not every attempt is without one; each is judged by the same rule.
    for _ in range(8):
        status, emulation = judged(box, inner=["sleep", "1"])
        assert status == (1 if emulation["faults"] else 0)
        if not status:
            return
    pytest.fail(f"no attempt was without a fault: {emulation['faults']}")


def test_what_comes_too_fast_to_be_taken_spoils_a_run(box: Box) -> None:
    flood = (
        "import os, socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
        "end = time.monotonic() + 2.5\n"
        "while time.monotonic() < end:\n"
        " s.sendto(b'x', (os.environ['LASTHOP_SERVER'], 9))\n"
    )
    (box.folder / "flood.py").write_text(flood)
    status, emulation = judged(box, inner=[sys.executable, "flood.py"], freeze_s=1.0)
    assert status == 1
    # The queue of a device holds 10,000 packets.
    assert emulation["overruns"] > 0
    assert any("came too fast to be taken" in fault for fault in emulation["faults"])


def test_datagrams_that_an_end_drops_spoil_a_run(box: Box) -> None:
    slow = (
        "import socket, time; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM);"
        "s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0);"
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096); s.bind(('::', 7009));"
        "time.sleep(60)"
    )
    send = (
        "import os, socket, time; time.sleep(1);"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(200):\n"
        " s.sendto(bytes(1000), (os.environ['LASTHOP_SERVER'], 7009)); time.sleep(0.002)\n"
        "time.sleep(0.1)\n"
    )
    (box.folder / "slow.py").write_text(slow)
    (box.folder / "send.py").write_text(send)
    serve = ["--serve", f"{sys.executable} slow.py"]
    status, emulation = judged(box, *serve, inner=[sys.executable, "send.py"])
    assert status == 1
    drops = emulation["endpoint_drops"]
    assert 150 <= sum(drops.values()) <= 200
    assert any("RcvbufErrors" in fault for fault in emulation["faults"])


def test_a_burst_finds_room_in_the_sockets_and_the_machine_is_as_before(box: Box) -> None:
    before = DEFAULT_BUFFER.read_text()
    ask = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
    ask += "print(s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))"
    done = box.run(link(), inner=[sys.executable, "-c", ask])
    assert int(done.stdout) >= 8 << 20
    assert DEFAULT_BUFFER.read_text() == before


@contextmanager
def quota(share: float) -> Iterator[Path]:
    """A control group whose processes have so much of a processor; a test without one skips."""
    roots = [Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")]
    group = None
    for root in roots:
        group = root / f"lasthop-test-{os.getpid()}"
        try:
            group.mkdir()
            if (group / "cpu.cfs_quota_us").exists():
                (group / "cpu.cfs_quota_us").write_text(str(int(share * 100_000)))
            else:
                (group / "cpu.max").write_text(f"{int(share * 100_000)} 100000")
            break
        except OSError:
            if group.exists():
                group.rmdir()
            group = None
    demand("" if group else "no control group of one's own")
    assert group is not None
    try:
        yield group
    finally:
        assert wait_for(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def test_a_throttled_core_spoils_a_run(box: Box) -> None:
    with quota(0.15) as group:
        words = box.arguments(link(), ["--json"], ["sh", "-c", "timeout 2 yes > /dev/null; true"])
        script = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
        done = subprocess.run(
            ["sh", "-c", script, str(group), *words], cwd=box.folder, capture_output=True,
            text=True, check=False, timeout=120,
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    emulation = json.loads(done.stdout)["emulation"]
    assert emulation["throttled_s"] > 0.5
    assert any("quota withheld the processor" in fault for fault in emulation["faults"])
