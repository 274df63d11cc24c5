# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison ``senders``: its places, how it measures, and that every figure is drawn."""

import re
import tomllib
from pathlib import Path

import lasthop
import numpy as np
import pandas as pd
import pytest
from conftest import Command
from lasthop.figures import make
from lasthop.paper import Lab, load_paper
from lasthop.papers import senders, senders_figures, senders_runs
from lasthop.plot import new_figure, styled
from lasthop.runs import Runner
from lasthop.scenario import load, shipped_folder
from lasthop.trace import lte_like


def test_the_claims_are_orders_that_were_measured() -> None:
    for claim in load_paper("senders").claims:
        assert claim.kind == "order"
        assert claim.reference is not None or claim.why


def test_the_places_have_the_parameters_that_are_named() -> None:
    parameters = load_paper("senders").document["parameters"]
    for name, buffer in (("fading", "fading_buffer"), ("lte", "lte_buffer")):
        document = tomllib.loads(load(f"senders-{name}").text)
        assert [flow["rtt"] for flow in document["flow"]] == parameters["propagation"]
        assert document["ap"][0]["queue"]["limit"] == parameters[buffer]
    handoff = parameters["handoff"]
    assert handoff["length"] == f"{senders_runs.HANDOFF_S:g} s"
    assert handoff["spacing"] == f"{senders_runs.SPACING_S:g} s"
    assert handoff["before"] == f"{senders_runs.BEFORE_S:g} s"
    assert handoff["share"] == senders_runs.SHARE
    for place in senders_runs.places()[1:]:
        # The mean rate of the trace for 50 ms: some 40 kB at 6.6 Mbit/s, 24 kB at 3.9 Mbit/s.
        stamps = Path(place.overrides[0][1]).read_text().split()
        assert place.a_bytes == pytest.approx(len(stamps) * 1500 / int(stamps[-1]) * 50, rel=1e-3)


def test_the_shipped_walk_is_what_its_maker_makes() -> None:
    shipped = Path(shipped_folder()) / "traces" / "lte-walking.down"
    stamps = lte_like(seconds=60, seed=1, mean_bps=3e6, manner="walking")
    assert shipped.read_text() == "".join(f"{stamp}\n" for stamp in stamps)
    # Of another character than driving: outages of more than a second.
    gaps = [np.diff(lte_like(seconds=60, seed=1, manner=m)).max() for m in ("walking", "driving")]
    assert gaps[0] > 1000 > gaps[1]


def test_tfrc_under_the_price_is_refused() -> None:
    place = senders_runs.FADING
    with pytest.raises(lasthop.ScenarioError, match="no window"):
        lasthop.run(place.scenario, set=place.point("tfrc", "clamp", ("10 s", "1 s")))
    assert ("tfrc", "clamp") not in senders_runs.PAIRS
    assert len(senders_runs.PAIRS) == 8 * 4 - 1


def test_time_to_recover_with_a_pencil() -> None:
    # 1000 B/s, none while the handoff lasts from 40 to 41 s and until 43 s, then 1000 B/s again.
    # The window that ends at 43.9 s is the first with 900 B: 2.9 s after the handoff.
    time_s = np.round(np.arange(0, 70.05, 0.1), 1)
    rate = np.where((time_s > 40) & (time_s <= 43), 0.0, 1000.0)
    so_far = pd.Series(np.cumsum(rate * 0.1), index=time_s)
    assert senders_runs.recoveries(so_far, [40.0]) == [pytest.approx(2.9)]
    # Who is back at once needs the one second that is looked at.
    assert senders_runs.recoveries(so_far, [50.0]) == [pytest.approx(1.0)]
    # Who never comes back counts with the time until the next handoff, or the end.
    dead = pd.Series(np.minimum(so_far, 40_000), index=time_s)
    assert senders_runs.recoveries(dead, [40.0]) == [pytest.approx(29.0)]


def test_extremes_with_a_pencil(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {("reno", "clamp"): [1.0, 4.0], ("reno", "red"): [2.0, 2.0],
              ("cubic", "clamp"): [3.0, 1.0], ("cubic", "red"): [1.0, 1.0]}  # fmt: skip
    monkeypatch.setattr(senders, "at", lambda lab, place, s, q, column: values[s, q])
    lab = Lab("quick", [1, 2], Runner())
    # Ratios .5 and 3 with the first seed, 2 and 1 with the second.
    for pick, expected in ((min, [0.5, 1.0]), (max, [3.0, 2.0])):
        assert senders.extreme(pick, "x", "c", ("reno", "cubic"), "clamp", "red", lab) == expected


@pytest.fixture(scope="module")
def short_lab() -> Lab:
    """Short runs: this is about drawing, not about what is measured."""
    import dataclasses

    patch = pytest.MonkeyPatch()
    patch.delenv("LASTHOP_TRACES", raising=False)
    short = [dataclasses.replace(p, quick=("14 s", "4 s")) for p in senders_runs.places()]
    patch.setattr(senders_runs, "places", lambda: short)
    patch.setitem(senders_runs.HANDOFFS, "quick", 1)
    yield Lab("quick", [1, 2], Runner())
    patch.undo()


@pytest.mark.parametrize("figure", list(senders.FIGURES))
def test_every_figure_is_drawn_with_named_axes(figure: str, short_lab: Lab) -> None:
    drawing = senders.FIGURES[figure](short_lab)
    assert set(drawing.data["sender"]) == set(senders_runs.SENDERS)
    canvas = new_figure(*drawing.size)
    with styled():
        drawing.draw(canvas)
    assert all(axes.lines for axes in canvas.axes)
    assert "[" in canvas.axes[0].get_ylabel(), "the axis names its unit"
    (legend,) = canvas.legends
    names = {text.get_text() for text in legend.get_texts()}
    assert set(senders_figures.QUEUE_NAMES.values()) <= names
    head, *rows = drawing.table
    assert len(rows) == 8 * 4
    assert all(len(row) == len(head) for row in rows)
    refused = [row[:2] for row in rows if row[2] == "–"]
    assert refused == [["TFRC", "CLAMP's price"]]


def test_missing_recordings_are_told(
    short_lab: Lab, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    canvas = new_figure(8, 4)
    senders_figures.overview(short_lab).draw(canvas)
    assert "SKIPPED" in canvas.get_suptitle()
    source = Path(shipped_folder()) / "traces" / "lte-driving.down"
    (tmp_path / "mine.down").write_bytes(source.read_bytes())
    monkeypatch.setenv("LASTHOP_TRACES", str(tmp_path))
    (place,) = senders_runs.recorded()
    assert (place.name, place.overrides[0][1]) == ("mine", str(tmp_path / "mine.down"))
    assert place.a_bytes == pytest.approx(senders_runs.places()[1].a_bytes)


def test_the_report_has_the_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(senders_runs.HANDOFFS, "quick", 1)
    outcome = make(["senders:recovery"], seeds=2, out=tmp_path)
    assert [checked.claim.id for checked in outcome.claims] == ["senders:tfrc-recovery"]
    page = (tmp_path / "report.html").read_text()
    assert "The numbers of Fig. recovery" in page
    assert len(re.findall(r"<td class=\"n\">Westwood\+</td>", page)) == 4
    assert len(pd.read_parquet(tmp_path / "senders-recovery.parquet")) == 31 * 2


def test_a_trace_of_a_walk(command: Command) -> None:
    made = command("trace", "make", "--manner", "walking", "--seconds", 5, "--out", "w.down")
    assert made.returncode == 0
    assert ": right" in command("trace", "check", "w.down").stdout
