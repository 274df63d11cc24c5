# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison ``reality``: how it measures and draws; the kernel is played by the simulator."""

from pathlib import Path

import lasthop
import pytest
from conftest import labelled
from lasthop import UserError
from lasthop.lab import Lab, Sweep
from lasthop.paper import Paper, load_paper
from lasthop.papers.reality import figures, runs
from lasthop.runs import Runner


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> tuple[Paper, Lab]:
    """A kernel that does in 4 s what the simulator does with another seed; it has no BBR."""
    paper = load_paper("reality")
    paper.document["setting"]["length"] = {"duration": "4 s", "warmup": "1 s"}
    lab = paper.lab("quick", [1, 2, 3], Runner())

    def attempt(lab: Lab, run: runs.Real, more: tuple[str, ...] = ()) -> object:
        if run == runs.Real("slow", "reno", 2):
            return None  # real time was not kept, twice
        sweep = lab.sweep(run.sweep)
        settings = sweep.overrides({"control": run.control}, lab.scale)
        return lasthop.run(sweep.scenario, set=settings, seed=run.seed + 10).summary

    monkeypatch.setattr(runs, "_attempt", attempt)
    monkeypatch.setattr(runs, "available", runs.both)
    return paper, lab


def test_each_claim_is_the_kernels_value_over_the_simulators(played: tuple[Paper, Lab]) -> None:
    paper, lab = played
    for claim in paper.claims:
        found = paper.measure(claim, lab)
        place, control, what = claim.id.partition(":")[2].rsplit("-", 2)
        # The run that was left out has no value.
        assert len(found) == (2 if (place, control) == ("slow", "reno") else 3)
        if what == "jain" or what.startswith("share"):
            # On a constant link chance has no part in CLAMP's flows: each seed is the same.
            assert all(abs(value) < 1 for value in found) and (any(found) or place == "clamp-rtts")
        else:
            # A handoff may take most of the three seconds that are measured.
            assert all(0.01 < value < 100 for value in found)
        columns = {"goodput": "goodput_bps", "delay": "mean_delay_s", "jain": "jain"}
        assert claim.measure["column"] == columns.get(what, what.replace("share", "share_"))
    frame = lab.frame("matrix", place="lte", control="reno", seed=2).set_index("world")
    (point,) = {"goodput_bps"}
    (claim,) = (claim for claim in paper.claims if claim.id == "reality:lte-reno-goodput")
    assert paper.measure(claim, lab)[1] == frame[point]["kernel"] / frame[point]["simulated"]


@pytest.mark.parametrize("figure", ["constant", "slow"])
def test_a_place_is_drawn(figure: str, played: tuple[Paper, Lab]) -> None:
    paper, lab = played
    drawing = paper.drawing(figure, lab)
    head, *rows = drawing.table
    assert len(rows) == 4
    assert all(len(row) == len(head) for row in rows)
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

    def interrupted(lab: Lab, run: runs.Real, more: tuple[str, ...] = ()) -> object:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(run)
        return play(lab, run, more)

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
    named = {control for place in places for control in place.values("control")}
    assert named <= set(figures.NAMES)
