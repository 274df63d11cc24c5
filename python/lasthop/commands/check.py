# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop check``."""

from argparse import Namespace

from .. import _lasthop
from ..scenario import load, overrides_of


def main(options: Namespace) -> int:
    """Says whether a scenario is right; errors say what is not."""
    scenario = load(options.file)
    text = _lasthop.check(scenario.text, scenario.directory, overrides_of(options.set))
    print(text if options.print else f"{options.file}: right")
    return 0
