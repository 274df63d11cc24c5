# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a command inside may do, and what a script that calls the emulator may rely on."""

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from box import TWO, Box, link
from conftest import assert_one_line
from test_commands import children, wait_for

LISTEN = "import socket, time; s = socket.create_server(('', 8080)); "


def capabilities(text: str) -> int:
    line = next(line for line in text.splitlines() if line.startswith("CapEff:"))
    return int(line.split()[1], 16)


def test_a_command_has_no_rights_of_root_unless_asked(box: Box) -> None:
    script = "cat /proc/self/status; ping -q -c 1 -W 9 $LASTHOP_SERVER > ping && echo pinged"
    done = box.run(link(), "--serve", "sh -c 'cat /proc/self/status > served'",
                   inner=["sh", "-c", script])  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert capabilities(done.stdout) == 0
    assert "pinged" in done.stdout
    assert capabilities((box.folder / "served").read_text()) == 0
    done = box.run(link(), "--privileged", inner=["cat", "/proc/self/status"])
    assert capabilities(done.stdout) == capabilities(Path("/proc/self/status").read_text())


def test_a_command_runs_as_who_called(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = ["sh", "-c", "id -u; id -g; echo $USER"]
    assert box.run(link(), "--user", "nobody", inner=inner).stdout.split()[0::2] == [
        "65534",
        "nobody",
    ]
    assert_one_line(box.run(link(), "--user", "no-such-user", inner=inner), "--user", "no-such")
    monkeypatch.setenv("SUDO_UID", "65534")
    assert box.run(link(), inner=inner).stdout.split()[0::2] == ["65534", "nobody"]
    assert box.run(link(), "--privileged", inner=inner).stdout.split()[0] == "0"


def test_low_ports_are_for_everybody(box: Box) -> None:
    serve = f"{sys.executable} -m http.server 80"
    line = "curl -s -o /dev/null -w '%{http_code}' http://$LASTHOP_SERVER/"
    done = box.run(link(), "--serve", serve, inner=["sh", "-c", line])
    assert done.stdout.endswith("200"), done.stderr


def test_json_has_standard_output_or_a_file_for_itself(box: Box) -> None:
    inner = ["sh", "-c", "echo said"]
    done = box.run(link(), "--json", inner=inner)
    assert json.loads(done.stdout)["emulation"]
    assert "said\n" in done.stderr
    done = box.run(link(), "--json", "r.json", inner=inner)
    assert done.stdout == "said\n"
    assert json.loads((box.folder / "r.json").read_text())["emulation"]


def test_a_command_starts_when_its_server_listens(box: Box) -> None:
    (box.folder / "late.py").write_text(
        "import time; time.sleep(0.7); " + LISTEN + "s.accept()[0].sendall(b'here'); time.sleep(9)"
    )
    ask = "import os, socket; s = socket.create_connection((os.environ['LASTHOP_SERVER'], 8080));"
    ask += "print(s.recv(9))"
    done = box.run(
        link(), "--serve", f"{sys.executable} late.py", inner=[sys.executable, "-c", ask]
    )
    assert (done.returncode, done.stdout) == (0, "b'here'\n"), done.stderr


def test_a_server_that_fails_later_fails_the_run(box: Box) -> None:
    (box.folder / "short.py").write_text(LISTEN + "time.sleep(0.3); raise SystemExit(3)")
    serve = f"{sys.executable} short.py"
    done = box.run(link(), "--serve", serve, "--json", "r.json", inner=["sleep", "1"])
    assert done.returncode == 1
    assert f'lasthop: --serve "{serve}": ended with 3\n' in done.stderr
    assert json.loads((box.folder / "r.json").read_text())["emulation"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_each_signal_has_its_own_status(box: Box, number: signal.Signals) -> None:
    process = box.start(link(), "--json", "r.json", inner=["sleep", "100"])
    assert wait_for(lambda: len(children(process.pid)) >= 3)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert json.loads((box.folder / "r.json").read_text())["emulation"]


def test_a_result_outlives_its_log(box: Box) -> None:
    # No file may grow above a block: the logs are longer.
    words = box.arguments(TWO, ["--allow-lag", "--json", "--log", "log"], [])
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *words], cwd=box.folder,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "cannot write log" in done.stderr
    assert json.loads(done.stdout)["flows"][0]["delivered_bytes"] > 0


def test_nobody_can_take_all_the_names(box: Box) -> None:
    squatters = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(64)]
    try:
        for number, squatter in enumerate(squatters):
            squatter.bind(f"\0lasthop/{number}")
        assert box.run(link(), inner=["true"]).returncode == 0
    finally:
        for squatter in squatters:
            squatter.close()


def test_root_without_the_right_to_make_namespaces_takes_one_of_users(box: Box) -> None:
    if Path("/proc/sys/user/max_user_namespaces").read_text().strip() == "0":
        pytest.skip("SKIPPED: this system has no user namespaces")
    words = box.arguments(link(), ["--allow-lag"], ["sh", "-c", "ping -q -c 2 $LASTHOP_SERVER"])
    bounding = "--bounding-set=-sys_admin,-net_admin"
    done = subprocess.run(
        ["setpriv", bounding, *words], cwd=box.folder, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert " 0% packet loss" in done.stdout


def test_what_a_result_says_of_a_command(box: Box) -> None:
    summary = box.summary(TWO, "--set", "warmup=1.9 s", inner=["sleep", "0.3"])
    # Nobody has opened the scenario's flows.
    assert summary["flows"] == []
    assert any("warm-up of 1.9 s" in note for note in summary["notes"])
    assert summary["emulation"]["sysctls"]["net.ipv4.tcp_no_metrics_save"] == "1"
    assert int(summary["emulation"]["sysctls"]["net.core.rmem_default"]) >= 8 << 20


def test_laws_that_a_command_does_not_meet_are_told_of(box: Box) -> None:
    clamp = TWO.replace('receiver = "plain"', 'receiver = { kind = "clamp", tau = "500 B" }')
    done = box.run(clamp, inner=["true"])
    assert done.returncode == 0
    # The agent, which could obey it, is not where commands are looked for.
    told = "lasthop: note: flow[0].receiver: what the command opens does not obey it"
    assert told in done.stderr


def test_a_run_is_over_soon_after_its_command(box: Box) -> None:
    begun = time.monotonic()
    done = box.run(link(duration="500 s"), "--serve", "sleep 100", inner=["true"])
    # A server that never listens is waited for, but not for long, and has failed.
    assert done.returncode == 1
    assert time.monotonic() - begun < 30
