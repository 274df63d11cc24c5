# SPDX-License-Identifier: MIT OR Apache-2.0
"""Equations are cited where they are computed and where that is tested.

``//= clamp#16  d̂ = (1 − β)d̂ + β · AWND/μ̂`` in a function's body, or just above it, says that it
computes what the paper's file has under that number, in the same words. A test cites the number
alone. Of a law that no paper here is about, ``source.toml`` beside it has the words.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from lasthop.paper import load_paper, stems

CRATES = Path(__file__).parent.parent / "crates"
CITATION = re.compile(r"^\s*//= ([a-z-]+#[\w.]+)(?: +(\S.*))?$")
FUNCTION = re.compile(r"^( *)(?:pub(?:\([a-z]+\))? )?(?:const )?fn \w+")
BESIDE = re.compile(r"^\s*(//|#\[)")


@dataclass(frozen=True)
class Citation:
    """An equation's number at a place in the code."""

    equation: str
    text: str | None
    path: Path
    line: int
    in_tests: bool
    """Whether the place is compiled for tests alone."""
    function: int | None
    """The line of the function that it stands in or above."""

    def __str__(self) -> str:
        return f"{self.path.relative_to(CRATES.parent)}:{self.line + 1}: {self.equation}"


def block_end(lines: list[str], start: int, indent: str) -> int:
    """The last line of a block of rustfmt's, whose first line is ``start``."""
    head = next((i for i in range(start, len(lines)) if lines[i].endswith(("{", "}", ";"))), start)
    if not lines[head].endswith("{"):
        return head
    return next(i for i in range(head + 1, len(lines)) if lines[i].startswith(indent + "}"))


def spans(lines: list[str], start: re.Pattern[str]) -> Iterator[range]:
    for i, line in enumerate(lines):
        if match := start.match(line):
            yield range(i, block_end(lines, i, match[1]) + 1)


def citations_of(path: Path, text: str) -> list[Citation]:
    lines = text.splitlines()
    functions = list(spans(lines, FUNCTION))
    modules = [
        range(i, block_end(lines, i + 1, "") + 1)
        for i, line in enumerate(lines)
        if line == "#[cfg(test)]"
    ]
    of_tests = "tests" in path.parts or path.name == "tests.rs"
    found = []
    for i, line in enumerate(lines):
        if not (match := CITATION.match(line)):
            continue
        inside = [span.start for span in functions if i in span]
        below = next((j for j in range(i, len(lines)) if not BESIDE.match(lines[j])), i)
        above = [below] if below < len(lines) and FUNCTION.match(lines[below]) else []
        place = max(inside) if inside else min(above, default=None)
        in_tests = of_tests or any(i in module for module in modules)
        found.append(Citation(match[1], match[2], path, i, in_tests, place))
    return found


@cache
def citations() -> list[Citation]:
    paths = sorted(CRATES.rglob("*.rs"))
    return [cited for path in paths for cited in citations_of(path, path.read_text())]


def sources() -> list[Path]:
    return sorted(CRATES.glob("core/src/law/*/source.toml"))


@cache
def equations() -> dict[str, dict[str, str]]:
    """The equations and passages of all papers and laws by their number."""
    documents = [load_paper(stem).document for stem in stems()]
    documents += [tomllib.loads(path.read_text()) for path in sources()]
    return {
        entry["id"]: entry
        for document in documents
        for entry in [*document.get("equation", []), *document.get("passage", [])]
    }


def test_each_law_has_a_source_and_words_of_its_own() -> None:
    paths = sources()
    assert {"codel", "red", "tfrc"} <= {path.parent.name for path in paths}
    for path in paths:
        document = tomllib.loads(path.read_text())
        assert re.search(r"RFC \d+|(19|20)\d\d", document["source"]), path
        for entry in document["equation"]:
            assert entry["id"].startswith(f"{path.parent.name}#"), entry
            assert entry.keys() <= {"id", "text", "from", "here"}, entry
            assert re.search(r"ns-2|(19|20)\d\d", entry.get("from", "ns-2")), entry


@pytest.mark.parametrize("equation", equations())
def test_each_equation_has_code_and_test(equation: str) -> None:
    places = [cited.in_tests for cited in citations() if cited.equation == equation]
    if why := equations()[equation].get("uncited"):
        assert len(why) > 10
        assert not places, "it is cited, whatever the paper's file says"
        return
    assert False in places, "no code cites it"
    assert True in places, "no test cites it"


def test_citations_lead_to_the_papers_own_words() -> None:
    for cited in citations():
        assert cited.equation in equations(), cited
        assert cited.text is not None or cited.in_tests, f"{cited}: its text is missing"
        if cited.text is not None:
            assert cited.text == equations()[cited.equation]["text"], cited


def test_citations_stand_in_a_function_or_just_above_it() -> None:
    assert not [str(cited) for cited in citations() if cited.function is None]


def test_citations_of_tests_stand_in_tests() -> None:
    for cited in citations():
        if cited.in_tests and cited.function is not None:
            before = cited.path.read_text().splitlines()[: cited.function]
            marks = []
            while before and BESIDE.match(before[-1]):
                marks.append(before.pop().strip())
            assert "#[test]" in marks, cited


def test_a_misplaced_citation_is_found() -> None:
    text = """\
//= clamp#1  a = b
struct Nothing;

//= clamp#2
fn above() {
    //= clamp#3  c = d
    inner(
        1,
    );
}

#[cfg(test)]
mod tests {
    //= clamp#4
    #[test]
    fn it() {}
}
"""
    found = citations_of(Path("law.rs"), text)
    places = [(c.equation, c.text, c.in_tests, c.function) for c in found]
    assert places == [
        ("clamp#1", "a = b", False, None),
        ("clamp#2", None, False, 4),
        ("clamp#3", "c = d", False, 4),
        ("clamp#4", None, True, 15),
    ]
