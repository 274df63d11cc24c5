# SPDX-License-Identifier: MIT OR Apache-2.0
"""A scenario in a folder and ``lasthop emu`` in it. It takes root and /dev/net/tun."""

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

ENDS = Path(__file__).with_name("ends.py")
SERVE = f"{sys.executable} {ENDS} serve"
CATCHES = (
    "sh",
    "-c",
    "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done",
)
"""A command that says when it is ready for Ctrl-C, and what it makes of that."""
LATE_MS = 60.0
"""The least of a few round trips of 20 ms, on whatever busy machine."""
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

CORE = """
title = "Flows over a link"
duration = "{duration} s"
warmup = "4 s"
[[link]]
name = "core"
from = "server"
to = "client"
rate = "10 Mbit/s"
duplex = false
{link}
[[flow]]
name = "flow"
path = ["server", "client"]
receiver = "linux"
{flow}
"""
"""A link of 10 Mbit/s, with what else is to be said of it and of the flow."""

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


@cache
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

    def interrupted(
        self, text: str, *options: object, inner: Sequence[object] = ()
    ) -> tuple[int, bytes]:
        """Runs it on a terminal, types Ctrl-C once it is `ready`: its status, and what it said."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            words = self.arguments(text, options, inner)
            os.execv(words[0], words)
        heard = b""
        while b"ready" not in heard:
            heard += os.read(terminal, 1000)
        os.write(terminal, b"\x03")
        try:
            while data := os.read(terminal, 1000):
                heard += data
        except OSError:
            pass  # The other side is closed.
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), heard

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
            if not summary["emulation"]["faults"]:
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
    late = (emulation["lag_max_s"], emulation["stall_max_s"])
    return float(max(late)) if emulation["faults"] else 0.0


def delays_ms(found: list[list[int]]) -> list[float]:
    return [(came - sent) / 1e6 for _, sent, came, *_ in found]
