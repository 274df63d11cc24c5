# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop trace``."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from .. import mmlog
from ..atomic import check_apart, check_writable, write_text
from ..errors import UserError
from ..text import align, duration, percent, rate
from ..trace import describe, lte_like, stamps_of, to_csv

STAT = (
    ("packets let through", "opportunities", str),
    ("duration", "duration_s", duration),
    ("mean rate", "mean_rate_bps", rate),
    ("5 % of 100-ms bins below", "p5_rate_bps", rate),
    ("half of them below", "median_rate_bps", rate),
    ("95 % of them below", "p95_rate_bps", rate),
    ("longest silence", "longest_silence_s", duration),
)
LOG_STAT = (
    ("duration", "duration_s", duration),
    ("packets came", "arrivals", str),
    ("packets left", "departures", str),
    ("packets dropped", "drops", str),
    ("capacity", "capacity_bps", rate),
    ("traffic that came", "ingress_bps", rate),
    ("throughput", "throughput_bps", rate),
    ("capacity used", "utilisation", percent),
    ("95 % of packets waited at most", "p95_delay_s", duration),
    ("95 % of signal delays at most", "p95_signal_delay_s", duration),
)


def main(options: Namespace) -> int:
    """Checks, describes, draws, converts or makes up traces."""
    if options.action == "make":
        return _make(options)
    if options.action == "convert":
        return _convert(options)
    if options.action == "plot":
        return _plot(options)
    found = [mmlog.describe(f) if mmlog.is_log(f) else describe(f) for f in options.files]
    if options.json:
        print(json.dumps(found if len(found) > 1 else found[0], indent=1))
    elif options.action == "check":
        for about in found:
            print(_checked(about))
    else:
        print(_side_by_side(found))
    return 0


def _checked(about: dict[str, Any]) -> str:
    if "arrivals" in about:
        return (
            f"{about['file']}: valid: a log of {duration(about['duration_s'])}, "
            f"{about['arrivals']} packets came, {about['departures']} left"
        )
    return (
        f"{about['file']}: valid: {about['opportunities']} opportunities, "
        f"{duration(about['duration_s'])}, {rate(about['mean_rate_bps'])} on average"
    )


def _side_by_side(found: list[dict[str, Any]]) -> str:
    """The figures of traces and logs, a column a file, a row a figure."""
    parts = []
    for rows, own in ((STAT, [a for a in found if "arrivals" not in a]),
                      (LOG_STAT, [a for a in found if "arrivals" in a])):  # fmt: skip
        lines = [["", *(about["file"] for about in own)]] if len(found) > 1 else []
        lines += [
            [name, *("–" if about[key] is None else shown(about[key]) for about in own)]
            for name, key, shown in rows
        ]
        if own:
            parts.append(align(lines))
    return "\n\n".join(parts)


def _plot(options: Namespace) -> int:
    from ..plot import picture_kind, save
    from ..tracing import draw_traces

    picture_kind(options.out)
    check_writable(options.out)
    check_apart([options.out], options.files)
    save(draw_traces(options.files, options.bin), options.out)
    return 0


def _convert(options: Namespace) -> int:
    check_writable(options.out)
    check_apart([options.out], [options.file])
    if options.out.endswith(".csv"):
        count = to_csv(options.file, options.out, _milliseconds(options.bin))
        print(f"{options.out}: {count} rows of {duration(options.bin)} (CSV)")
        return 0
    stamps, start_s = stamps_of(options.file)
    if start_s is None and not mmlog.is_log(options.file):
        raise UserError(f"--out {options.out}: wanted a name that ends in .csv")
    write_text(options.out, "".join(f"{stamp}\n" for stamp in stamps))
    moved = f"; its start at {start_s:g} s became 0 s" if start_s else ""
    print(f"{options.out}: {len(stamps)} opportunities (mahimahi){moved}")
    return 0


def _milliseconds(seconds: float) -> int:
    found = round(seconds * 1e3)
    if found < 1 or abs(found - seconds * 1e3) > 1e-6:
        raise UserError(f"--bin {duration(seconds)}: wanted whole milliseconds, at least 1 ms")
    return found


def _make(options: Namespace) -> int:
    check_writable(options.out)
    stamps = lte_like(
        seconds=options.duration, seed=options.seed, mean_bps=options.rate, manner=options.manner
    )
    write_text(options.out, "".join(f"{stamp}\n" for stamp in stamps))
    print(f"{options.out}: {len(stamps)} opportunities in {duration(options.duration)}")
    return 0
