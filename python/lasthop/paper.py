# SPDX-License-Identifier: MIT OR Apache-2.0
"""Papers: what each claims (``papers/<stem>.toml``) and how it is redrawn (``papers/<stem>.py``).

A paper's module offers two tables::

    FIGURES:  dict[str, Callable[[Lab], Drawing]]      # by figure, "4c"
    MEASURES: dict[str, Callable[[Lab], list[float]]]  # by claim, one value a seed

and takes all its runs from the :class:`Lab`, which carries each out only once. To add a
paper, add the two files; every command finds it by its stem.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .claims import Claim
from .errors import UserError
from .runs import Record, Request, Runner
from .scenario import Overrides, load

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """A figure: its data, and how they are drawn on an empty Matplotlib figure."""

    data: pd.DataFrame
    draw: Callable[[Figure], None]
    size: tuple[float, float] = (5.2, 3.6)
    """Width and height in inches."""
    table: Sequence[Sequence[str]] = ()
    """The figure's numbers for the report: a row of headings, then the rows; none by default."""


@dataclass
class Lab:
    """Where a paper's runs are carried out: with which seeds, at which scale, by whom."""

    scale: str
    seeds: Sequence[int]
    runner: Runner = field(repr=False)
    memory: dict[Any, Any] = field(default_factory=dict, repr=False)
    """For what a paper's module derives from runs and wants to use again."""

    def run(
        self, scenario: str, points: Sequence[Overrides], *, tables: bool = False, label: str = ""
    ) -> list[list[Record]]:
        """Runs a shipped scenario at each point with every seed: records by point, then seed."""
        source = load(scenario)
        requests = [Request(source, point, seed, tables) for point in points for seed in self.seeds]
        records = self.runner.run(requests, label=label or scenario)
        width = len(self.seeds)
        return [records[i : i + width] for i in range(0, len(records), width)]


@dataclass(frozen=True)
class Paper:
    """A paper by its stem."""

    stem: str
    document: dict[str, Any] = field(repr=False)

    @property
    def title(self) -> str:
        """Title, authors, place and year in one line; a comparison of our own has a title alone."""
        about = self.document["paper"]
        if "authors" not in about:
            return str(about["title"])
        return f"{about['authors']}: {about['title']}, {about['venue']} {about['year']}"

    @cached_property
    def figures(self) -> dict[str, dict[str, Any]]:
        """The figures by their number, in the paper's order."""
        return {figure["id"]: figure for figure in self.document["figure"]}

    @cached_property
    def claims(self) -> list[Claim]:
        """What is claimed."""
        return [_claim(entry) for entry in self.document["claim"]]

    @property
    def deviations(self) -> list[dict[str, Any]]:
        """Where the paper is ambiguous: the reading taken and what others give."""
        return list(self.document.get("deviation", []))

    def drawing(self, figure: str, lab: Lab) -> Drawing:
        """Redraws a figure."""
        found: Drawing = self._module.FIGURES[figure](lab)
        return found

    def measure(self, claim: Claim, lab: Lab) -> list[float]:
        """Measures a claim, one value a seed."""
        found: list[float] = self._module.MEASURES[claim.id](lab)
        return found

    @cached_property
    def _module(self) -> Any:
        return import_module(f".papers.{self.stem.replace('-', '_')}", __package__)


def _claim(entry: dict[str, Any]) -> Claim:
    low, high = entry["band"]
    return Claim(
        id=entry["id"],
        figure=entry["figure"],
        claim=entry["claim"],
        reference=entry.get("reference"),
        band=(float(low), float(high)),
        kind=entry.get("kind", "number"),
        unit=entry.get("unit", ""),
        expected=entry.get("expected", "holds"),
        why=entry.get("why", ""),
        scales=tuple(entry.get("scales", ("quick", "full"))),
    )


def stems() -> list[str]:
    """The papers that there are."""
    return sorted(name[:-5] for name in os.listdir(_folder()) if name.endswith(".toml"))


def _papers() -> list[str]:
    """Those that ``all`` stands for: what takes real time, and rights, is asked for by name."""
    return [stem for stem in stems() if not load_paper(stem).document["paper"].get("real_time")]


def load_paper(stem: str) -> Paper:
    """A paper by its stem."""
    with open(os.path.join(_folder(), f"{stem}.toml"), "rb") as file:
        return Paper(stem, tomllib.load(file))


def select(ids: Sequence[str]) -> list[tuple[Paper, list[str], list[Claim]]]:
    """Finds what ``lasthop fig`` was asked for: figures and claims by paper.

    ``all`` is every paper that is simulated alone, ``clamp`` a paper, ``clamp:4`` all panels of
    a figure, ``clamp:4c`` one panel. A claim belongs to a panel if it names it or its whole figure.
    """
    wanted: dict[str, set[str] | None] = {}
    for name in ids:
        stem, colon, figure = name.partition(":")
        for each in _papers() if name == "all" else [stem]:
            if each not in stems():
                raise UserError(f"{name}: wanted all, a paper ({', '.join(stems())}) or a figure")
            if not colon:
                wanted[each] = None
                continue
            panels = _panels(load_paper(each), figure)
            if not panels:
                known = ", ".join(f"{each}:{f}" for f in load_paper(each).figures)
                raise UserError(f"{name}: no such figure: wanted one of {known}")
            chosen = wanted.setdefault(each, set())
            if chosen is not None:
                chosen.update(panels)
    found = []
    for stem, chosen in wanted.items():
        paper = load_paper(stem)
        figures = [figure for figure in paper.figures if chosen is None or figure in chosen]
        claims = [
            claim
            for claim in paper.claims
            if chosen is None or chosen & set(_panels(paper, claim.figure.partition(":")[2]))
        ]
        found.append((paper, figures, claims))
    return found


def _panels(paper: Paper, figure: str) -> list[str]:
    """The panels that a figure's number stands for: 4 for 4a to 4d, 4c for itself."""
    return [
        panel
        for panel in paper.figures
        if figure and (panel == figure or (panel[:-1] == figure and panel[-1].isalpha()))
    ]


def _folder() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "papers")
