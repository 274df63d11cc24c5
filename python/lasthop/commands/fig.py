# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop fig``."""

import json
import sys
from argparse import Namespace

from ..cli import DONE, FAILED
from ..figures import Outcome, make
from ..report import band, interval, number
from ..text import align


def main(options: Namespace) -> int:
    """Draws and checks what was asked for; fails if a claim turned out other than expected."""
    outcome = make(
        options.ids,
        scale=options.scale,
        seed=options.seed,
        seeds=options.seeds,
        most_seeds=options.most_seeds,
        jobs=options.jobs,
        dask=options.dask,
        out=options.out,
    )
    if options.json:
        entries = [checked.as_json() for checked in outcome.claims]
        json.dump(entries, sys.stdout, indent=1, ensure_ascii=False)
        print()
    else:
        print(describe(outcome))
    return DONE if outcome.as_expected else FAILED


def describe(outcome: Outcome) -> str:
    """The claims as a table, and where to find the rest."""
    lines = [["claim", "reference", "accepted", "measured", "95 % interval", "seeds", "verdict"]]
    for checked in outcome.claims:
        note = "" if checked.as_expected else "  ← expected: " + checked.claim.expected
        if checked.claim.expected == "fails" and checked.as_expected:
            note = "  (known)"
        lines.append(
            [
                checked.claim.id,
                number(checked.claim.reference),
                band(checked),
                number(checked.estimate.value if checked.estimate else None),
                interval(checked),
                str(checked.seeds),
                checked.verdict + note,
            ]
        )
    figures = sum(len(section.pictures) for section in outcome.sections)
    counts = ", ".join(
        f"{sum(checked.verdict == verdict for checked in outcome.claims)} {word}"
        for verdict, word in (("holds", "hold"), ("fails", "fail"), ("open", "are open"))
    )
    table = align(lines, left=(0, 6)) if len(lines) > 1 else ""
    summary = f"{figures} figures and {len(outcome.claims)} claims: {counts}"
    return "\n\n".join(
        part for part in (table, f"{summary}\nreport: {outcome.folder}/report.html") if part
    )
