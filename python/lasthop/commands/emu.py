# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop emu``."""

from __future__ import annotations

import json
import os
import sys

from .. import _lasthop
from ..errors import UserError
from ..scenario import from_here, load, overrides_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from ..scenario import Overrides, Scenario


def main(options: Namespace) -> int:
    """Emulates a scenario; the exit status is that of what ran inside."""
    if options.inner == []:
        raise UserError("--: wanted a command behind it")
    scenario = load(options.file)
    overrides = from_here(overrides_of(options.set), scenario.directory)
    outputs = [path for path in (options.out, options.plot) if path]
    logs = [f"{options.log}.{ending}" for ending in ("down", "up")] if options.log else []
    if outputs or logs:
        from ..atomic import check_apart, check_ending, check_writable

        for path in (*outputs, *logs):
            check_writable(path)
        check_apart([*outputs, *logs], [options.file])
        if options.out:
            check_ending("--out", options.out, ".parquet")
    if options.plot:
        overrides = _probed(scenario, overrides, options.plot)
    from ..result import emulate

    try:
        result = emulate(
            scenario, options.inner, set=overrides, seed=options.seed, serve=options.serve,
            station=options.station, flows=options.flows, cc=options.cc, ipv6=options.ipv6,
            offload=options.offload, log=options.log,
        )  # fmt: skip
    except _lasthop.EmulationError as error:
        print(f"lasthop: {error}", file=sys.stderr)
        return 1
    summary = result.summary
    _report(summary, options)
    if options.out:
        result.to_parquet(options.out)
    if options.plot:
        from ..plot import save

        save(result.plot(), options.plot)
    if result.status:
        return result.status
    if result.interrupted:
        return 130
    return 1 if summary["emulation"]["faults"] and not options.allow_lag else 0


def _report(summary: dict[str, Any], options: Namespace) -> None:
    """Prints the result; what runs inside has standard output for itself."""
    from ..compare import describe, spoilt

    if options.json:
        json.dump(summary, sys.stdout, indent=1)
        print()
    elif options.inner is None:
        print(describe(summary))
    elif os.isatty(2) or options.flows:
        print(describe(summary), file=sys.stderr)
    for line in spoilt(summary["emulation"]):
        print(f"lasthop: {line}", file=sys.stderr)


def _probed(scenario: Scenario, overrides: Overrides, picture: str) -> Overrides:
    from ..plot import picture_kind, sampled

    picture_kind(picture)
    return sampled(scenario, overrides)
