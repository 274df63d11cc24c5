# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop show``."""

from __future__ import annotations

import os
from argparse import Namespace

from ..atomic import check_apart, check_writable
from ..plot import picture_kind, save
from ..scenario import from_here, load, overrides_of
from ..topology import draw_topology


def main(options: Namespace) -> int:
    """Draws a scenario's topology."""
    stem = os.path.basename(options.file).removesuffix(".toml")
    out = options.out or f"{stem}.svg"
    picture_kind(out)
    check_writable(out)
    check_apart([out], [options.file])
    scenario = load(options.file)
    overrides = from_here(overrides_of(options.set), scenario.directory)
    save(draw_topology(scenario, overrides), out)
    print(out)
    return 0
