# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop check``."""

from argparse import Namespace

from .. import _lasthop
from ..scenario import from_here, load, overrides_of


def main(options: Namespace) -> int:
    """Says whether a scenario is valid; errors say why not."""
    scenario = load(options.file)
    overrides = from_here(overrides_of(options.set), scenario.directory)
    text = _lasthop.check(scenario.text, scenario.directory, overrides)
    print(text if options.print else f"{options.file}: valid")
    return 0
