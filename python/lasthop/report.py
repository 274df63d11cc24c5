# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report on papers: one HTML page that needs nothing beside it."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass

from . import _lasthop
from .claims import Checked
from .paper import Paper, panels
from .text import significant


@dataclass(frozen=True)
class Network:
    """The topology of a scenario behind a figure."""

    id: str
    name: str
    svg: str

    @property
    def source(self) -> str:
        """The picture as a data URL."""
        return data_url(self.svg)


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn."""

    id: str
    title: str
    svg: str
    table: Sequence[Sequence[str]] = ()
    """Its numbers: a row of headings, then the rows."""
    hidden: Sequence[tuple[str, str]] = ()
    """Curves that cannot be seen, and what they lie under."""
    networks: Sequence[Network] = ()
    """What was simulated for it."""

    @property
    def source(self) -> str:
        """The picture as a data URL: within the page the names of two pictures' parts collide."""
        return data_url(self.svg)


def data_url(svg: str) -> str:
    """A picture as a source of its own."""
    whole = (
        svg
        if "xmlns=" in svg
        else svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    )
    return "data:image/svg+xml;base64," + base64.b64encode(whole.encode()).decode()


@dataclass(frozen=True)
class Section:
    """A paper in the report."""

    paper: Paper
    pictures: Sequence[Picture]
    claims: Sequence[Checked]
    networks: Sequence[Network] = ()

    def claims_of(self, picture: Picture) -> list[Checked]:
        """The claims on a figure, or on the whole figure of which it is a panel."""
        return [checked for checked in self.claims if picture in self.pictures_of(checked)]

    def pictures_of(self, checked: Checked) -> list[Picture]:
        """The figures that a claim speaks of, of those drawn."""
        named = panels(self.paper, checked.claim.figure.partition(":")[2])
        return [picture for picture in self.pictures if picture.id in named]


def render(
    sections: Sequence[Section], *, scale: str, seeds: Sequence[int], most_seeds: int
) -> str:
    """The whole page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("lasthop"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["band"] = band
    environment.filters["interval"] = interval
    template = environment.get_template("report.html.j2")
    counts = {
        verdict: sum(c.verdict == verdict for section in sections for c in section.claims)
        for verdict in ("holds", "fails", "open")
    }
    return template.render(
        sections=sections,
        scale=scale,
        seeds=seeds,
        most_seeds=most_seeds,
        version=_lasthop.version(),
        counts=counts,
        surprises=[c for section in sections for c in section.claims if not c.as_expected],
    )


def number(value: float | None) -> str:
    """A number with three significant digits; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return significant(value, 3 if abs(value) < 1000 else 4)


def band(checked: Checked) -> str:
    """The accepted band in words."""
    low, high = checked.claim.band
    if math.isinf(high):
        return f"over {number(low)}"
    if math.isinf(low):
        return f"under {number(high)}"
    return f"{number(low)} to {number(high)}"


def interval(checked: Checked) -> str:
    """The confidence interval, if there is one."""
    estimate = checked.estimate
    if checked.deterministic:
        return "deterministic"
    if estimate is None or not math.isfinite(estimate.low):
        return "–"
    return f"{number(estimate.low)} to {number(estimate.high)}"
