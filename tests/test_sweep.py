# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps: the same bits however they are run, and resumed where they stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import lasthop
import pandas as pd
import pytest
from conftest import SHORT, Command
from lasthop.grid import parse_grid, points_of, split_values

GRID = {"ap[0].price.a": ["3 kB", "9 kB"], "flow[1].rtt": ["80 ms", "130 ms"]}


def test_rows_follow_the_grid_then_the_seeds() -> None:
    frame = lasthop.sweep(SHORT, grid=GRID, seed=5, seeds=2, jobs=1)
    assert list(frame["ap[0].price.a"]) == ["3 kB"] * 4 + ["9 kB"] * 4
    assert list(frame["flow[1].rtt"]) == ["80 ms", "80 ms", "130 ms", "130 ms"] * 2
    assert list(frame["seed"]) == [5, 6] * 4
    alone = lasthop.run(SHORT, set={"ap[0].price.a": "9 kB", "flow[1].rtt": "80 ms"}, seed=6)
    row = frame.iloc[5]
    assert row["flow.near.goodput_bps"] == alone.summary["flows"][0]["goodput_bps"]
    assert row["total_goodput_bps"] == sum(f["goodput_bps"] for f in alone.summary["flows"])


def test_same_bits_for_any_number_of_jobs() -> None:
    frames = [lasthop.sweep(SHORT, grid=GRID, seeds=3, jobs=jobs) for jobs in (1, 2, 5)]
    pd.testing.assert_frame_equal(frames[0], frames[1], check_exact=True)
    pd.testing.assert_frame_equal(frames[0], frames[2], check_exact=True)


def test_same_bits_on_a_dask_cluster(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    trace = tmp_path / "steady.down"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 101)))
    radio = {"ap[0].radio": '{ kind = "trace", file = "steady.down" }'}
    (tmp_path / "traced.toml").write_text(SHORT)
    here = [
        lasthop.sweep(SHORT, grid=GRID, seeds=2),
        lasthop.sweep(tmp_path / "traced.toml", set=radio, seeds=2),
    ]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        there = [
            lasthop.sweep(SHORT, grid=GRID, seeds=2, dask=address),
            lasthop.sweep(tmp_path / "traced.toml", set=radio, seeds=2, dask=address),
        ]
    for a, b in zip(here, there, strict=True):
        pd.testing.assert_frame_equal(a, b, check_exact=True)


def test_an_interrupted_sweep_goes_on_where_it_stopped(tmp_path: Path, short: Path) -> None:
    # Long enough that the signal comes in the middle, on one thread to keep an order.
    arguments = [
        sys.executable, "-m", "lasthop", "sweep", str(short), "--set", "duration=2000 s",
        "--seeds", "40", "--jobs", "1", "--out", "s.parquet", "--json",
    ]  # fmt: skip
    process = subprocess.Popen(
        arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # Who runs the tests in the background may have them ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    journal = tmp_path / "s.parquet.journal"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.strip() == "lasthop: interrupted"
    assert stdout == ""
    assert not (tmp_path / "s.parquet").exists()
    kept = [json.loads(line) for line in journal.read_text().splitlines() if line]
    assert 1 <= len(kept) < 40

    # A mark in the journal shows that what is in it is not run again.
    kept[0]["summary"]["events"] = -1
    journal.write_text("\n".join(json.dumps(entry) for entry in kept) + '\n{"key": "cut sho')
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not journal.exists()
    resumed = json.loads(done.stdout)
    assert resumed[0]["events"] == -1
    fresh = lasthop.sweep(short, set={"duration": "2000 s"}, seeds=40)
    written = lasthop.read(tmp_path / "s.parquet")
    assert isinstance(written, pd.DataFrame)
    pd.testing.assert_frame_equal(
        written.drop(columns="events"), fresh.drop(columns="events"), check_exact=True
    )


def test_another_scenario_does_not_take_from_the_journal(tmp_path: Path, short: Path) -> None:
    from lasthop.runs import Request, Runner
    from lasthop.scenario import load

    keys = {
        Request(load(short), overrides, seed).key()
        for overrides in ((), (("flow[0].rtt", "31 ms"),))
        for seed in (1, 2)
    }
    assert len(keys) == 4
    trace = tmp_path / "t.down"
    traced = Request(load(short), (("ap[0].radio", '{ kind = "trace", file = "t.down" }'),), 1)
    trace.write_text("1\n2\n")
    before = traced.key()
    trace.write_text("1\n3\n")
    assert traced.key() != before, "the trace's content counts, not its name"
    assert Runner(jobs=3).jobs == 3


def test_grid_values_are_split_at_outer_commas_only() -> None:
    assert split_values("5 kB, 9 kB") == ["5 kB", "9 kB"]
    assert split_values('{ kind = "a", x = 1 },"b,c",[1,2]') == [
        '{ kind = "a", x = 1 }', '"b,c"', "[1,2]",
    ]  # fmt: skip
    assert parse_grid(["a.b=1,2"]) == [("a.b", ["1", "2"])]
    assert points_of([("a", ["1", "2"]), ("b", ["3"])]) == [
        (("a", "1"), ("b", "3")), (("a", "2"), ("b", "3")),
    ]  # fmt: skip


def test_the_command_prints_rows_and_writes_the_table(command: Command, short: Path) -> None:
    done = command(
        "sweep", short, "--grid", "ap[0].price.a=3 kB,9 kB", "--seeds", 2, "--out", "s.parquet"
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5
    assert "queueing delay [ms]" in done.stdout
    again = command("rerun", "s.parquet")
    assert (again.returncode, again.stdout) == (0, "s.parquet: reproduced bit for bit\n")
    assert not os.path.exists(short.parent / "s.parquet.journal")
