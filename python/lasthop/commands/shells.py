# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop delay``, ``link`` and ``loss``: scenarios of one element, for a command behind it."""

from __future__ import annotations

import os
import re

from .. import _lasthop
from ..errors import UserError
from ..scenario import of
from .emu import emulate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

FAST = "100 Gbit/s"
"""The rate of what is not to limit any."""


def main(options: Namespace) -> int:
    """Runs the command behind the element; the exit status is the command's."""
    if not options.inner:
        raise UserError("--: wanted a command behind it")
    document = {"delay": _delay, "link": _link, "loss": _loss}[options.command](options)
    return emulate(of({"duration": "1 s", **document}), options)


def _wire(options: Namespace, ends: list[str], **more: object) -> dict[str, Any]:
    """A link that is nothing but what is said of it; the command stands at the station."""
    options.station = "inside"
    link = {"name": "wire", "from": ends[0], "to": ends[1], "rate": FAST, **more}
    flow = {"name": "through", "path": ends}
    return {"link": [link], "flow": [flow]}


def _delay(options: Namespace) -> dict[str, Any]:
    title = f"A delay of {options.time} one way"
    return {"title": title, **_wire(options, ["outside", "inside"], delay=options.time)}


def _loss(options: Namespace) -> dict[str, Any]:
    ends = ["outside", "inside"] if options.way == "down" else ["inside", "outside"]
    # Without a link back, what goes the other way passes.
    lossy = {"loss": {"kind": "bernoulli", "p": options.share}, "duplex": False}
    title = f"Losses of {100 * options.share:g} % on the way {options.way}"
    return {"title": title, **_wire(options, ends, **lossy)}


def _link(options: Namespace) -> dict[str, Any]:
    queue = {"queue": {"limit": options.queue}} if options.queue else {}
    ap = {
        "name": "link",
        "radio": _radio(options.down),
        **queue,
        "uplink": {"radio": _radio(options.up), **queue},
    }
    flow = {"name": "through", "station": "inside"}
    title = f"A link: {options.up} up, {options.down} down"
    return {"title": title, "ap": [ap], "flow": [flow]}


def _radio(way: str) -> dict[str, str]:
    if os.path.exists(way):
        return {"kind": "trace", "file": os.path.abspath(way)}
    found = _lasthop.quantity(way)
    if found is None or found[1] != "bps":
        if re.fullmatch(r"[\d.]+", way):
            raise UserError(f'{way}: wanted a rate, e.g. "{way} Mbit/s", or a mahimahi trace')
        raise UserError(
            f'{way}: no such file: wanted a mahimahi trace, or a rate such as "10 Mbit/s"'
        )
    return {"kind": "constant", "rate": way}
