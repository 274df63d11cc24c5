# SPDX-License-Identifier: MIT OR Apache-2.0
"""A short scenario, and the command as a person calls it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SHORT = """
title = "Two flows for three seconds"
duration = "3 s"
warmup = "1 s"

[[ap]]
name = "ap"
delay = "1 ms"
queue = { limit = "20 kB" }
price = { kind = "linear", a = "6.5 kB" }

[ap.radio]
kind = "jakes"
doppler = "60 Hz"
bandwidth = "4.3 MHz"
max_rate = "10 Mbit/s"
attempts = 15

[[flow]]
name = "near"
station = "m1"
rtt = "30 ms"
receiver = { kind = "clamp", tau = "500 B" }

[[flow]]
name = "far"
station = "m2"
rtt = "130 ms"
receiver = { kind = "clamp", tau = "500 B" }
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def short(tmp_path: Path) -> Path:
    path = tmp_path / "short.toml"
    path.write_text(SHORT)
    return path


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs the command in an empty folder, off any terminal."""

    def call(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lasthop", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "MPLCONFIGDIR": str(tmp_path / "mpl")},
            **options,  # type: ignore[call-overload]
        )

    return call


def assert_one_line(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """The user is told in one clear line what is wrong."""
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("lasthop: ")
    for part in parts:
        assert part in lines[0], lines[0]
