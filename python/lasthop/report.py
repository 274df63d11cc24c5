# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report on papers: one HTML page that needs nothing beside it."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass

from . import _lasthop
from .claims import Checked
from .paper import Paper
from .text import significant


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn."""

    id: str
    title: str
    png: bytes
    table: Sequence[Sequence[str]] = ()
    """Its numbers: a row of headings, then the rows."""

    @property
    def source(self) -> str:
        """The picture as a data URL."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode()


@dataclass(frozen=True)
class Section:
    """A paper in the report."""

    paper: Paper
    pictures: Sequence[Picture]
    claims: Sequence[Checked]


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
