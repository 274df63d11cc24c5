# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps: the same bits however they are run, and resumed where they stopped."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import lasthop
import pandas as pd
import pytest
from conftest import SHORT, Command, assert_one_line
from lasthop import journal
from lasthop.grid import parse_grid, points_of, split_values
from lasthop.record import Record

GRID = {"ap[0].price.a": ["3 kB", "9 kB"], "flow[1].rtt": ["80 ms", "130 ms"]}


def assert_same(a: lasthop.Sweep, b: lasthop.Sweep) -> None:
    assert a.arrow.keys() == b.arrow.keys()
    for name, table in a.arrow.items():
        assert table.equals(b.arrow[name], check_metadata=True), name


def test_rows_follow_the_grid_then_the_seeds() -> None:
    sweep = lasthop.sweep(SHORT, grid=GRID, seed=5, seeds=2, jobs=1)
    runs = sweep.runs
    assert list(runs["ap[0].price.a"]) == ["3 kB"] * 4 + ["9 kB"] * 4
    assert list(runs["ap[0].price.a_bytes"]) == [3000.0] * 4 + [9000.0] * 4
    assert list(runs["flow[1].rtt"]) == ["80 ms", "80 ms", "130 ms", "130 ms"] * 2
    assert list(runs["flow[1].rtt_s"]) == [0.08, 0.08, 0.13, 0.13] * 2
    assert list(runs["seed"]) == [5, 6] * 4
    alone = lasthop.run(SHORT, set={"ap[0].price.a": "9 kB", "flow[1].rtt": "80 ms"}, seed=6)
    row = runs.iloc[5]
    assert row["total_goodput_bps"] == sum(f["goodput_bps"] for f in alone.summary["flows"])
    assert row["jain"] == alone.summary["fairness"]["jain"]
    flows = sweep.flows[sweep.flows["run"] == 5]
    assert list(flows["name"]) == ["near", "far"]
    assert list(flows["goodput_bps"]) == [f["goodput_bps"] for f in alone.summary["flows"]]
    assert set(flows["flow[1].rtt_s"]) == {0.08}
    queues = sweep.queues[sweep.queues["run"] == 5]
    assert list(queues["mean_bytes"]) == [q["mean_bytes"] for q in alone.summary["queues"]]


def test_the_tables_have_one_schema_whatever_occurs() -> None:
    one, many = (
        lasthop.sweep(SHORT, set={"flow[0].count": count}, grid={"duration": ["2 s"]})
        for count in (1, 20)
    )
    for name in ("runs", "flows", "queues"):
        assert one.arrow[name].schema.equals(many.arrow[name].schema, check_metadata=True)
    summary = lasthop.run(SHORT).summary
    assert set(summary["flows"][0]) <= set(one.arrow["flows"].column_names)
    assert set(summary["queues"][0]) <= set(one.arrow["queues"].column_names)
    assert len(many.flows) == 21
    for table in many.arrow.values():
        for column in table.schema:
            is_text = str(column.type) == "string"
            assert is_text or column.metadata[b"unit"], f"{column.name} has a unit"
    assert many.arrow["runs"].schema.field("duration_s").metadata[b"unit"] == b"s"


def test_words_have_no_numbers_and_mixed_units_neither() -> None:
    grid = {"flow[0].sender": ["cubic", "newreno"], "ap[0].queue.limit": ["20 kB", "30 packets"]}
    columns = lasthop.sweep(SHORT, grid=grid).arrow["runs"].column_names
    assert columns[:4] == ["run", "flow[0].sender", "ap[0].queue.limit", "seed"]


def test_it_says_where_it_comes_from(tmp_path: Path, short: Path, command: Command) -> None:
    done = command("sweep", short, "--grid", "ap[0].price.a=3 kB", "--seed", 4, "--seeds", 2,
                   "--out", "s.parquet")  # fmt: skip
    assert done.returncode == 0, done.stderr
    sweep = lasthop.read(tmp_path / "s.parquet")
    assert isinstance(sweep, lasthop.Sweep)
    attrs = sweep.runs.attrs
    assert attrs["grid"] == [["ap[0].price.a", ["3 kB"]]]
    assert attrs["seeds"] == [4, 5]
    assert attrs["version"] == lasthop.__version__
    assert attrs["command"].startswith("lasthop sweep ") and "--seeds 2" in attrs["command"]
    assert attrs["host"] and "Two flows for three seconds" in attrs["scenario"]


def test_means_have_students_interval() -> None:
    sweep = lasthop.sweep(SHORT, grid=GRID, seeds=3)
    means = sweep.mean()
    assert len(means) == 4
    assert set(means["n"]) == {3}
    values = sweep.runs["total_goodput_bps"].to_numpy()[:3]
    mean = values.mean()
    # Student's t at 97.5 % with two degrees of freedom is 4.3027.
    half = 4.3027 * values.std(ddof=1) / 3**0.5
    row = means.iloc[0]
    assert row["total_goodput_bps"] == pytest.approx(mean)
    assert row["high_total_goodput_bps"] - mean == pytest.approx(half, rel=1e-4)
    by_flow = sweep.mean("flows")
    assert list(by_flow["name"]) == ["near", "far"] * 4
    far = sweep.flows[(sweep.flows["name"] == "far") & (sweep.flows["run"] < 3)]
    assert by_flow["goodput_bps"].iloc[1] == pytest.approx(far["goodput_bps"].mean())


def test_seeds_that_nothing_uses_are_told_and_do_not_count(command: Command, short: Path) -> None:
    still = {"ap[0].radio": '{ kind = "constant", rate = "5 Mbit/s" }'}
    sweep = lasthop.sweep(SHORT, set=still, seeds=3)
    assert "nothing depends on the seed" in sweep.notes[0]
    assert list(sweep.mean()["n"]) == [1]
    assert sweep.mean()["low_total_goodput_bps"].isna().all(), "one run has no interval"
    assert lasthop.sweep(SHORT, seeds=3).notes == []
    fading = (
        '{ kind = "jakes", doppler = "60 Hz", attempts = 5, bandwidth = "4 MHz", '
        'max_rate = "10 Mbit/s" }'
    )
    mixed = lasthop.sweep(SHORT, grid={"ap[0].radio": [*still.values(), fading]}, seeds=2)
    assert mixed.notes[0].startswith("at 1 of 2 points nothing depends on the seed")
    radio = f"ap[0].radio={still['ap[0].radio']}"
    done = command("sweep", short, "--set", radio, "--seeds", 3)
    assert done.stdout.splitlines()[-1].startswith("note: nothing depends on the seed: 3 seeds")


def test_samples_are_kept_if_a_probe_asks(tmp_path: Path) -> None:
    probed = {"probe.every": "500 ms"}
    sweep = lasthop.sweep(SHORT, set=probed, grid={"flow[1].rtt": ["80 ms", "130 ms"]}, seeds=2,
                          out=tmp_path / "s.parquet")  # fmt: skip
    alone = lasthop.run(SHORT, set={**probed, "flow[1].rtt": "130 ms"}, seed=2).table("queues")
    found = sweep.table("queues")
    own = found[found["run"] == 3]
    assert list(own["bytes"]) == list(alone["bytes"])
    assert list(own["queue"]) == list(alone["queue"])
    assert lasthop.rerun(tmp_path / "s.parquet") == []
    read = lasthop.read(tmp_path / "s.parquet")
    assert isinstance(read, lasthop.Sweep)
    assert_same(read, sweep)


def test_pictures_of_sweeps(command: Command, short: Path) -> None:
    sweep = lasthop.sweep(SHORT, grid=GRID, seeds=2)
    over = sweep.plot("ap[0].price.a", "delay").axes[0]
    assert over.get_xlabel() == "ap[0].price.a [kB]"
    assert over.get_ylabel() == "mean queueing delay [ms]"
    legend = over.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["80 ms", "130 ms"]
    drawn = over.containers[0][0].get_ydata()
    means = sweep.mean()
    expected = means[means["flow[1].rtt"] == "80 ms"]["mean_delay_s"] * 1e3
    assert list(drawn) == pytest.approx(list(expected))
    plane = sweep.plot("delay", "goodput").axes[0]
    assert plane.containers[0].has_xerr and plane.containers[0].has_yerr
    with pytest.raises(lasthop.UserError, match=r"gooput: wanted .* did you mean goodput"):
        sweep.plot("delay", "gooput")
    done = command("sweep", short, "--grid", "flow[1].rtt=80 ms,130 ms", "--mean",
                   "--plot", "x=flow[1].rtt,y=flows.goodput_bps,file=p.svg")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
    assert "<svg" in (short.parent / "p.svg").read_text()
    done = command("sweep", short, "--seeds", 2, "--out", "two.parquet",
                   "--plot", "x=delay,y=goodput", "--plot", "x=delay,y=jain")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (short.parent / "two.png").exists() and (short.parent / "two-2.png").exists()


def test_idle_queues_halve_no_figure(command: Command, tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(
        'duration = "3 s"\n[[link]]\nname = "line"\nfrom = "a"\nto = "b"\nrate = "5 Mbit/s"\n'
        'delay = "5 ms"\nqueue = { limit = "50 packets" }\n[[flow]]\nname = "f"\n'
        'path = ["a", "b"]\n'
    )
    sweep = lasthop.sweep(tmp_path / "line.toml")
    ahead = sweep.queues.set_index("name").loc["line"]
    assert len(sweep.queues) == 2
    for total, own in (("mean_delay_s", "mean_delay_s"), ("p95_delay_s", "p95_delay_s"),
                       ("utilisation", "utilisation")):  # fmt: skip
        assert ahead[own] > 0
        assert sweep.runs[total][0] == pytest.approx(ahead[own])
    back = {"flow[0].path": '["b", "a"]'}
    turned = lasthop.sweep(tmp_path / "line.toml", set=back)
    assert turned.runs["mean_delay_s"][0] == pytest.approx(sweep.runs["mean_delay_s"][0])
    # Nor does a link with room to spare in front of it.
    (tmp_path / "two.toml").write_text(
        (tmp_path / "line.toml").read_text().replace('["a", "b"]', '["s", "a", "b"]')
        + '[[link]]\nname = "fast"\nfrom = "s"\nto = "a"\nrate = "100 Mbit/s"\ndelay = "0 s"\n'
    )
    two = lasthop.sweep(tmp_path / "two.toml")
    assert two.runs["mean_delay_s"][0] == pytest.approx(ahead["mean_delay_s"], rel=0.1)
    assert two.runs["utilisation"][0] > 0.9 * ahead["utilisation"]
    done = command("run", "line.toml", "line.toml")
    used = next(line for line in done.stdout.splitlines() if line.startswith("capacity used"))
    assert float(used.split()[2]) > 80


def test_what_applies_nowhere_has_a_mean_that_is_missing(command: Command, short: Path) -> None:
    # Of one flow there is no fairness.
    alone = short.read_text().rpartition("[[flow]]")[0]
    short.write_text(alone)
    done = command("sweep", short, "--seeds", 3, "--mean", "--plot", "x=delay,y=jain")
    assert done.returncode == 0, done.stderr
    assert "fairness" not in done.stdout
    means = lasthop.sweep(short, seeds=3).mean()
    assert means["jain"].isna().all() and means["jain"].dtype == float


def test_a_grid_over_traces_can_be_run_again(command: Command, tmp_path: Path, short: Path) -> None:
    (tmp_path / "slow.down").write_text("".join(f"{ms}\n" for ms in range(4, 101, 4)))
    (tmp_path / "fast.down").write_text("".join(f"{ms}\n" for ms in range(1, 101)))
    done = command("sweep", short, "--set", 'ap[0].radio={ kind = "trace", file = "slow.down" }',
                   "--grid", "ap[0].radio.file=slow.down,fast.down", "--out", "s.parquet",
                   "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    slow, fast = (run["total_goodput_bps"] for run in json.loads(done.stdout))
    assert fast > 2 * slow
    (tmp_path / "slow.down").unlink()
    (tmp_path / "fast.down").unlink()
    assert lasthop.rerun(tmp_path / "s.parquet") == []


def test_one_refused_run_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], short: Path
) -> None:
    from lasthop import runs
    from lasthop.cli import main

    def refuse_the_second(request: runs.Request) -> runs.Record:
        if request.seed == 2:
            raise lasthop.ScenarioError("flow[0].app: no arrival: wanted a higher rate")
        return carry_out(request)

    carry_out = runs.simulate
    monkeypatch.setattr(runs, "simulate", refuse_the_second)
    assert main(["sweep", str(short), "--seeds", "3"]) == 2
    told = capsys.readouterr()
    assert told.err == f"lasthop: {short}: flow[0].app: no arrival: wanted a higher rate\n"
    assert [line.split()[0] for line in told.out.splitlines()] == ["seed", "1", "2", "3"]
    sweep = lasthop.sweep(short, seeds=3)
    assert list(sweep.runs["refused"].notna()) == [False, True, False]
    assert list(sweep.mean()["n"]) == [2]


def test_same_bits_for_any_number_of_jobs() -> None:
    sweeps = [lasthop.sweep(SHORT, grid=GRID, seeds=3, jobs=jobs) for jobs in (1, 2, 5)]
    assert_same(sweeps[0], sweeps[1])
    assert_same(sweeps[0], sweeps[2])


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
        assert_same(a, b)


def test_a_cluster_without_workers_is_given_up(command: Command, short: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=0, dashboard_address=None, silence_logs=50
    ) as cluster:  # fmt: skip
        address = cluster.scheduler_address
        done = command("sweep", short, "--dask", address, "--patience", "2 s", "--seeds", 2)
    assert done.returncode == 2
    waiting, given_up = done.stderr.splitlines()
    assert "no worker is there: waiting 2 s" in waiting
    assert "no worker for 2 s (--patience)" in given_up


def test_a_scheduler_that_goes_is_told_and_nothing_is_lost(tmp_path: Path, short: Path) -> None:
    pytest.importorskip("distributed")
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*dask, "--port", str(port), "--host", "127.0.0.1",
                                  "--no-dashboard"], **quiet)  # fmt: skip
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1",
         "--no-nanny", "--no-dashboard"], **quiet,
    )  # fmt: skip
    try:
        arguments = ["sweep", str(short), "--set", "duration=300 s", "--seeds", "2000",
                     "--out", "s.parquet"]  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "lasthop", *arguments, "--dask", address], cwd=tmp_path,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        journal = tmp_path / "s.parquet.journal"
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.01)
        scheduler.kill()
        _, stderr = process.communicate(timeout=120)
    finally:
        worker.kill()
        scheduler.kill()
    assert process.returncode == 2
    assert stderr == f"lasthop: --dask {address}: the scheduler has gone\n"
    assert journal.stat().st_size > 0


def test_short_runs_go_in_batches_and_traces_once(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    trace = tmp_path / "steady.down"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 101)))
    (tmp_path / "traced.toml").write_text(SHORT)
    radio = {"ap[0].radio": '{ kind = "trace", file = "steady.down" }'}
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        lasthop.sweep(tmp_path / "traced.toml", set=radio, seeds=120,
                      dask=cluster.scheduler_address)  # fmt: skip
        names = [str(key) for _, key, *_ in _story(cluster.scheduler)]
    tasks = {name for name in names if name.startswith("traced-")}
    files = {name for name in names if name.startswith("lasthop-file-")}
    assert 1 < len(tasks) < 60, "each took some runs"
    assert len(files) == 2, "the scenario and the trace"


def _story(scheduler: Any) -> list[Any]:
    return [(0, entry[0]) for entry in scheduler.transition_log]


def test_shards_are_joined(command: Command, short: Path) -> None:
    arguments = ("sweep", short, "--grid", "ap[0].price.a=3 kB,9 kB", "--seeds", 3, "--out",
                 "s.parquet", "--json")  # fmt: skip
    for shard in ("1/2", "2/2"):
        done = command(*arguments, "--shard", shard)
        assert done.returncode == 0, done.stderr
        assert "3 of 6 runs" in done.stdout
    folder = short.parent
    first, second = sorted(folder.glob("s.parquet.journal.shard-*"))
    # Journals may also be put one behind the other, as batch systems do.
    first.write_bytes(first.read_bytes() + second.read_bytes())
    second.unlink()
    joined = json.loads(command(*arguments).stdout)
    assert not list(folder.glob("*.journal*"))
    fresh = json.loads(command(*arguments).stdout)
    assert joined == fresh
    # What is of another grid, or was never a journal, is not for this sweep to remove.
    other = [part.replace("3 kB,9 kB", "4 kB") for part in map(str, arguments)]
    assert command(*other, "--shard", "1/2").returncode == 0
    note = folder / "s.parquet.journal.shard-2-of-2"
    note.write_text("my notes\n")
    done = command(*arguments)
    assert done.returncode == 0
    assert done.stderr.count("kept: it holds what is not of this sweep") == 2
    assert note.read_text() == "my notes\n"
    assert (folder / "s.parquet.journal.shard-1-of-2").exists()
    assert_one_line(command("sweep", short, "--shard", "1/2"), "--shard 1/2: wanted --out")
    assert_one_line(command("sweep", short, "--shard", "3/2"), "3/2: wanted I/N")


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
    kept = [line for line in journal.read_bytes().splitlines() if line]
    assert 1 <= len(kept) < 40

    # A mark in the journal shows that what is in it is not run again, and that what is damaged
    # or was cut short is.
    from dataclasses import replace

    from lasthop.journal import _line, _record

    record = _record(kept[0])
    assert record is not None
    marked = replace(record, summary={**record.summary, "events": -1})
    key = kept[0].split(b" ")[0].decode()
    damaged = [line[:-8] + b"AAAAAAAA" for line in kept[1:]]
    journal.write_bytes(b"\n".join([_line(key, marked), *damaged, b"cut sho"]))
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not journal.exists()
    resumed = json.loads(done.stdout)
    assert resumed[0]["events"] == -1
    fresh = lasthop.sweep(short, set={"duration": "2000 s"}, seeds=40)
    written = lasthop.read(tmp_path / "s.parquet")
    assert isinstance(written, lasthop.Sweep)
    pd.testing.assert_frame_equal(
        written.runs.drop(columns="events"), fresh.runs.drop(columns="events"), check_exact=True
    )
    assert list(written.runs["events"])[1:] == list(fresh.runs["events"])[1:]


def test_sigterm_is_taken_as_ctrl_c(tmp_path: Path, short: Path) -> None:
    arguments = [
        sys.executable, "-m", "lasthop", "sweep", str(short), "--set", "duration=2000 s",
        "--seeds", "40", "--jobs", "1", "--out", "s.parquet",
    ]  # fmt: skip
    process = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    journal = tmp_path / "s.parquet.journal"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout, stderr) == (143, "", "lasthop: terminated\n")
    assert journal.stat().st_size > 0


def test_another_build_does_not_take_from_the_journal(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lasthop import request as requests
    from lasthop.scenario import load

    request = requests.Request(load(short), (), 1)
    before = request.key()
    monkeypatch.setattr(requests, "build", lambda: b"another")
    assert request.key() != before


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


def test_the_journal_of_complete_work_is_not_unpacked_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = journal.Journal(str(tmp_path / "runs.journal"))
    for number in range(20):
        kept.add(f"{number:064}", Record("", {"seed": number}))
    unpacked = []
    read = journal._record
    monkeypatch.setattr(journal, "_record", lambda line: (unpacked.append(line), read(line))[1])
    assert kept.remove() == [] and not (tmp_path / "runs.journal").exists()
    assert len(unpacked) == 1
