# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces: read, described, converted, made up."""

import json
import os
import random
import tracemalloc
from pathlib import Path

import lasthop
import numpy as np
import pytest
from conftest import Command, assert_one_line
from lasthop.mmlog import Log, p95_signal_delay
from lasthop.mmlog import read as read_log
from lasthop.scenario import shipped_folder
from lasthop.trace import describe, lte_like, read, to_csv
from lasthop.tracing import rates_in_bins


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
    back = read(tmp_path / "a.csv")
    assert len(back) == pytest.approx(1000, abs=1)
    assert back[-1] == pytest.approx(2000, abs=100)


def test_a_csv_becomes_the_opportunities_of_its_rate(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time_s,rate_bps\n0,12000\n1,0\n2,24000\n3,0\n")
    # One packet is full at 1 s, nothing comes until 2 s, then one each half second.
    assert list(read(tmp_path / "a.csv")) == [1000, 2500, 3000]


SIX_SECONDS = {"duration": "6 s", "warmup": "0 s"}


def test_a_radio_reads_all_that_the_commands_do(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time_s,rate_bps\n0,12000000\n1,6000000\n2,0\n")
    (tmp_path / "a.down").write_text("".join(f"{ms}\n" for ms in read(tmp_path / "a.csv")))
    runs = [
        lasthop.run("lte-clamp", set={"ap[0].radio.file": str(tmp_path / name), **SIX_SECONDS})
        for name in ("a.csv", "a.down")
    ]
    # 1500 packets in 2 s, of 1504 bytes each.
    assert runs[0].summary["queues"][0]["capacity_bps"] == pytest.approx(1500 * 1504 * 8 / 2)
    assert runs[0].summary["flows"] == runs[1].summary["flows"]
    # As part of a result it is one still.
    runs[0].to_parquet(tmp_path / "a.parquet")
    assert lasthop.rerun(tmp_path / "a.parquet") == []


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
        ("a,b\n1,2\n", ["t.csv: line 1", "time_s,rate_bps"]),
        ("time_s,rate_bps\n1,2\nx,3\n", ["t.csv: line 3", "two numbers"]),
        ("time_s,rate_bps\n1,2\n1,3\n", ["t.csv: line 3", "later"]),
        ("time_s,rate_bps\n1,2\n2,-3\n", ["t.csv: line 3", "rate"]),
        ("time_s,rate_bps\n1,2\n", ["t.csv", "at least 2"]),
        ("time_s,rate_bps\n1,2\n2,2\n", ["t.csv", "not one packet"]),
    ],
)
def test_broken_csv_is_refused(
    command: Command, tmp_path: Path, content: str, parts: list[str]
) -> None:
    (tmp_path / "t.csv").write_text(content)
    assert_one_line(command("trace", "convert", "t.csv", "--out", "t.down"), *parts)
    assert not (tmp_path / "t.down").exists()


def test_huge_csv_is_refused_at_once(command: Command, tmp_path: Path) -> None:
    for rows, parts in (
        ("0,1e12\n1,1e12\n", ["166666667 packets", "at most 10000000"]),
        ("0,1\n1e9,1\n", ["2000000000 s", "at most 1000000 s"]),
        ("0,1e305\n1e5,1e305\n", ["inf packets"]),
        ("0,1\ninf,1\n", ["line 3: `inf,1`", "wanted a time"]),
        ("nan,1\n1,1\n", ["line 2: `nan,1`", "wanted a time"]),
    ):
        (tmp_path / "t.csv").write_text(f"time_s,rate_bps\n{rows}")
        assert_one_line(command("trace", "convert", "t.csv", "--out", "t.down"), "t.csv", *parts)
    (tmp_path / "long.down").write_text("1\n1000000000\n")
    convert = ("trace", "convert", "long.down", "--out", "t.csv", "--bin")
    assert_one_line(command(*convert, "1 ms"), "1000000000 rows of 1 ms", "--bin")
    assert_one_line(
        command("trace", "make", "--out", "m.down", "--duration", "1e9 s"), "--duration"
    )
    assert_one_line(command("trace", "make", "--out", "m.down", "--rate", "1e12 bit/s"), "--rate")


def test_a_start_that_is_not_0_is_told(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time_s,rate_bps\n5,12000\n6,0\n7,12000\n")
    done = command("trace", "convert", "a.csv", "--out", "a.down")
    assert done.stdout == "a.down: 2 opportunities (mahimahi); its start at 5 s became 0 s\n"
    assert list(read(tmp_path / "a.down")) == [1000, 3000]


def test_part_of_a_bin_is_no_bin(tmp_path: Path) -> None:
    path = tmp_path / "a.down"
    # 12 Mbit/s in 50 ms; and in 100 ms, before a packet half a bin later.
    for last, extra in ((50, []), (100, [150])):
        path.write_text("".join(f"{ms}\n" for ms in [*range(1, last + 1), *extra]))
        found = describe(path)
        assert [found[f"{q}_rate_bps"] for q in ("p5", "median", "p95")] == [12e6] * 3
    # Days with a packet at either end: nearly all of the time is silent.
    path.write_text("1\n1000000000\n")
    assert describe(path)["p95_rate_bps"] == 0.0
    # As NumPy has it: a packet at the very end of a bin belongs to it.
    path.write_text("100\n110\n200\n250\n260\n300\n400\n")
    found = describe(path)
    counts = [1, 2, 3, 1]
    assert found["median_rate_bps"] == np.percentile(counts, 50) * 120_000
    assert found["p5_rate_bps"] == pytest.approx(np.percentile(counts, 5) * 120_000)


def test_the_commands(command: Command, tmp_path: Path) -> None:
    assert command("trace", "make", "--out", "m.down", "--duration", "5 s").returncode == 0
    assert ": valid" in command("trace", "check", "m.down").stdout
    assert "mean rate" in command("trace", "stat", "m.down").stdout
    assert json.loads(command("trace", "stat", "m.down", "--json").stdout)["duration_s"] <= 5.0
    assert (
        command("trace", "convert", "m.down", "--out", "m.csv", "--bin", "500 ms").returncode == 0
    )


def test_the_shipped_trace_is_what_its_maker_makes() -> None:
    shipped = Path(shipped_folder()) / "traces" / "lte-driving.down"
    made = "".join(f"{stamp}\n" for stamp in lte_like(seconds=30, seed=1))
    assert shipped.read_text() == made


def test_the_shipped_uplink_is_what_its_maker_makes() -> None:
    shipped = Path(shipped_folder()) / "traces" / "lte-driving.up"
    made = "".join(f"{stamp}\n" for stamp in lte_like(seconds=30, seed=2, mean_bps=3e6))
    assert shipped.read_text() == made


LOG = """# mahimahi mm-link (downlink) [a.down] > x.down
# init timestamp: 1700000000000
# base timestamp: 100
101 + 1500
103 + 1500
104 # 1504
104 - 1500 3
106 d 1 1500
110 # 1504
110 - 1500 7
120 # 1504
"""


def test_a_log_is_described_as_mm_throughput_graph_does(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.down").write_text(LOG)
    found = json.loads(command("trace", "stat", "x.down", "--json").stdout)
    # From the first line to the last: 19 ms.
    assert found["duration_s"] == 0.019
    assert found["capacity_bps"] == pytest.approx(3 * 1504 * 8 / 0.019)
    assert found["throughput_bps"] == found["ingress_bps"] == pytest.approx(2 * 1500 * 8 / 0.019)
    assert found["utilisation"] == pytest.approx(3000 / 4512)
    assert (found["arrivals"], found["departures"], found["drops"]) == (2, 2, 1)
    # Sent at 1, 2, 3 ms: 3, 7 + 1, 7 ms. The place is 0.95 n, rounded down.
    assert p95_signal_delay(read_log(tmp_path / "x.down")) == 8
    assert (found["p95_delay_s"], found["p95_signal_delay_s"]) == (0.007, 0.008)
    assert "capacity used" in command("trace", "stat", "x.down").stdout
    assert ": valid: a log of 19" in command("trace", "check", "x.down").stdout
    assert command("trace", "convert", "x.down", "--out", "y.down").returncode == 0
    assert list(read(tmp_path / "y.down")) == [4, 10, 20]


@pytest.mark.parametrize("seed", range(50))
def test_signal_delays_are_ramps_between_packets(seed: int) -> None:
    """As mm-throughput-graph has it: a list of all ms from the last packet's to the first's."""
    draw = random.Random(seed)
    packets = [(draw.randrange(60), draw.randrange(40)) for _ in range(draw.randrange(1, 30))]
    least: dict[int, int] = {}
    for sent, delay in packets:
        least[sent] = min(delay, least.get(sent, delay))
    delays: list[int] = []
    for ms in range(max(least), min(least) - 1, -1):
        delays.append(least[ms] if ms in least else delays[-1] + 1)
    log = Log(departures=[(sent + delay, 1500, delay) for sent, delay in packets])
    assert p95_signal_delay(log) == sorted(delays)[int(0.95 * len(delays))]


def test_a_sparse_log_takes_no_memory() -> None:
    # Two packets in eleven days: of 10⁹ ms all but one wait for the second.
    log = Log(departures=[(1, 1500, 1), (10**9, 1500, 0)])
    tracemalloc.start()
    assert p95_signal_delay(log) == pytest.approx(0.95e9, abs=2)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_the_last_bin_of_a_picture_is_as_long_as_what_is_left() -> None:
    # A packet of 1250 bytes, 10,000 bits, each ms: 10 Mbit/s wherever the trace ends.
    for length in (400, 500, 1000, 1100, 1400):
        edges, rates = rates_in_bins([(ms, 1250.0) for ms in range(1, length + 1)], 0.5)
        assert list(rates) == pytest.approx([10.0] * len(edges))
        assert (edges[0], edges[-1]) == (0, length / 1e3)
    assert list(rates_in_bins([(1, 1250.0)], 0.5, 2.0)[1]) == [0.02, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("# base timestamp: 0\n", ["no event"]),
        ("#\n1 + 1500\n", ["line 2", "base timestamp"]),
        ("# base timestamp: 0\n1 x 1500\n", ["line 2", "1 x 1500"]),
        ("# base timestamp: 0\n1 - 1500\n", ["line 2"]),
        ("# base timestamp: 0\n1 - 1500 2\n", ["line 2", "delay"]),
        ("# base timestamp: 0\n1 + -5\n", ["line 2", "whole"]),
        ("# base timestamp: 0\n# base timestamp: 0\n", ["line 2", "one base"]),
    ],
)
def test_broken_logs_are_refused(
    command: Command, tmp_path: Path, content: str, parts: list[str]
) -> None:
    (tmp_path / "x.down").write_text(content)
    assert_one_line(command("trace", "stat", "x.down"), "x.down", *parts)


def test_several_stand_side_by_side_whatever_their_kind(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.down").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    (tmp_path / "b.csv").write_text("time_s,rate_bps\n0,6e6\n1,6e6\n")
    (tmp_path / "x.down").write_text(LOG)
    done = command("trace", "stat", "a.down", "b.csv", "x.down")
    assert done.returncode == 0, done.stderr
    heading, *rows = done.stdout.splitlines()
    assert heading.split() == ["a.down", "b.csv"]
    mean = next(row for row in rows if row.startswith("mean rate"))
    assert mean.split()[2:] == ["12.0", "Mbit/s", "6.00", "Mbit/s"]
    assert any(row.split() == ["x.down"] for row in rows)
    found = json.loads(command("trace", "stat", "a.down", "b.csv", "--json").stdout)
    assert [about["mean_rate_bps"] for about in found] == pytest.approx([12e6, 6e6])
    assert len(command("trace", "check", "a.down", "b.csv").stdout.splitlines()) == 2


def test_the_picture_of_a_log(command: Command, tmp_path: Path) -> None:
    from lasthop.tracing import draw_traces

    (tmp_path / "x.down").write_text(LOG)
    figure = draw_traces([tmp_path / "x.down"], 0.01)
    rates, delays = figure.axes
    # Bins of 10 ms: opportunities at 4 and 10 ms, and at 20 ms; packets left at 4 and 10 ms.
    shaded = rates.collections[0].get_paths()[0].vertices[:, 1].max()
    assert shaded == pytest.approx(2 * 1504 * 8 / 0.01 / 1e6)
    assert list(rates.lines[0].get_ydata())[:2] == pytest.approx([2.4, 0])
    # As the shading is: a slope between bins would pass above what there was.
    assert rates.lines[0].get_drawstyle() == "steps-post"
    assert list(delays.lines[0].get_ydata()) == [3, 7]
    assert "[ms]" in delays.get_ylabel() and "[Mbit/s]" in rates.get_ylabel()
    done = command("trace", "plot", "x.down", "--out", "x.png", "--bin", "10 ms")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.png").stat().st_size > 5_000
    assert_one_line(command("trace", "plot", "x.down", "--out", "x.txt"), ".png")


def test_what_never_ends_is_not_read(command: Command, tmp_path: Path) -> None:
    assert_one_line(command("trace", "stat", "/dev/zero"), "/dev/zero", "regular file")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "no.text").write_bytes(b"\x7fELF\xff\x00")
    for name, says in (
        ("/dev/zero", "wanted a regular file"),
        ("fifo", "wanted a regular file"),
        ("no.text", "not a text file: wanted a trace"),
    ):
        assert_one_line(command("trace", "stat", name), name, says)
        done = command("run", "lte-clamp", "--set", f"ap[0].radio.file={name}")
        assert_one_line(done, "ap[0].radio.file", name, says)
    (tmp_path / "far.down").write_text("# base timestamp: 0\n1 + 1500\n900000000000 - 1500 1\n")
    assert_one_line(command("trace", "stat", "far.down"), "far.down", "wanted at most")
    make = ("trace", "make", "--out", "m.down", "--rate", "1 bit/s", "--duration", "1e7 s")
    assert_one_line(command(*make), "--duration 1e+07 s", "86400 s")
