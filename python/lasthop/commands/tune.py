# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop tune``."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING

from ..atomic import check_apart, check_writable
from ..cli import DONE
from ..scenario import load
from ..text import RATES, TIMES, Column, quantity, table
from ..tuning import Tuned, draw, tune

if TYPE_CHECKING:
    from argparse import Namespace


def main(options: Namespace) -> int:
    """Searches, prints the curve and what was found on it."""
    if options.plot:
        from ..plot import picture_kind

        check_writable(options.plot)
        check_apart([options.plot], [options.file])
        picture_kind(options.plot)
    found = tune(
        load(options.file),
        by=options.by,
        delay_s=options.delay,
        knee=options.knee,
        low=options.low,
        high=options.high,
        set=options.set,
        seed=options.seed,
        seeds=options.seeds,
        jobs=options.jobs,
        dask=options.dask,
    )
    if options.plot:
        draw(found, options.plot)
    if options.json:
        json.dump(as_json(found), sys.stdout, indent=1)
        print()
    else:
        print(describe(found))
    return DONE


def as_json(found: Tuned) -> dict[str, object]:
    """What was found, and the curve; limits that one seed does not give are null."""
    frame = found.curve.astype(object)
    return {
        "by": found.by,
        "value": found.value,
        "delay_s": found.delay_s,
        "goodput_bps": found.goodput_bps,
        "curve": frame.where(frame.notna(), None).to_dict("records"),
    }


def describe(found: Tuned) -> str:
    """The curve as a table, and the line to be taken over."""
    columns = [
        Column(found.by, "value"),
        Column("queueing delay", "delay_s", TIMES),
        Column("goodput", "goodput_bps", RATES),
        Column("", "mark"),
    ]
    rows = [
        {
            "value": value,
            "delay_s": None if math.isnan(delay_s) else delay_s,
            "goodput_bps": rate,
            "mark": "←" if value == found.value else "",
        }
        for value, delay_s, rate in found.curve[["value", "delay_s", "goodput_bps"]]
        .to_numpy()
        .tolist()
    ]
    delay, rate = quantity(found.delay_s, TIMES), quantity(found.goodput_bps, RATES)
    said = f'--set "{found.by}={found.value}"'
    return f"{table(columns, rows)}\n\n{said}: {delay} of queueing delay, {rate}"
