# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison ``senders``: its places, how it measures, and that every figure is drawn."""

import re
import tomllib
from pathlib import Path

import lasthop
import numpy as np
import pandas as pd
import pytest
from conftest import Command, labelled
from lasthop.figures import make
from lasthop.lab import Lab
from lasthop.paper import Paper, load_paper
from lasthop.papers.senders import figures, measures
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
    assert handoff["length"] == f"{measures.HANDOFF_S:g} s"
    assert handoff["spacing"] == f"{measures.SPACING_S:g} s"
    assert handoff["before"] == f"{measures.BEFORE_S:g} s"
    assert handoff["share"] == measures.SHARE
    sweeps = load_paper("senders").sweeps
    for place in ("driving", "walking"):
        # The mean rate of the trace for 50 ms: some 40 kB at 6.6 Mbit/s, 24 kB at 3.9 Mbit/s.
        settings = dict(sweeps[place].overrides({"sender": "reno", "queue": "clamp"}, "full"))
        price = tomllib.loads(f"price = {settings['ap[0].price']}")["price"]
        trace = Path(shipped_folder()) / settings["ap[0].radio.file"]
        stamps = trace.read_text().split()
        a_bytes = len(stamps) * 1500 / int(stamps[-1]) * 50
        assert float(price["a"].removesuffix(" B")) == pytest.approx(a_bytes, rel=1e-3)


def test_the_shipped_walk_is_what_its_maker_makes() -> None:
    shipped = Path(shipped_folder()) / "traces" / "lte-walking.down"
    stamps = lte_like(seconds=60, seed=1, mean_bps=3e6, manner="walking")
    assert shipped.read_text() == "".join(f"{stamp}\n" for stamp in stamps)
    # Of another character than driving: outages of more than a second.
    gaps = [np.diff(lte_like(seconds=60, seed=1, manner=m)).max() for m in ("walking", "driving")]
    assert gaps[0] > 1000 > gaps[1]


def test_tfrc_under_the_price_is_refused() -> None:
    for name, sweep in load_paper("senders").sweeps.items():
        if name == "matrix":
            continue
        for queue in ("clamp", "share"):
            refused = {"sender": "tfrc", "queue": queue}
            with pytest.raises(lasthop.ScenarioError, match="no window"):
                lasthop.run(sweep.scenario, set=sweep.overrides(refused, "quick"))
            assert refused not in sweep.points("full")
        told = [point["queue"] for point in sweep.points("full") if point["sender"] == "abc"]
        assert told == ["drop-tail"]
        assert len(sweep.points("full")) == len(figures.SENDERS) * len(figures.QUEUES) - 2 - 4


def test_time_to_recover_with_a_pencil() -> None:
    # 1000 B/s, none while the handoff lasts from 40 to 41 s and until 43 s, then 1000 B/s again.
    # The window that ends at 43.9 s is the first with 900 B: 2.9 s after the handoff.
    time_s = np.round(np.arange(0, 70.05, 0.1), 1)
    rate = np.where((time_s > 40) & (time_s <= 43), 0.0, 1000.0)
    so_far = pd.Series(np.cumsum(rate * 0.1), index=time_s)
    assert measures.recoveries(so_far, [40.0]) == [pytest.approx(2.9)]
    # Who is back at once needs the one second that is looked at.
    assert measures.recoveries(so_far, [50.0]) == [pytest.approx(1.0)]
    # Who never comes back counts with the time until the next handoff, or the end.
    dead = pd.Series(np.minimum(so_far, 40_000), index=time_s)
    assert measures.recoveries(dead, [40.0]) == [pytest.approx(29.0)]


@pytest.fixture(scope="module")
def short() -> tuple[Paper, Lab]:
    """Short runs: this is about drawing, not about what is measured."""
    paper = load_paper("senders")
    for length in ("fading-length", "lte-length"):
        paper.document["setting"][length] = {"duration": "14 s", "warmup": "4 s"}
    once = paper.document["sweep"]["handoffs"]["set"]["quick"]
    once["duration"], once["ap[0].loss"]["at"] = "70 s", ["40 s"]
    return paper, paper.lab("quick", [1, 2], Runner())


@pytest.mark.parametrize("figure", list(load_paper("senders").figures))
def test_every_figure_is_drawn_with_named_axes(
    figure: str, short: tuple[Paper, Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LASTHOP_TRACES", raising=False)
    paper, lab = short
    drawing = paper.drawing(figure, lab)
    assert set(drawing.data["sender"]) == set(figures.SENDERS)
    canvas = new_figure(*drawing.size)
    with styled():
        drawing.draw(canvas)
    assert all(axes.lines for axes in canvas.axes)
    labelled(canvas.axes[0].get_ylabel())
    assert ("SKIPPED" in canvas.get_suptitle()) == (figure == "overview")
    (legend,) = canvas.legends
    names = {text.get_text() for text in legend.get_texts()}
    assert set(figures.QUEUES.values()) <= names
    head, *rows = drawing.table
    assert len(rows) == len(figures.SENDERS) * len(figures.QUEUES)
    assert all(len(row) == len(head) for row in rows)
    refused = [row[:2] for row in rows if row[2] == "–"]
    marked = [["ABC, told by its router", queue] for queue in list(figures.QUEUES.values())[1:]]
    assert refused == [["TFRC", "CLAMP's price"], ["TFRC", "share window"], *marked]


def test_a_recording_is_a_place(
    short: tuple[Paper, Lab], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lab = short
    source = Path(shipped_folder()) / "traces" / "lte-walking.down"
    (tmp_path / "mine.down").write_bytes(source.read_bytes())
    monkeypatch.setenv("LASTHOP_TRACES", str(tmp_path))
    ((name, place),) = measures.recorded(lab).items()
    assert name == "mine"
    point = {"sender": "reno", "queue": "clamp"}
    mine = lasthop.check(place.scenario, set=place.overrides(point, "quick"))
    walk = lab.sweep("walking")
    ours = lasthop.check(walk.scenario, set=walk.overrides(point, "quick"))
    assert str(tmp_path / "mine.down") in mine
    assert mine.replace(str(tmp_path / "mine.down"), "traces/lte-walking.down") == ours


def test_the_report_has_the_numbers(tmp_path: Path) -> None:
    outcome = make(["senders:recovery"], seeds=2, out=tmp_path)
    assert [checked.claim.id for checked in outcome.claims] == ["senders:tfrc-recovery"]
    page = (tmp_path / "report.html").read_text()
    assert "The numbers of Fig. recovery" in page
    assert len(re.findall(r"<td class=\"n\">Westwood\+</td>", page)) == 5
    assert len(pd.read_parquet(tmp_path / "senders-recovery.parquet")) == 39 * 2


def test_a_trace_of_a_walk(command: Command) -> None:
    made = command("trace", "make", "--manner", "walking", "--duration", "5 s", "--out", "w.down")
    assert made.returncode == 0
    assert ": valid" in command("trace", "check", "w.down").stdout
