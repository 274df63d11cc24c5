# SPDX-License-Identifier: MIT OR Apache-2.0
"""A short scenario, and the command as a person calls it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lasthop.lab import Drawing

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

    def call(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lasthop", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "MPLCONFIGDIR": str(tmp_path / "mpl")},
            **options,
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


def assert_drawn(drawing: Drawing) -> None:
    """There are data, and every pair of axes has lines, a legend and names with units."""
    from lasthop.plot import new_figure, styled

    assert len(drawing.data) > 1
    assert drawing.data.notna().to_numpy().mean() > 0.5
    canvas = new_figure(*drawing.size)
    with styled():
        drawing.draw(canvas)
    flat = [axes for axes in canvas.axes if axes.name != "3d"]
    for axes in flat:
        assert axes.lines
        assert "[" in axes.get_ylabel(), "the axis names its unit"
        legend = axes.get_legend()
        assert legend is not None and legend.get_texts()
    assert "[" in flat[-1].get_xlabel()


@pytest.fixture
def box(tmp_path: Path) -> Any:
    """A folder to emulate in, where the system lets us."""
    from box import Box, demand, lacking

    demand(lacking())
    return Box(tmp_path)
