# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part of ``make demo`` that is in earnest."""

import os
import re
from pathlib import Path

import pytest
from lasthop import demo


def test_pings_are_short_beside_a_download_with_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "PINGS_S", 8)
    Path("out").mkdir()
    demo.ping()
    said = capsys.readouterr().out
    line = re.search(r"^ping, median +([\d.]+) (m?s) +([\d.]+) ms$", said, re.MULTILINE)
    assert line, said
    without_ms = float(line[1]) * (1 if line[2] == "ms" else 1000)
    assert without_ms > 2 * float(line[3])
    assert Path("out/ping.png").read_bytes().startswith(b"\x89PNG")


def test_without_root_it_says_why_there_are_no_pings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    demo.ping()
    assert "SKIPPED: the agent takes root" in capsys.readouterr().out
