# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces: read, described, converted, made up."""

import json
from pathlib import Path

import pytest
from conftest import Command, assert_one_line
from lasthop.scenario import shipped_folder
from lasthop.trace import describe, from_csv, lte_like, read, to_csv


def test_a_steady_trace(tmp_path: Path) -> None:
    path = tmp_path / "steady.down"
    path.write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    found = describe(path)
    # One packet of 12,000 bits each ms.
    assert found["mean_rate_bps"] == pytest.approx(12e6)
    assert found["median_rate_bps"] == pytest.approx(12e6)
    assert (found["duration_s"], found["opportunities"]) == (1.0, 1000)
    assert found["longest_silence_s"] == 0.001


def test_there_and_back_again(tmp_path: Path) -> None:
    trace = tmp_path / "a.down"
    trace.write_text("".join(f"{ms}\n" for ms in range(2, 2001, 2)))
    to_csv(trace, tmp_path / "a.csv", 100)
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == "time_s,rate_bps"
    from_csv(tmp_path / "a.csv", tmp_path / "b.down")
    back = read(tmp_path / "b.down")
    assert len(back) == pytest.approx(1000, abs=1)
    assert back[-1] == pytest.approx(2000, abs=100)


def test_a_csv_becomes_the_opportunities_of_its_rate(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time_s,rate_bps\n0,12000\n1,0\n2,24000\n3,0\n")
    assert from_csv(tmp_path / "a.csv", tmp_path / "a.down") == 3
    # One packet is full at 1 s, nothing comes until 2 s, then one each half second.
    assert list(read(tmp_path / "a.down")) == [1000, 2500, 3000]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("5\n3\n", ["t.down: line 2", "3 ms"]),
        ("5\nseven\n", ["t.down: line 2", "seven"]),
        ("-1\n", ["t.down: line 1", "-1"]),
        ("", ["t.down"]),
    ],
)
def test_broken_traces_are_refused(
    command: Command, tmp_path: Path, content: str, parts: list[str]
) -> None:
    (tmp_path / "t.down").write_text(content)
    assert_one_line(command("trace", "check", "t.down"), *parts, "wanted")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("a,b\n1,2\n", ["t.csv:1", "time_s,rate_bps"]),
        ("time_s,rate_bps\n1,2\nx,3\n", ["t.csv:3", "two numbers"]),
        ("time_s,rate_bps\n1,2\n1,3\n", ["t.csv:3", "later"]),
        ("time_s,rate_bps\n1,2\n2,-3\n", ["t.csv:3", "rate"]),
        ("time_s,rate_bps\n1,2\n", ["t.csv", "at least two"]),
        ("time_s,rate_bps\n1,2\n2,2\n", ["t.csv", "not one packet"]),
    ],
)
def test_broken_csv_is_refused(
    command: Command, tmp_path: Path, content: str, parts: list[str]
) -> None:
    (tmp_path / "t.csv").write_text(content)
    assert_one_line(command("trace", "convert", "t.csv", "--out", "t.down"), *parts)
    assert not (tmp_path / "t.down").exists()


def test_the_commands(command: Command, tmp_path: Path) -> None:
    assert command("trace", "make", "--out", "m.down", "--seconds", 5).returncode == 0
    assert ": right" in command("trace", "check", "m.down").stdout
    assert "mean rate" in command("trace", "stat", "m.down").stdout
    assert json.loads(command("trace", "stat", "m.down", "--json").stdout)["duration_s"] <= 5.0
    assert command("trace", "convert", "m.down", "--out", "m.csv", "--bin", 500).returncode == 0


def test_the_shipped_trace_is_what_its_maker_makes() -> None:
    shipped = Path(shipped_folder()) / "traces" / "lte-driving.down"
    made = "".join(f"{stamp}\n" for stamp in lte_like(seconds=30, seed=1))
    assert shipped.read_text() == made
