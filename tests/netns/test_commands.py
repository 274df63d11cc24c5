# SPDX-License-Identifier: MIT OR Apache-2.0
"""What runs behind and before the network, and that nothing of it is left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from box import CATCHES, LATE_MS, TWO, Box, link, slack_s
from conftest import assert_one_line


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


def test_a_server_that_fails_at_once_is_not_waited_for(box: Box) -> None:
    done = box.run(TWO, "--serve", "false", inner=["touch", "ran"])
    told = 'lasthop: --serve "false": ended with 1 before it listened\n'
    assert (done.returncode, done.stderr) == (1, told)
    assert not (box.folder / "ran").exists()


def test_a_server_that_never_listens_is_waited_for_aloud_and_fails(box: Box) -> None:
    done = box.run(TWO, "--serve", "sleep 60", inner=["touch", "ran"])
    waits, failed = done.stderr.splitlines()
    assert waits == 'lasthop: waits for --serve "sleep 60" to listen, 5 s at most'
    assert failed == 'lasthop: --serve "sleep 60": did not listen within 5 s: wanted a server'
    assert done.returncode == 1
    assert not (box.folder / "ran").exists()


def gone(names: Iterator[str] | Sequence[str] = ()) -> bool:
    devices = os.listdir("/sys/class/net")
    return not any(name in devices for name in names)


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread may end while it is looked at.
        try:
            listed = (task / "children").read_text()
        except FileNotFoundError:
            continue
        for child in map(int, listed.split()):
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
    assert process.returncode == 128 + number
    assert wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in inside))


def test_ctrl_c_on_a_terminal_is_the_commands_matter(box: Box) -> None:
    status, heard = box.interrupted(link(), "--allow-lag", inner=CATCHES)
    assert b"caught" in heard
    assert status == 5


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
