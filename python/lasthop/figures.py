# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop fig``: draws figures, checks claims, writes pictures, data, claims and the report."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .archive import write_frame
from .atomic import make_folder, write_text
from .claims import HOPELESS, Checked, Claim, chance_to_decide, check
from .errors import UserError
from .paper import Paper, select
from .plot import hidden_curves, lay_out, new_figure, save, styled, svg_of
from .report import Network, Picture, Section, render
from .runs import Runner
from .topology import draw_topology

if TYPE_CHECKING:
    from .lab import Lab
    from .scenario import Scenario

SEEDS = {"quick": 3, "full": 4}
"""Seeds where none are asked for."""
MOST_SEEDS = {"quick": 0, "full": 32}
"""Up to how many seeds are added for claims that fewer leave open, where no limit is given."""


@dataclass(frozen=True)
class Outcome:
    """What was made."""

    sections: Sequence[Section]
    folder: str

    @property
    def claims(self) -> list[Checked]:
        """All claims that were checked."""
        return [checked for section in self.sections for checked in section.claims]

    @property
    def as_expected(self) -> bool:
        """Whether no claim turned out other than expected."""
        return all(checked.as_expected for checked in self.claims)


def make(
    ids: Sequence[str],
    *,
    scale: str = "quick",
    seed: int = 1,
    seeds: int | None = None,
    most_seeds: int | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    out: str | os.PathLike[str] = "out/fig",
) -> Outcome:
    """Makes figures and checks claims; all that comes of it is written into ``out``.

    ``ids`` are figures (``clamp:4c``), papers or ``all``. Figures are drawn, and claims measured,
    with ``seeds`` seeds from ``seed`` on; a claim that they leave open is measured with twice as
    many, and so on up to ``most_seeds``, or until these would hardly decide it. What takes real
    time is measured once. Finished runs are kept in a journal in ``out`` until everything is
    done: interrupted, the same call goes on where it stopped.
    """
    chosen = select(ids)
    folder = os.fspath(out)
    make_folder(folder)
    least = SEEDS[scale] if seeds is None else seeds
    most = max(least, MOST_SEEDS[scale]) if most_seeds is None else most_seeds
    if most < least:
        raise UserError(f"--most-seeds {most}: wanted at least as many as --seeds, {least}")
    numbers = range(seed, seed + least)
    journal = os.path.join(folder, "runs.journal")
    with Runner(jobs=jobs, dask=dask, journal=journal) as runner:
        sections = []
        for paper, figures, claims in chosen:
            lab = paper.lab(scale, numbers, runner)
            drawn = [figure for figure in figures if scale in paper.scales(figure)]
            networks: dict[Scenario, Network] = {}
            pictures = [_draw(paper, figure, lab, folder, networks) for figure in drawn]
            limit = least if paper.real_time and most_seeds is None else most
            checked = [_decide(paper, claim, lab, limit) for claim in claims]
            sections.append(Section(paper, pictures, checked, list(networks.values())))
        outcome = Outcome(sections, folder)
        entries = [checked.as_json() for checked in outcome.claims]
        write_text(
            os.path.join(folder, "claims.json"),
            json.dumps(entries, indent=1, ensure_ascii=False) + "\n",
        )
        tables = {
            f"{section.paper.stem}:{picture.id}": picture.table
            for section in sections
            for picture in section.pictures
            if picture.table
        }
        write_text(
            os.path.join(folder, "tables.json"),
            json.dumps(tables, indent=1, ensure_ascii=False) + "\n",
        )
        page = render(sections, scale=scale, seeds=list(numbers), most_seeds=most)
        write_text(os.path.join(folder, "report.html"), page)
    return outcome


def _decide(paper: Paper, claim: Claim, lab: Lab, most: int) -> Checked:
    """Checks a claim with the lab's seeds, and with twice as many while they leave it open.

    Twice, not one more: each look at the interval is a chance to be misled by it. No more where
    all that may be run would hardly decide it.
    """
    while True:
        values = paper.measure(claim, lab) if lab.scale in claim.scales else []
        checked = check(claim, values, lab.scale)
        count = len(lab.seeds)
        if not checked.undecided or count >= most:
            return checked
        chance = chance_to_decide(claim, values, most)
        if chance < HOPELESS:
            return checked.left_open(chance, most)
        first = lab.seeds[0]
        lab = replace(lab, seeds=range(first, first + min(2 * count, most)))


def _draw(
    paper: Paper, figure: str, lab: Lab, folder: str, networks: dict[Scenario, Network]
) -> Picture:
    lab.used.clear()
    drawing = paper.drawing(figure, lab)
    stem = os.path.join(folder, f"{paper.stem}-{figure}")
    canvas = new_figure(*drawing.size)
    with styled():
        drawing.draw(canvas)
    lay_out(canvas)
    save(canvas, f"{stem}.png")
    title = str(paper.figures[figure]["title"])
    write_frame(
        f"{stem}.parquet",
        drawing.data,
        {
            "kind": "figure",
            "figure": f"{paper.stem}:{figure}",
            "title": title,
            "scale": lab.scale,
            "seeds": list(lab.seeds),
        },
    )
    behind = sorted(lab.used, key=lambda scenario: scenario.label)
    for scenario in behind:
        if scenario not in networks:
            name = os.path.basename(scenario.label).removesuffix(".toml") or "a network"
            networks[scenario] = Network(
                f"{paper.stem}-network-{len(networks) + 1}", name, svg_of(draw_topology(scenario))
            )
    return Picture(
        figure, title, svg_of(canvas), drawing.table,
        hidden_curves(canvas), [networks[scenario] for scenario in behind],
    )  # fmt: skip
