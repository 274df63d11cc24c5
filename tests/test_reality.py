# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison ``reality``: how it measures and draws; the kernel is played by the simulator."""

import json
import math
import subprocess
from pathlib import Path
from statistics import fmean
from typing import Any

import lasthop
import numpy as np
import pandas as pd
import pytest
from conftest import labelled
from lasthop import UserError
from lasthop.lab import Lab, Run, Sweep
from lasthop.paper import Paper, load_paper
from lasthop.papers.reality import figures, measures, runs
from lasthop.record import Record
from lasthop.request import Request, simulate
from lasthop.runs import Runner
from lasthop.scenario import of


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> tuple[Paper, Lab]:
    """A kernel that does in 4 s what the simulator does with another seed; it has no BBR."""
    paper = load_paper("reality")
    paper.document["setting"]["length"] = {"duration": "4 s", "warmup": "1 s"}
    lab = paper.lab("quick", [1, 2, 3], Runner())

    def attempt(lab: Lab, run: runs.Real) -> Record | None:
        if run == runs.Real("slow", "reno", 2):
            return None  # real time was not kept, twice
        sweep = lab.sweep(run.sweep)
        settings = sweep.overrides({"control": run.control}, lab.scale)
        return simulate(Request(of(sweep.scenario), settings, run.seed + 10, sweep.tables))

    monkeypatch.setattr(runs, "_attempt", attempt)
    monkeypatch.setattr(runs, "available", runs.both)
    return paper, lab


def test_each_claim_is_the_kernels_value_over_the_simulators(played: tuple[Paper, Lab]) -> None:
    paper, lab = played
    for claim in paper.claims:
        found = paper.measure(claim, lab)
        place, control, what = claim.id.partition(":")[2].rsplit("-", 2)
        # The run that was left out has no value. A handoff may take most of the three seconds that
        # are measured, or none may begin.
        assert len(found) == (2 if (place, control) == ("slow", "reno") else 3) or (
            (place, what) == ("law-handoff", "recovery")
        )
        if what == "jain" or what.startswith("share"):
            # On a constant link chance has no part in CLAMP's flows: each seed is the same.
            assert all(abs(value) < 1 for value in found) and (any(found) or place == "clamp-rtts")
        else:
            assert all(abs(value) < 100 for value in found)
            assert not found or 0.01 < fmean(found) < 100
        columns = {"goodput": "goodput_bps", "delay": "mean_delay_s", "jain": "jain"}
        columns["recovery"] = "recovery_s"
        assert claim.measure["column"] == columns.get(what, what.replace("share", "share_"))
    frame = lab.frame("matrix", place="lte", control="reno").pivot(
        index="seed", columns="world", values="goodput_bps"
    )
    (claim,) = (claim for claim in paper.claims if claim.id == "reality:lte-reno-goodput")
    # What is over all but the second, of three.
    others = frame.drop(index=2).sum()
    alone = 3 * frame["kernel"].sum() / frame["simulated"].sum()
    wanted = alone - 2 * others["kernel"] / others["simulated"]
    assert paper.measure(claim, lab)[1] == pytest.approx(wanted)


@pytest.mark.parametrize("figure", ["constant", "slow", "rate-steps"])
def test_a_place_is_drawn(figure: str, played: tuple[Paper, Lab]) -> None:
    paper, lab = played
    drawing = paper.drawing(figure, lab)
    head, *rows = drawing.table
    assert len(rows) == (2 if figure == "rate-steps" else 4)
    assert all(len(row) == len(head) for row in rows)
    assert (figure == "rate-steps") == ("to recover [s]" in head)
    assert (figure == "slow") == ("share 4" in head)
    from lasthop.plot import new_figure

    canvas = new_figure(*drawing.size)
    drawing.draw(canvas)
    for axes in canvas.axes:
        labelled(axes.get_ylabel())
    assert all(axes.patches for axes in canvas.axes)


def test_a_kernel_without_a_control_is_told(
    played: tuple[Paper, Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    paper, lab = played
    monkeypatch.setattr(runs, "available", lambda lab, place: ["reno"])
    with pytest.raises(UserError, match="reality-constant, cubic: not one run in the kernel"):
        paper.measure(paper.claims[0], lab)


def test_emulations_that_were_done_outlast_an_interruption(
    played: tuple[Paper, Lab], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paper, _ = played
    done: list[runs.Real] = []
    play = runs._attempt

    def interrupted(lab: Lab, run: runs.Real) -> Record | None:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(run)
        return play(lab, run)

    def matrix() -> list[runs.Real]:
        with Runner(journal=str(tmp_path / "journal")) as runner:
            runs.matrix(paper.lab("quick", [1, 2], runner), "constant")
        return done

    monkeypatch.setattr(runs, "AT_ONCE", 1)
    monkeypatch.setattr(runs, "cores", lambda: 1)
    monkeypatch.setattr(runs, "_attempt", interrupted)
    with pytest.raises(KeyboardInterrupt):
        matrix()
    first = done.copy()
    done.clear()
    monkeypatch.setattr(runs, "_attempt", lambda *given: done.append(given[1]) or play(*given))
    assert len(first) == 3 and not set(matrix()) & set(first)


def test_a_claim_of_one_place_emulates_no_other(
    played: tuple[Paper, Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    paper, lab = played
    done: list[runs.Real] = []
    play = runs._attempt
    monkeypatch.setattr(runs, "_attempt", lambda *given: done.append(given[1]) or play(*given))
    (claim,) = (claim for claim in paper.claims if claim.id == "reality:red-reno-delay")
    assert len(paper.measure(claim, lab)) == 3
    assert {run.sweep for run in done} == {"red"} and len(done) == 6
    with pytest.raises(UserError, match="place nowhere: no such part: wanted one of constant, "):
        lab.frame("matrix", place="nowhere")


def test_every_control_has_its_place_in_the_figures() -> None:
    sweeps = load_paper("reality").sweeps.values()
    places = [sweep for sweep in sweeps if isinstance(sweep, Sweep)]
    named = {c for place in places if "control" in place.axes for c in place.values("control")}
    assert named <= set(figures.NAMES)


def test_time_to_come_back_with_a_pencil() -> None:
    # The line's payload, of which nothing comes from 8 to 9 s, a tenth until 11 s, then all.
    step_s = 0.05
    time_s = np.round(np.arange(0, 20.01, step_s), 2)
    share = np.where((time_s > 8) & (time_s <= 9), 0.0, np.where(time_s > 11, 1.0, 0.1))
    rate = np.where(time_s <= 8, 1.0, share) * measures.LINE_BPS / 8
    so_far = pd.Series(np.cumsum(rate * step_s), index=time_s)
    # A window that ends x s after 11 has (x + (0.25 - x)/10)/0.25 of the line: .9 from 0.2222 on.
    back = pytest.approx(2.25)
    assert measures.recoveries(so_far, [(8, 9)], measures.LINE_BPS) == [back]
    # Half of the line's rate takes .45, from 0.0972 s on.
    assert measures.recoveries(so_far, [(8, 9)], measures.LINE_BPS / 2) == [pytest.approx(2.1)]
    # Who is not back by the next handoff counts until then; who is back at once needs a window.
    found = measures.recoveries(so_far, [(8, 9), (10, 10.5), (15, 16)], measures.LINE_BPS)
    assert found == [pytest.approx(1.0), pytest.approx(0.75), pytest.approx(0.25)]
    dead = pd.Series(np.minimum(so_far, so_far[8.0]), index=time_s)
    assert measures.recoveries(dead, [(8, 9)], measures.LINE_BPS) == [pytest.approx(11.0)]


def _run(counts: pd.Series, seed: int = 1) -> Run:
    """A run of one flow that has had so many bytes, with a warm-up of 5 s."""
    columns = {
        "time_ns": ("<u8", np.asarray(counts.index * 1e9).round().astype("<u8").tobytes()),
        "flow": ("<u4", np.zeros(len(counts), "<u4").tobytes()),
        "acknowledged_bytes": ("<u8", counts.to_numpy().round().astype("<u8").tobytes()),
    }
    record = Record("", {"warmup_s": 5.0}, {"flows": columns}, {"flows": ["flow"], "queues": []})
    return Run({}, seed, record)


def test_the_slowest_of_the_steps_counts() -> None:
    # 1000 B/ms before the steps; after them two fifths of it for 1, 2, 3 and 0 s.
    time_s = np.round(np.arange(0, 75.01, 0.05), 2)
    share = np.ones_like(time_s)
    for step_s, slow_s in zip(measures.STEPS_S, (1, 2, 3, 0), strict=True):
        share[(time_s > step_s) & (time_s <= step_s + slow_s)] = 0.4
    counts = pd.Series(np.cumsum(share * 50_000), index=time_s)
    # A window that ends x s later has (x + 0.4(0.25 - x))/0.25 of it: .9 from 0.2083 s on.
    assert measures.after_steps_s(_run(counts)) == pytest.approx(3.25)
    # A short run has the first two steps alone.
    assert measures.after_steps_s(_run(counts.loc[:40.0])) == pytest.approx(2.25)


def test_handoffs_are_heard_by_the_millisecond() -> None:
    paper = load_paper("reality")
    paper.document["setting"]["length"] = {"duration": "12 s", "warmup": "1 s"}
    at = {"kind": "handoff", "at": ["2 s", "2500 ms", "5 s", "8 s"], "length": "300 ms"}
    paper.document["sweep"]["handoffs"]["set"].append({"flow[0].sink.loss": at})
    lab = paper.lab("quick", [1, 2], Runner())
    for run in lab.runs("handoffs"):
        heard = measures.silences(measures.acknowledged(run.tables).sum(axis=1), measures.SILENT_S)
        assert np.array(heard) == pytest.approx(
            np.array([(2, 2.3), (2.5, 2.8), (5, 5.3), (8, 8.3)]), abs=0.01
        )


def test_handoffs_of_the_warm_up_and_short_ones_do_not_count() -> None:
    paper = load_paper("reality")
    paper.document["setting"]["length"] = {"duration": "20 s", "warmup": "5 s"}
    sounding = paper.document["sweep"]["handoffs"]["set"]
    lengths = {"kind": "handoff", "at": ["3 s", "8 s"], "length": "1 s"}
    sounding.append({"flow[0].sink.loss": lengths})
    lab = paper.lab("quick", [1], Runner())
    time_s = np.round(np.arange(0, 20.01, 0.05), 2)
    gives = np.where((time_s > 3) & (time_s <= 9.5), 0.0, measures.LINE_BPS / 8 * 0.05)
    run = _run(pd.Series(np.cumsum(gives), index=time_s))
    # Back 0.225 s after 9.5 s, which a sample at 9.75 s tells.
    assert measures.after_handoffs_s(lab, run) == pytest.approx(0.75, abs=0.02)
    sounding[-1]["flow[0].sink.loss"] = {**lengths, "length": "80 ms"}
    assert math.isnan(measures.after_handoffs_s(paper.lab("quick", [1], Runner()), run))


def test_an_emulation_whose_samples_are_wanted_is_noted_with_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    played = lasthop.run("reality-handoff", set={"duration": "6 s", "probe.every": "20 ms"})
    given: list[list[str]] = []

    def emulated(arguments: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        given.append(arguments)
        if "--out" in arguments:
            played.to_parquet(arguments[arguments.index("--out") + 1])
        return subprocess.CompletedProcess(arguments, 0, json.dumps(played.summary), "")

    monkeypatch.setattr(subprocess, "run", emulated)
    with Runner(journal=str(tmp_path / "journal")) as runner:
        lab = load_paper("reality").lab("quick", [1], runner)
        for place, tables in (("law-handoff", ["flows", "queues"]), ("law-ten", [])):
            run = runs.Real(place, "gamma", 1)
            record = runs._attempt(lab, run)
            assert record is not None and set(tables) <= set(record.tables)
            assert ("--out" in given[-1]) == bool(tables)
            # What was noted without samples will not do where they are wanted.
            bare = Record(record.scenario, record.summary)
            for noted in (bare, record):
                runs._note(lab, place, noted)
                found = runs._noted(lab, run, place)
                assert (found is None) == (bool(tables) and not noted.tables)
