# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop trace``."""

import json
from argparse import Namespace

from .. import mmlog
from ..atomic import check_apart, check_writable, write_text
from ..errors import UserError
from ..text import align, duration, percent, rate
from ..trace import describe, from_csv, lte_like, to_csv


def main(options: Namespace) -> int:
    """Checks, describes or converts a trace."""
    if options.action == "convert":
        return _convert(options)
    if options.action == "make":
        return _make(options)
    if mmlog.is_log(options.file):
        return _log(options)
    found = describe(options.file)
    if options.json:
        print(json.dumps(found, indent=1))
    elif options.action == "check":
        print(
            f"{options.file}: valid: {found['opportunities']} opportunities, "
            f"{duration(found['duration_s'])}, {rate(found['mean_rate_bps'])} on average"
        )
    else:
        lines = [
            ["packets let through", str(found["opportunities"])],
            ["duration", duration(found["duration_s"])],
            ["mean rate", rate(found["mean_rate_bps"])],
            ["5 % of 100-ms bins below", rate(found["p5_rate_bps"])],
            ["half of them below", rate(found["median_rate_bps"])],
            ["95 % of them below", rate(found["p95_rate_bps"])],
            ["longest silence", duration(found["longest_silence_s"])],
        ]
        print(align(lines))
    return 0


def _log(options: Namespace) -> int:
    found = mmlog.describe(options.file)
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    if options.action == "check":
        print(
            f"{options.file}: valid: a log of {duration(found['duration_s'])}, "
            f"{found['arrivals']} packets came, {found['departures']} left"
        )
        return 0
    lines = [
        ["duration", duration(found["duration_s"])],
        ["packets came, left, dropped",
         f"{found['arrivals']}, {found['departures']}, {found['drops']}"],
        ["capacity", rate(found["capacity_bps"])],
        ["traffic that came", rate(found["ingress_bps"])],
        ["throughput", rate(found["throughput_bps"])],
        ["capacity used", percent(found["utilisation"])],
        ["95 % of packets waited at most", duration(found["p95_delay_s"])],
        ["95 % of signal delays at most", duration(found["p95_signal_delay_s"])],
    ]  # fmt: skip
    print(align(lines))
    return 0


def _convert(options: Namespace) -> int:
    check_writable(options.out)
    check_apart([options.out], [options.file])
    if mmlog.is_log(options.file):
        count = mmlog.to_trace(options.file, options.out)
        print(f"{options.out}: {count} opportunities (mahimahi)")
        return 0
    if options.file.endswith(".csv"):
        count, start_s = from_csv(options.file, options.out)
        moved = f"; its start at {start_s:g} s became 0 s" if start_s else ""
        print(f"{options.out}: {count} opportunities (mahimahi){moved}")
    elif not options.out.endswith(".csv"):
        raise UserError(f"--out {options.out}: wanted a name that ends in .csv")
    else:
        count = to_csv(options.file, options.out, options.bin)
        print(f"{options.out}: {count} rows of {options.bin} ms (CSV)")
    return 0


def _make(options: Namespace) -> int:
    check_writable(options.out)
    stamps = lte_like(
        seconds=options.seconds, seed=options.seed, mean_bps=options.rate, manner=options.manner
    )
    write_text(options.out, "".join(f"{stamp}\n" for stamp in stamps))
    print(f"{options.out}: {len(stamps)} opportunities in {options.seconds} s")
    return 0
