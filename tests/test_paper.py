# SPDX-License-Identifier: MIT OR Apache-2.0
"""Papers: every claim is measured, every figure drawn, and the report holds them all."""

import json
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from conftest import Command, assert_drawn
from lasthop.figures import make
from lasthop.paper import load_paper, select, stems
from lasthop.papers import clamp, gamma, qfcp, reality, senders
from lasthop.scenario import load

MODULES = {
    "clamp": clamp,
    "gamma": gamma,
    "qfcp": qfcp,
    "reality": reality,
    "senders": senders,
}
EQUATIONS = {"clamp": 19, "gamma": 17, "qfcp": 12, "reality": 0, "senders": 0}


@pytest.mark.parametrize("stem", MODULES)
def test_each_claim_and_figure_has_its_code_and_the_other_way_round(stem: str) -> None:
    paper = load_paper(stem)
    assert {claim.id for claim in paper.claims} == set(MODULES[stem].MEASURES)
    assert list(paper.figures) == list(MODULES[stem].FIGURES)
    assert len({claim.id for claim in paper.claims}) == len(paper.claims)
    for claim in paper.claims:
        low, high = claim.band
        assert low < high
        if claim.expected == "fails":
            assert claim.why, f"{claim.id} does not hold and must say why"
        elif claim.reference is not None:
            assert low <= claim.reference <= high, claim.id


@pytest.mark.parametrize("stem", MODULES)
def test_every_equation_of_the_paper_is_there(stem: str) -> None:
    document = load_paper(stem).document
    wanted = [f"{stem}#{n}" for n in range(1, EQUATIONS[stem] + 1)]
    assert [e["id"] for e in document["equation"]] == wanted


def test_the_scenarios_have_the_parameters_of_the_paper() -> None:
    parameters = load_paper("clamp").document["parameters"]
    for fading in ("slow", "fast"):
        document = tomllib.loads(load(f"four-flows-{fading}-clamp").text)
        radio = document["ap"][0]["radio"]
        assert radio["doppler"] == parameters["doppler"][fading]
        assert radio["attempts"] == parameters["attempts"][fading]
        assert radio["bandwidth"] == parameters["bandwidth"]["high"]
        assert radio["max_rate"] == parameters["max_rate"]["high"]
        assert [flow["rtt"] for flow in document["flow"]] == parameters["propagation"]
        assert all(flow["receiver"]["tau"] == parameters["tau"] for flow in document["flow"])


def test_what_fig_is_asked_for() -> None:
    assert stems() == list(MODULES)
    ((paper, figures, claims),) = select(["clamp:4"])
    assert (paper.stem, figures) == ("clamp", ["4a", "4b", "4c", "4d"])
    assert {claim.figure for claim in claims} == {"clamp:4a", "clamp:4b", "clamp:4c", "clamp:4d"}
    ((_, figures, claims),) = select(["clamp:6a", "clamp:2"])
    assert figures == ["2", "6a"]
    assert {claim.figure for claim in claims} == {"clamp:2", "clamp:6a"}
    for (paper, figures, claims), count in zip(select(["all"]), (16, 22, 13, 3), strict=True):
        assert len(figures) == count
        assert len(claims) == len(MODULES[paper.stem].MEASURES)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.pictures: list[str] = []
        self.ids: set[str] = set()
        self.open_tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "img":
            self.pictures.append(str(found["src"]))
        elif tag not in ("meta", "br", "link"):
            self.open_tags.append(tag)
        if found.get("id"):
            self.ids.add(str(found["id"]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open_tags.pop() == tag


def test_figure_2_and_its_claims(tmp_path: Path) -> None:
    outcome = make(["clamp:2"], scale="quick", seeds=2, out=tmp_path)
    verdicts = {checked.claim.id: checked.verdict for checked in outcome.claims}
    assert set(verdicts.values()) == {"holds"}, {
        c.claim.id: (c.verdict, c.estimate) for c in outcome.claims
    }
    assert (tmp_path / "clamp-2.png").stat().st_size > 20_000
    data = pd.read_parquet(tmp_path / "clamp-2.parquet")
    assert {"time_s", "tcp_cwnd_bytes", "clamp_awnd_bytes"} <= set(data)
    entries = json.loads((tmp_path / "claims.json").read_text())
    assert [entry["id"] for entry in entries] == list(verdicts)
    page = _Page()
    page.feed((tmp_path / "report.html").read_text())
    assert page.open_tags == []
    assert len(page.pictures) == 1
    assert page.pictures[0].startswith("data:image/png;base64,")
    assert set(verdicts) <= page.ids
    assert not (tmp_path / "runs.journal").exists()


@pytest.mark.parametrize("figure", list(clamp.FIGURES))
def test_every_figure_is_drawn_with_named_axes(
    figure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lasthop.paper import Lab
    from lasthop.papers import clamp_runs
    from lasthop.runs import Runner

    # Short runs: this is about drawing, not about what is measured.
    monkeypatch.setitem(clamp_runs.LENGTH, "quick", ("220 s", "5 s"))
    for name, family in clamp_runs.FAMILIES.items():
        monkeypatch.setitem(
            clamp_runs.FAMILIES, name, clamp_runs.Family(
                family.scenario, family.key, family.values, family.quick[:2], family.overrides
            )
        )  # fmt: skip
    assert_drawn(clamp.FIGURES[figure](Lab("quick", [1], Runner())))


def test_the_command(command: Command) -> None:
    done = command("fig", "clamp:2", "--seeds", 2, "--out", "o", "--json")
    assert done.returncode == 0, done.stderr
    entries = json.loads(done.stdout)
    assert {entry["verdict"] for entry in entries} == {"holds"}
    text = command("fig", "clamp:2", "--seeds", 1, "--out", "o")
    assert text.returncode == 0
    assert "open" in text.stdout and "report: o/report.html" in text.stdout


def test_a_surprise_fails(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from lasthop.cli import main

    monkeypatch.setitem(clamp.MEASURES, "clamp:2-tcp-queue", lambda lab: [1.0, 1.0])
    assert main(["fig", "clamp:2", "--seeds", "2", "--out", str(tmp_path)]) == 1
