# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop emu``."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import sysconfig

from .. import _lasthop
from ..agent import find_agent
from ..errors import UserError, tell
from ..scenario import from_here, load, overrides_of
from .emulation import STDOUT, VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from typing import Any

    from ..scenario import Overrides, Scenario

NOT_FOUND = 127
"""The exit status of a shell for a command that is not there."""
ASK_HOSTS = ("ping", "curl", "wget", "ssh", "traceroute", "tracepath", "mtr", "host", "dig", "nc")
"""Commands whose words with dots are names of hosts."""


def main(options: Namespace) -> int:
    """Emulates a scenario; the exit status is that of what ran inside."""
    if options.inner == []:
        raise UserError("--: wanted a command behind it")
    return emulate(load(options.file), options, inputs=[options.file])


def emulate(scenario: Scenario, options: Namespace, inputs: Sequence[str] = ()) -> int:
    """Emulates it as the options say; the exit status is that of what ran inside."""
    overrides = from_here(overrides_of(options.set), scenario.directory)
    report = options.json if options.json != STDOUT else None
    outputs = [path for path in (options.out, options.plot, report) if path]
    logs = [f"{options.log}.{ending}" for ending in ("down", "up")] if options.log else []
    if outputs or logs:
        from ..atomic import check_apart, check_ending, check_writable

        for path in (*outputs, *logs):
            check_writable(path)
        check_apart([*outputs, *logs], inputs)
        if options.out:
            check_ending("--out", options.out, ".parquet")
    if options.plot:
        overrides = _probed(scenario, overrides, options.plot)
    if options.inner and is_missing(options.inner[0]):
        tell(f"{options.inner[0]}: not found")
        return NOT_FOUND
    find_agent()
    from ..result import emulate as run

    if options.watch:
        tell(f"the page: http://{options.watch}/")
    try:
        result = run(
            scenario, options.inner, set=overrides, seed=options.seed, serve=options.serve,
            station=options.station, flows=options.flows, proxy=options.proxy, cc=options.cc,
            ipv6=options.ipv6, offload=options.offload, log=options.log, user=options.user,
            privileged=options.privileged or runs_lasthop(options.inner),
            apart=options.json == STDOUT, internet=options.internet, watch=options.watch,
        )  # fmt: skip
    except _lasthop.EmulationError as error:
        tell(str(error))
        return 1
    summary = result.summary
    _report(summary, result.complaints, options)
    if options.out:
        result.to_parquet(options.out)
    if options.plot:
        from ..plot import save

        save(result.plot(), options.plot)
    if result.status:
        if not options.internet and (name := outside(options.inner)):
            tell(f"note: nothing leads to {name} from inside without --internet")
        return result.status
    if result.signal:
        return 128 + result.signal
    spoilt = summary["emulation"]["faults"] and not options.allow_lag
    return 1 if spoilt or result.complaints else 0


def is_missing(command: str) -> bool:
    """Whether there is no such command. What is there but cannot be run, the system explains."""
    return not shutil.which(command) and not ("/" in command and os.path.exists(command))


def outside(command: Sequence[str] | None) -> str:
    """The host beyond this machine that a command asks for by name, if one is seen for certain."""
    if not command or os.path.basename(command[0]) not in ASK_HOSTS:
        return ""
    for word in command[1:]:
        name = re.fullmatch(r"(?:[a-z]+://)?((?:[\w-]+\.)+[a-z]{2,})(?:[:/].*)?", word)
        if name and not os.path.exists(word):
            return name[1]
    return ""


def runs_lasthop(command: Sequence[str] | None) -> bool:
    """Whether a command is this program again: it takes root's rights, and hands on none."""
    if not command:
        return False
    found = shutil.which(command[0])
    if not found:
        return False
    as_module = list(command[1:3]) == ["-m", "lasthop"]
    own = sys.executable if as_module else os.path.join(sysconfig.get_path("scripts"), "lasthop")
    verb = command[3:4] if as_module else command[1:2]
    return os.path.exists(own) and os.path.samefile(found, own) and "".join(verb) in VERBS


def _report(summary: dict[str, Any], complaints: Sequence[str], options: Namespace) -> None:
    """Prints the result; what runs inside has standard output for itself."""
    from ..compare import describe, spoilt

    if options.json == STDOUT:
        json.dump(summary, sys.stdout, indent=1)
        print()
    elif options.json:
        from ..atomic import write_text

        write_text(options.json, json.dumps(summary, indent=1) + "\n")
    if options.inner is None:
        if options.json != STDOUT:
            print(describe(summary))
    elif os.isatty(2) or options.flows:
        print(describe(summary), file=sys.stderr)
    else:
        for note in summary["notes"]:
            tell(f"note: {note}")
    for line in (*complaints, *spoilt(summary["emulation"])):
        tell(line)


def _probed(scenario: Scenario, overrides: Overrides, picture: str) -> Overrides:
    from ..plot import picture_kind, sampled

    picture_kind(picture)
    return sampled(scenario, overrides)
