# SPDX-License-Identifier: MIT OR Apache-2.0
"""Equations are cited as ``//= clamp#14``: each has its code and its test."""

import re
from pathlib import Path

import pytest
from lasthop.paper import load_paper, stems

CRATES = Path(__file__).parent.parent / "crates"
CITATION = re.compile(r"//= ([a-z-]+)#(\d+)(\.\d+)?")

CITED = [("clamp", n) for n in range(13, 20)] + [("gamma", n) for n in range(1, 18)]
CITED += [("qfcp", n) for n in range(1, 13)]
"""Equations with code; of clamp's fluid model only the equilibrium, 11, is tested."""


def citations() -> dict[tuple[str, int], list[Path]]:
    """Files by the equations that they cite; a number with a point is a section of the paper."""
    found: dict[tuple[str, int], list[Path]] = {}
    for path in sorted(CRATES.rglob("*.rs")):
        for stem, number, section in CITATION.findall(path.read_text()):
            if not section:
                found.setdefault((stem, int(number)), []).append(path)
    return found


def is_test(path: Path) -> bool:
    return "tests" in path.parts or path.name == "tests.rs"


@pytest.mark.parametrize(("stem", "equation"), CITED)
def test_each_equation_has_code_and_test(stem: str, equation: int) -> None:
    files = citations().get((stem, equation), [])
    assert any(not is_test(path) for path in files), "no code cites it"
    with_tests = [path for path in files if is_test(path) or "#[cfg(test)]" in path.read_text()]
    assert with_tests, "no test cites it"


def test_the_equilibrium_is_tested() -> None:
    assert any(is_test(path) for path in citations()["clamp", 11])


def test_citations_lead_somewhere() -> None:
    known = {
        (stem, int(equation["id"].partition("#")[2]))
        for stem in stems()
        for equation in load_paper(stem).document["equation"]
    }
    papers = {stem for stem, _ in known}
    assert {cited for cited in citations() if cited[0] in papers} <= known
