# SPDX-License-Identifier: MIT OR Apache-2.0
"""The documentation says what is so: references are fresh, snippets right, links lead somewhere."""

import argparse
import importlib.util
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import lasthop
import pytest
from conftest import Command
from lasthop.claims import Claim, check
from lasthop.cli import _parser
from lasthop.commands.emulation import split
from lasthop.paper import load_paper, stems

ROOT = Path(__file__).parent.parent
LISTED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
    cwd=ROOT, capture_output=True, text=True, check=False,
)  # fmt: skip
PAGES = [ROOT / name for name in LISTED.stdout.splitlines()] or [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/*.md"),
]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
BLOCK = re.compile(r"^(?:<!-- from (?P<source>\S+) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
                   re.MULTILINE | re.DOTALL)  # fmt: skip


def maker() -> ModuleType:
    sys.path[:] = list(dict.fromkeys([str(ROOT / "docs"), *sys.path]))
    specification = importlib.util.spec_from_file_location(
        "make_reference", ROOT / "docs" / "make_reference.py"
    )
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def blocks(page: Path, *languages: str) -> list[re.Match[str]]:
    return [b for b in BLOCK.finditer(page.read_text()) if b["language"] in languages]


def test_all_pages_are_looked_at() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/tutorial.md", "docs/scenario.md"} <= set(NAMES)


@pytest.mark.parametrize("name", maker().PAGES)
def test_a_reference_is_fresh(name: str) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == maker().PAGES[name](), "run docs/make_reference.py"


def test_the_reference_has_every_key() -> None:
    page = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")

    def keys(node: object) -> set[str]:
        if isinstance(node, dict):
            own = set(node.get("properties", {}))
            return own.union(*(keys(value) for value in node.values()))
        return set().union(*map(keys, node)) if isinstance(node, list) else set()

    found = keys(lasthop.schema()) - {"kind"}
    assert len(found) > 80
    assert not [key for key in found if f"| `{key}` |" not in page]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_scenario_snippets_are_right(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "scenarios")
    # The agent's own test reads the files of its page.
    for block in blocks(page, "toml") if page.stem != "agent" else []:
        lasthop.check(block["text"])


def test_there_are_snippets() -> None:
    assert sum(len(blocks(page, "toml")) for page in PAGES) >= 4


def commands(page: Path) -> list[tuple[str, bool]]:
    """Command lines of ``lasthop``, and whether they are whole (in a console) or in a sentence."""
    whole = [
        line.removeprefix("$ ").removesuffix(" &")
        for block in blocks(page, "console", "sh")
        for line in block["text"].splitlines()
        if line.startswith(("$ lasthop ", "lasthop "))
    ]
    prose = BLOCK.sub("", page.read_text())
    return [(line, True) for line in whole] + [
        (line, False) for line in re.findall(r"`(lasthop [a-z-][^`]*)`", prose)
    ]


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_command_lines_exist(page: Path) -> None:
    for line, whole in commands(page):
        words, _ = split(shlex.split(line)[1:])
        if whole:
            _parser().parse_args(words)
            continue
        parser = _parser()
        while words and subparsers(parser):
            assert words[0] in subparsers(parser), line
            parser = subparsers(parser)[words.pop(0)]
        known = {option for action in parser._actions for option in action.option_strings}
        assert {w.partition("=")[0] for w in words if w.startswith("-")} <= known, line


def test_there_are_command_lines() -> None:
    assert len(commands(ROOT / "docs" / "tutorial.md")) >= 15


def slugs(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = BLOCK.sub("", page.read_text())
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    prose = BLOCK.sub("", page.read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"https?://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor in slugs(file), target


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_quoted_code_is_the_code_in_the_tree(page: Path) -> None:
    for block in blocks(page, "rust", "toml", "python"):
        if block["source"]:
            source = (ROOT / block["source"]).read_text()
            # An example of the documentation stands there behind slashes.
            source += re.sub(r"^ *///? ?", "", source, flags=re.MULTILINE)
            for piece in re.split(r"^(?://|#) …\n", block["text"], flags=re.MULTILINE):
                assert piece.rstrip("\n") in source, f"{block['source']}:\n{piece}"


@pytest.mark.parametrize(("page", "least"), [
    ("add-a-law.md", 10), ("add-a-queue-discipline.md", 8), ("add-a-router-law.md", 6),
])  # fmt: skip
def test_a_walk_quotes_the_tree(page: str, least: int) -> None:
    quoted = [b["source"] for b in blocks(ROOT / "docs" / page, "rust", "toml")]
    assert len(quoted) >= least
    assert all(quoted)


def test_a_walk_prints_all_that_it_takes() -> None:
    """Who copies the page has the law's folder: all lines of it but those of tests."""
    texts = [
        block["text"]
        for block in blocks(ROOT / "docs" / "add-a-law.md", "rust", "text")
        if "law/binomial/" in (block["source"] or "")
    ]
    printed = set("".join(texts).splitlines())
    for path in sorted((ROOT / "crates/core/src/law/binomial").iterdir()):
        whole, _, _ = path.read_text().partition("#[cfg(test)]")
        assert set(filter(None, whole.splitlines())) <= printed, path


def test_the_walks_can_be_found() -> None:
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text()
        assert all(f"(docs/{walk.name})" in text for walk in ROOT.glob("docs/add-a-*.md"))


def test_python_snippets_compile() -> None:
    snippets = [block["text"] for page in PAGES for block in blocks(page, "python")]
    signatures = [text for text in snippets if re.search(r"\) -> .+$", text.rstrip())]
    for text in snippets:
        compile(f"def {text.rstrip()}: ..." if text in signatures else text, "snippet", "exec")
    assert len(snippets) > len(signatures) > 0


def test_the_example_of_the_lab_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = (
        block["text"]
        for block in blocks(ROOT / "docs" / "api.md", "python")
        if "from lasthop.lab import" in block["text"]
    )
    found: dict[str, Any] = {}
    exec(compile(example, "docs/api.md", "exec"), found)
    assert len(found["lab"].frame("queues")) == 2 * 2 * 3
    # CUBIC fills what Vegas leaves empty.
    assert "Estimate(value=" in capsys.readouterr().out
    assert (
        found["mean_interval"](
            found["measure"]({**found["at_40_kb"], "ratio": found["parts"]}, found["lab"])
        ).low
        > 1
    )


def test_what_is_kept_is_of_claims_that_there_are() -> None:
    kept = json.loads((ROOT / "docs" / "verdicts.json").read_text())
    claims = {claim.id: claim for stem in stems() for claim in load_paper(stem).claims}
    for entry in kept["claims"]:
        assert entry["id"] in claims, f"{entry['id']}: run make verdicts"
        fresh = check(claims[entry["id"]], [1.0, 1.0], entry["scale"]).as_json()
        assert entry["band"] == fresh["band"], f"{entry['id']}: run make verdicts"


def test_results_are_taken_over_by_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = maker().page_verdicts
    kept = tmp_path / "kept.json"
    entry = json.loads((ROOT / "docs" / "verdicts.json").read_text())["claims"][0]
    other = {**entry, "id": "qfcp:2-tcp-up"}
    gone = {**entry, "id": "qfcp:no-more"}
    kept.write_text(json.dumps({"claims": [entry, other, gone], "tables": {"clamp:1": []}}))
    monkeypatch.setattr(pages, "KEPT", kept)
    (tmp_path / "claims.json").write_text(json.dumps([{**entry, "verdict": "other"}]))
    (tmp_path / "tables.json").write_text(json.dumps({"senders:x": [["a"]], "clamp:2": [["b"]]}))
    pages.keep([str(tmp_path)])
    found = json.loads(kept.read_text())
    assert found["claims"] == [{**entry, "verdict": "other"}, other]
    assert found["tables"] == {"clamp:1": [], "senders:x": [["a"]]}


def test_a_verdict_in_words() -> None:
    entry = {
        "id": "clamp:2-x", "claim": "a | b", "band": [1.0, None], "value": 2.0, "ci": [1.5, 2.5],
        "deterministic": False, "seeds": 4, "scale": "full", "verdict": "holds", "why": "",
    }  # fmt: skip
    open_ = {**entry, "id": "clamp:2-y", "ci": [0.5, 3.5], "seeds": 32, "verdict": "open"}
    longer = {**open_, "id": "clamp:2-z", "why": "needs --scale full"}
    fails = {
        **entry, "id": "clamp:2-f", "value": 0.5, "ci": [None, None], "deterministic": True,
        "verdict": "fails", "why": "so it is",
    }  # fmt: skip
    text = maker().page_verdicts._verdicts("clamp", [entry, open_, longer, fails])
    assert "1 hold, 1 fail and 2 are open, 1 of them because they need longer runs" in text
    assert "(`lasthop fig clamp --scale full`, 4 to 32 seeds per claim)" in text
    assert "seeds: `clamp:2-y` 2.00 (0.5 to 3.50), wanted over 1.00." in text
    assert "| `clamp:2-f` | a \\| b | over 1.00 | 0.5, deterministic | so it is |" in text


def test_the_readme_shows_both_commands() -> None:
    text = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "bench"):
        assert f"make {target}" in text
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_results_are_documented(command: Command, short: Path) -> None:
    page = (ROOT / "docs" / "results.md").read_text()
    documented = set(re.findall(r"`(\w+)`", page))
    done = command("run", short, "--json")
    summary = json.loads(done.stdout)
    keys = {*summary, *summary["flows"][0], *summary["queues"][0], *summary["fairness"]}
    keys |= check(Claim("x:1", "x", "x", None, (0.0, 1.0)), [0.5], "quick").as_json().keys()
    result = lasthop.run(short, set={"probe.every": "1 s", "probe.packets": True})
    for columns in result.raw_tables.values():
        keys |= columns.keys()
    assert keys <= documented, keys - documented


def test_the_citation_names_the_version() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_no_key_is_told_twice_in_one_table() -> None:
    for table in (ROOT / "docs" / "scenario.md").read_text().split("\n\n"):
        keys = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
        assert len(keys) == len(set(keys)), keys
