# SPDX-License-Identifier: MIT OR Apache-2.0
"""Papers: each is a folder ``papers/<stem>/`` of data, with Python for what is real code.

In the folder's name a hyphen of the stem is an underscore, so that Python can import it.

``paper.toml``
    What the paper is and says: equations, symbols, parameters, and the readings that were taken.
``sweeps.toml``
    Settings by name, and the sweeps that use them (:class:`lasthop.lab.Sweep`).
``figures.toml``, ``claims.toml``
    What is redrawn and what is checked (:mod:`lasthop.lab.measures`).

Where data do not suffice they name a function, ``python = "figures.knee"``, of a module in the
same folder; ``with`` gives its arguments. To add a paper, add its folder; every command finds it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .claims import Claim
from .errors import UserError
from .scenario import shipped_path
from .text import suggestion

if TYPE_CHECKING:
    from .lab import Drawing, Lab, Parted, Style, Sweep
    from .runs import Runner

FOLDER = Path(__file__).resolve().parent / "papers"
FILES = ("paper.toml", "sweeps.toml", "figures.toml", "claims.toml")


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

    def scales(self, figure: str) -> Sequence[str]:
        """The lengths of runs at which a figure is drawn."""
        found: Sequence[str] = self.figures[figure].get("scales", ("quick", "full"))
        return found

    @cached_property
    def claims(self) -> list[Claim]:
        """What is claimed."""
        return [_claim(entry) for entry in self.document["claim"]]

    @property
    def deviations(self) -> list[dict[str, Any]]:
        """Where the paper is ambiguous: the reading taken and what others give."""
        return list(self.document.get("deviation", []))

    @property
    def real_time(self) -> bool:
        """Whether it takes real time, and rights."""
        return bool(self.document["paper"].get("real_time"))

    def lab(self, scale: str, seeds: Sequence[int], runner: Runner) -> Lab:
        """A lab with the paper's sweeps."""
        from .lab import Lab

        return Lab(self.sweeps, seeds, scale, runner)

    def drawing(self, figure: str, lab: Lab) -> Drawing:
        """Redraws a figure."""
        from .lab import curves

        entry = self.figures[figure]
        if "python" in entry:
            found: Drawing = self._function(entry)(lab)
            return found
        options = dict(entry["curves"])
        axis = list(lab.sweep(options["sweep"]).axes)[-1]
        return curves(lab, x_label=self.document["axis"][axis], styles=self.styles, **options)

    def measure(self, claim: Claim, lab: Lab) -> list[float]:
        """Measures a claim, one value a seed."""
        from .lab import measure

        try:
            return measure(self.measure_of(claim), lab)
        except UserError as error:
            raise UserError(f"{claim.id}: {error}") from error

    def measure_of(self, claim: Claim) -> Any:
        """What is measured, with functions in the place of their names."""
        return self._resolved(claim.measure)

    @cached_property
    def styles(self) -> dict[str, Style]:
        """How what is compared is drawn, by its name."""
        from .lab import Style

        return {name: Style.of(**style) for name, style in self.document.get("style", {}).items()}

    @cached_property
    def sweeps(self) -> dict[str, Sweep | Parted | Callable[[Lab], Any]]:
        """The sweeps by name; some are tables that Python makes, whole or in parts."""
        entries = self.document.get("sweep", {})
        return {name: self._sweep(entry) for name, entry in entries.items()}

    def _sweep(self, entry: Mapping[str, Any]) -> Sweep | Parted | Callable[[Lab], Any]:
        from .lab import Parted, Sweep

        if "parts" in entry:
            ((column, values),) = entry["parts"].items()
            return Parted(column, values, self._function(entry))
        if "python" in entry:
            return self._function(entry)
        columns = entry.get("columns", {})
        if isinstance(columns, str):
            columns = self.document["columns"][columns]
        # A file of that name where somebody draws the figures is not what the paper means.
        return Sweep(
            shipped_path(entry["scenario"]),
            {name: self._axis(axis) for name, axis in entry.get("axes", {}).items()},
            self.setting(entry.get("set")),
            self._resolved(columns),
            entry.get("tables", False),
            entry.get("without", ()),
        )

    def _axis(self, axis: Any) -> Any:
        from .lab import Axis

        if isinstance(axis, list):
            return {name: self.setting(name) for name in axis}
        if not {"values", "full"} & set(axis):
            return {name: self.setting(settings) for name, settings in axis.items()}
        options = self._resolved(dict(axis))
        values = options.pop("values", None)
        full = options.pop("full", values)
        chosen = options.pop("set", None)
        return Axis(full, options.pop("quick", None), self.setting(chosen))

    def setting(self, given: Any) -> Any:
        """Settings in which others are named, with those put in place of their names."""
        if isinstance(given, str):
            if given not in self.document["setting"]:
                raise UserError(f"{self.stem}: {given}: no such setting")
            return self.setting(self.document["setting"][given])
        if isinstance(given, list):
            return [self.setting(part) for part in given]
        return given

    def _resolved(self, given: Any) -> Any:
        """Data with functions in the place of their names."""
        if isinstance(given, Mapping):
            if "python" in given and set(given) <= {"python", "with"}:
                return self._function(given)
            return {key: self._resolved(value) for key, value in given.items()}
        return [self._resolved(value) for value in given] if isinstance(given, list) else given

    def _function(self, entry: Mapping[str, Any]) -> Callable[..., Any]:
        """The function that an entry names, with the arguments that it gives."""
        module, _, name = entry["python"].rpartition(".")
        try:
            home = import_module(f".papers.{folder_of(self.stem).name}.{module}", __package__)
            function: Callable[..., Any] = getattr(home, name)
        except (ImportError, AttributeError) as error:
            wanted = f"wanted a function of a module in {folder_of(self.stem)}"
            raise UserError(f'python = "{entry["python"]}": {wanted} ({error})') from error
        return partial(function, **entry["with"]) if "with" in entry else function


def _claim(entry: dict[str, Any]) -> Claim:
    for key in ("id", "figure", "claim", "measure", "band"):
        if key not in entry:
            raise UserError(f"claim {entry.get('id', entry)}: no {key}: wanted one")
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
        measure=entry["measure"],
    )


def stems() -> list[str]:
    """The papers that there are."""
    return sorted(path.parent.name.replace("_", "-") for path in FOLDER.glob("*/paper.toml"))


def folder_of(stem: str) -> Path:
    """A paper's folder, whose name is one that Python can import."""
    return FOLDER / stem.replace("-", "_")


def _papers() -> list[str]:
    """Those that ``all`` stands for: what takes real time, and rights, is asked for by name."""
    return [stem for stem in stems() if not load_paper(stem).real_time]


def load_paper(stem: str) -> Paper:
    """A paper by its stem."""
    document: dict[str, Any] = {}
    for name in FILES:
        path = folder_of(stem) / name
        if path.exists():
            document |= tomllib.loads(path.read_text(encoding="utf-8"))
    return Paper(stem, document)


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
                near = suggestion(each, ["all", *stems()])
                known = ", ".join(stems())
                raise UserError(f"{name}: wanted all, a paper ({known}) or a figure{near}")
            if not colon:
                wanted[each] = None
                continue
            found_here = panels(load_paper(each), figure)
            if not found_here:
                known = ", ".join(f"{each}:{f}" for f in load_paper(each).figures)
                raise UserError(f"{name}: no such figure: wanted one of {known}")
            chosen = wanted.setdefault(each, set())
            if chosen is not None:
                chosen.update(found_here)
    found = []
    for stem, chosen in wanted.items():
        paper = load_paper(stem)
        figures = [figure for figure in paper.figures if chosen is None or figure in chosen]
        claims = [
            claim
            for claim in paper.claims
            if chosen is None or chosen & set(panels(paper, claim.figure.partition(":")[2]))
        ]
        found.append((paper, figures, claims))
    return found


def panels(paper: Paper, figure: str) -> list[str]:
    """The panels that a figure's number stands for: 4 for 4a to 4d, 4c for itself."""
    return [
        panel
        for panel in paper.figures
        if figure and (panel == figure or (panel[:-1] == figure and panel[-1].isalpha()))
    ]
