# SPDX-License-Identifier: MIT OR Apache-2.0
"""A short scenario, and the command as a person calls it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lasthop.lab import Drawing

pytest_plugins = ["pauses"]

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


DIMENSIONLESS = re.compile(
    r"\b(fairness|index|variation|share|utilisation|probability|SNR|efficient|flows|"
    r"(error|loss) rate|over|α|b|k)\b|/"
)
"""What an axis names that has no unit."""


def assert_drawn(drawing: Drawing) -> None:
    """There are data; every pair of axes has lines and names with their units, and a legend."""
    from lasthop.plot import new_figure, styled

    assert len(drawing.data) > 1
    assert drawing.data.notna().to_numpy().mean() > 0.5
    canvas = new_figure(*drawing.size)
    with styled():
        drawing.draw(canvas)
    flat = [axes for axes in canvas.axes if axes.name != "3d"]
    for axes in flat:
        assert axes.lines
        labelled(axes.get_ylabel())
        legends = [*canvas.legends, axes.get_legend()]
        assert any(legend is not None and legend.get_texts() for legend in legends)
        if len(axes.get_shared_y_axes().get_siblings(axes)) > 1:
            greatest = max(np.nanmax(line.get_ydata(), initial=0) for line in axes.lines)
            assert greatest <= axes.get_ylim()[1], f"{axes.get_title()}: a curve leaves the panel"
    labelled(flat[-1].get_xlabel())


def labelled(text: str) -> None:
    """An axis names what it shows, with its unit if that has one."""
    assert text, "an axis without a name"
    assert "[" in text or DIMENSIONLESS.search(text), f"{text}: no unit"
    assert "[1]" not in text


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder to emulate in, where the system lets us, without the agent."""
    monkeypatch.setenv("LASTHOP_AGENT", "/nowhere")
    from box import Box, lacking
    from demands import demand

    demand(lacking())
    return Box(tmp_path)
