# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part of ``make demo`` that is in earnest."""

import os
import re
from pathlib import Path
from types import SimpleNamespace

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


@pytest.mark.parametrize("spoilt", [1, 2, 3])
def test_a_spoilt_run_is_tried_again(
    spoilt: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    left = [spoilt, 0]

    def play(name: str, has_agent: bool) -> tuple[SimpleNamespace, str]:
        assert name == ("lte-share" if has_agent else "lte-cubic")
        left[has_agent] -= 1
        faults = ["late"] if left[has_agent] >= 0 else []
        summary = {"emulation": {"faults": faults}, "flows": [{"goodput_bps": 4e6}]}
        return SimpleNamespace(signal=None, complaints=[], status=0, summary=summary), (
            "64 bytes from 10.0.0.1: icmp_seq=0 ttl=64 time=61.5 ms\n"
        )

    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    monkeypatch.setattr(demo, "_why_not", lambda: None)
    monkeypatch.setattr(demo, "_run_pings", play)
    demo.ping()
    said = capsys.readouterr().out
    assert said.count("too busy (late): once more.") == min(spoilt, 2)
    assert ("SKIPPED: this machine was too busy: late" in said) == (spoilt == 3)
    assert Path("out/ping.png").exists() == (spoilt < 3)
