# SPDX-License-Identifier: MIT OR Apache-2.0
"""Papers: every claim is measured, every figure drawn, and the report holds them all."""

import ast
import dataclasses
import json
import re
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import lasthop
import pandas as pd
import pytest
from conftest import Command, assert_drawn, assert_one_line
from lasthop.claims import check
from lasthop.figures import make
from lasthop.lab import Lab, Sweep
from lasthop.lab.measures import OPERATORS, POINT
from lasthop.paper import FOLDER, Paper, folder_of, load_paper, select, stems
from lasthop.plot import hidden_curves, lay_out, new_figure, svg_of
from lasthop.report import Picture, Section, render
from lasthop.runs import Runner
from lasthop.scenario import load


@pytest.mark.parametrize("stem", stems())
def test_a_claim_is_whole(stem: str) -> None:
    paper = load_paper(stem)
    assert len({claim.id for claim in paper.claims}) == len(paper.claims)
    known = {f"{stem}:{panel}" for panel in paper.figures}
    for claim in paper.claims:
        low, high = claim.band
        assert low < high
        whole = any(panel.rstrip("abcd") == claim.figure for panel in known)
        assert claim.figure in known or whole or claim.figure == "–", claim.id
        assert claim.kind in ("number", "order")
        if claim.expected == "fails":
            assert claim.why, f"{claim.id} does not hold and must say why"
        elif claim.reference is not None:
            assert low <= claim.reference <= high, claim.id


def test_equations_are_numbered_from_one_on() -> None:
    for stem in stems():
        numbers = [entry["id"] for entry in load_paper(stem).document.get("equation", [])]
        assert numbers == [f"{stem}#{n}" for n in range(1, len(numbers) + 1)]


def points(measure: Any, inherited: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All points of a measure, with the keys that hold for them."""
    if callable(measure):
        return
    operator = next((name for name in OPERATORS if name in measure), None)
    own = {k: v for k, v in measure.items() if k not in (*OPERATORS, "pick")}
    keys = {**inherited, **own}
    if operator is None:
        yield keys
    else:
        for part in measure[operator]:
            yield from points(part, keys)


@pytest.mark.parametrize("scale", ["quick", "full"])
@pytest.mark.parametrize("stem", stems())
def test_each_point_of_a_claim_is_in_its_sweep(stem: str, scale: str) -> None:
    paper = load_paper(stem)
    lab = paper.lab(scale, [1], Runner())
    seen = 0
    for claim in paper.claims:
        for keys in points(paper.measure_of(claim), {}):
            sweep = paper.sweeps[keys["sweep"]]
            if not isinstance(sweep, Sweep) or scale not in claim.scales:
                continue
            where = {name: value for name, value in keys.items() if name not in POINT}
            found = [p for p in sweep.points(scale) if lasthop.lab.matches(p, where)]
            assert found, (claim.id, where)
            assert "table" in keys or not sweep.columns or keys["column"] in sweep.columns
            assert "table" not in keys or sweep.tables
            seen += 1
    assert seen or lab.sweep("constant")


@pytest.mark.parametrize("stem", stems())
def test_each_point_of_a_sweep_is_a_right_scenario(stem: str) -> None:
    for sweep in load_paper(stem).sweeps.values():
        if isinstance(sweep, Sweep):
            for scale in ("quick", "full"):
                found = sweep.points(scale)
                for point in (found[0], found[len(found) // 2], found[-1]):
                    lasthop.check(sweep.scenario, set=sweep.overrides(point, scale))


@pytest.mark.parametrize("stem", stems())
def test_the_python_of_a_paper_is_what_its_data_name(stem: str) -> None:
    text = "".join(path.read_text() for path in folder_of(stem).glob("*.toml"))
    named = set(re.findall(r'python = "([^"]+)"', text))
    code = {path: path.read_text() for path in folder_of(stem).glob("*.py")}
    parts = [(path.stem, node) for path in code for node in ast.parse(code[path]).body]
    public = {
        f"{module}.{node.name}"
        for module, node in parts
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
    # What a paper shares with another it takes over by its name: `from … import name as name`.
    taken = {
        f"{module}.{alias.name}"
        for module, node in parts
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert named <= public | taken, named - public - taken
    assert taken <= named, taken - named
    for name in public - named:
        calls = sum(source.count(f"{name.rpartition('.')[2]}(") for source in code.values())
        assert calls > 1, f"{name} is used by nobody"


def test_no_helper_is_defined_twice() -> None:
    homes: dict[str, list[str]] = {}
    for path in [*FOLDER.glob("*/*.py"), *(FOLDER.parent / "lab").glob("*.py")]:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                told = 1 if ast.get_docstring(node) else 0
                code = ast.unparse(node.args) + ast.dump(ast.Module(node.body[told:], []))
                homes.setdefault(code, []).append(f"{path.parent.name}/{path.stem}.{node.name}")
    assert not [names for names in homes.values() if len(names) > 1]


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


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sweep": "none", "column": "x"}, "clamp:x: none: no such sweep"),
        ({"python": "measures.none"}, 'clamp:x: python = "measures.none": wanted a function'),
        ({"python": "none.knees"}, 'clamp:x: python = "none.knees": wanted a function'),
        (None, "claim clamp:x: no measure: wanted one"),
    ],
)
def test_a_wrong_claim_is_told_in_one_line(wrong: dict[str, str] | None, message: str) -> None:
    paper = load_paper("clamp")
    entry = {"id": "clamp:x", "figure": "clamp:2", "claim": "a thing", "band": [0, 1]}
    paper.document["claim"] = [entry if wrong is None else {**entry, "measure": wrong}]
    with pytest.raises(lasthop.UserError) as told:
        paper.measure(paper.claims[0], paper.lab("quick", [1], Runner()))
    assert str(told.value).startswith(message)
    assert "\n" not in str(told.value)


def test_what_fig_is_asked_for() -> None:
    ((paper, figures, claims),) = select(["clamp:4"])
    assert (paper.stem, figures) == ("clamp", ["4a", "4b", "4c", "4d"])
    assert {claim.figure for claim in claims} == {"clamp:4a", "clamp:4b", "clamp:4c", "clamp:4d"}
    ((_, figures, claims),) = select(["clamp:6a", "clamp:2"])
    assert figures == ["2", "6a"]
    assert {claim.figure for claim in claims} == {"clamp:2", "clamp:6a"}
    everything = select(["all"])
    assert [paper.stem for paper, _, _ in everything] == [s for s in stems() if s != "reality"]
    for paper, figures, claims in everything:
        assert figures == list(paper.figures)
        assert claims == paper.claims


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.pictures: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.open_tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "img":
            self.pictures.append(str(found["src"]))
        elif tag not in ("meta", "br", "link"):
            self.open_tags.append(tag)
        if tag == "a":
            self.links.append(str(found["href"]))
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
    assert [picture.partition(",")[0] for picture in page.pictures] == [
        "data:image/svg+xml;base64"
    ] * 3, "the figure, and the topology of each scenario behind it"
    assert set(verdicts) <= page.ids
    assert page.links and {link.removeprefix("#") for link in page.links} <= page.ids
    assert not (tmp_path / "runs.journal").exists()


def test_a_claim_of_the_text_alone_stands_under_a_dash() -> None:
    paper = load_paper("clamp")
    claims = [check(claim, [1.0], "quick") for claim in paper.claims if claim.figure == "–"]
    page = render([Section(paper, [], claims)], scale="quick", seeds=[1], most_seeds=1)
    assert claims and page.count('data-name="figure">–<') == len(claims)
    assert 'data-name="figure"><' not in page


def test_a_curve_under_another_is_named() -> None:
    figure = new_figure(4.0, 3.0)
    axes = figure.subplots()
    for name, height in (("under", 1.0), ("seen", 2.0), ("over", 1.0)):
        axes.plot([0.0, 1.0, 2.0], [height] * 3, label=name)
    axes.plot([0.5, 1.5], [1.0, 1.0], "--")
    lay_out(figure)
    assert hidden_curves(figure) == [("under", "over")]
    axes.lines[0].set(marker="o", markersize=7)
    assert hidden_curves(figure) == [], "it shows around the other's markers"
    axes.lines[0].set(marker="none", ydata=[1.0, 1.0, 1.2])
    assert hidden_curves(figure) == []


def test_a_figure_is_laid_out_once_for_all_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = new_figure(4.0, 3.0)
    axes = figure.subplots()
    axes.set(xlabel="time [s]", ylabel="goodput [Mbit/s]")
    draw, draws = type(axes).draw, []
    monkeypatch.setattr(type(axes), "draw", lambda *its: (draws.append(its), draw(*its)))
    lay_out(figure)
    place = axes.get_position().bounds
    assert place != new_figure(4.0, 3.0).subplots().get_position().bounds, "room for the labels"
    for _ in range(2):
        assert "<path" in svg_of(figure)
    assert axes.get_position().bounds == place
    assert len(draws) == 2, "once for each file, and not for the layout"


def brief(stem: str) -> Paper:
    """A paper whose runs are short and few: this is about drawing, not about what is measured."""
    paper = load_paper(stem)
    lengths = {
        "clamp": ("220 s", "5 s"),
        "clamp-mice": ("40 s", "5 s"),
        "clamp-report": ("40 s", "5 s"),
        "qfcp": ("12 s", "5 s"),
    }
    if stem in lengths:
        duration, warmup = lengths[stem]
        paper.document["setting"]["length"] = {"duration": duration, "warmup": warmup}
    for sweep in paper.document["sweep"].values():
        for axis in sweep.get("axes", {}).values():
            if isinstance(axis, dict) and "quick" in axis:
                axis["quick"] = axis["quick"][:2]
    return paper


@pytest.fixture(scope="module")
def labs() -> dict[str, tuple[Paper, Lab]]:
    return {stem: (brief(stem), brief(stem).lab("quick", [1], Runner())) for stem in stems()}


@pytest.mark.parametrize(
    ("stem", "figure"),
    [
        (s, f)
        for s in ("analysis", "clamp", "clamp-mice", "clamp-report", "gamma", "qfcp")
        for f in load_paper(s).figures
    ],
)
def test_every_figure_is_drawn_with_named_axes(
    stem: str, figure: str, labs: dict[str, tuple[Paper, Lab]]
) -> None:
    paper, lab = labs[stem]
    assert_drawn(paper.drawing(figure, lab))


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

    monkeypatch.setattr(Paper, "measure", lambda paper, claim, lab: [-1.0, -1.0])
    assert main(["fig", "clamp:2", "--seeds", "2", "--out", str(tmp_path)]) == 1


def test_seeds_are_added_while_a_claim_is_open(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    taken: dict[str, list[int]] = {}
    values = {
        # Inside its band with two seeds, outside with two, inside with four, on its edge for ever.
        "clamp:2-queue-1": lambda seed: 6000.0 + seed % 2,
        "clamp:2-queue-2": lambda seed: 7000.0 + seed % 2,
        "clamp:2-queue-3": lambda seed: 6955.0 + 90 * (seed % 2),
        "clamp:2-tcp-queue": lambda seed: 7499.0 + 2 * (seed % 2),
    }

    def measured(paper: Paper, claim: Any, lab: Lab) -> list[float]:
        taken.setdefault(claim.id, []).append(len(lab.seeds))
        return [values.get(claim.id, lambda seed: 1.0)(seed) for seed in lab.seeds]

    monkeypatch.setattr(Paper, "measure", measured)
    monkeypatch.setattr("lasthop.figures._draw", lambda *_: Picture("2", "", "<svg/>"))
    monkeypatch.setattr("lasthop.figures.render", lambda *_, **options: str(options))
    outcome = make(["clamp:2"], seeds=2, most_seeds=12, seed=5, out=tmp_path)
    found = {c.claim.id: (c.verdict, c.seeds, taken[c.claim.id]) for c in outcome.claims}
    assert found["clamp:2-queue-1"] == ("holds", 2, [2])
    assert found["clamp:2-queue-2"] == ("fails", 2, [2])
    # 7000 ± 12.7 · 45, ± 3.18 · 26, ± 2.36 · 17; the band is 6860 to 7140.
    assert found["clamp:2-queue-3"] == ("holds", 4, [2, 4])
    # Of 12 the mean would have to lie 2.2/√12 deviations off the edge. That has a chance of 22 %
    # with four, and of 2 % with eight, of which it lies √(1/8 - 1/12) off.
    assert found["clamp:2-tcp-queue"] == ("open", 8, [2, 4, 8])
    edge = next(c for c in outcome.claims if c.claim.id == "clamp:2-tcp-queue")
    assert "12 seeds would decide it with a chance of 2%" in edge.why
    taken.clear()
    make(["clamp:2"], seeds=2, out=tmp_path)
    assert set(map(tuple, taken.values())) == {(2,)}, "a quick look takes the seeds it is given"


def test_a_limit_below_the_least_is_refused(command: Command) -> None:
    done = command("fig", "clamp:2", "--seeds", 4, "--most-seeds", 3)
    assert_one_line(done, "--most-seeds 3: wanted at least as many as --seeds, 4")


@pytest.mark.parametrize("kind", ["sweep", "table"])
def test_more_seeds_run_only_what_is_new(kind: str) -> None:
    asked: list[int] = []

    def table(lab: Lab) -> pd.DataFrame:
        asked.extend(lab.seeds)
        return pd.DataFrame({"seed": list(lab.seeds), "x": [10 * seed for seed in lab.seeds]})

    sweep = Sweep(
        "deterministic-tcp",
        set={"duration": "1 s", "warmup": "0 s"},
        columns={"x": lambda run: 10 * run.seed},
    )
    few = Lab({"s": table if kind == "table" else sweep}, [1, 2])
    more = dataclasses.replace(few, seeds=[1, 2, 3])
    for lab, wanted in ((few, [10, 20]), (more, [10, 20, 30]), (few, [10, 20])):
        assert lasthop.lab.measure({"sweep": "s", "column": "x"}, lab) == wanted
    if kind == "table":
        assert asked == [1, 2, 3]
    else:
        assert [run.seed for run in more._runs.values()] == [1, 2, 3]
