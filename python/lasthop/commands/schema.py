# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop schema``."""

from argparse import Namespace

from .. import _lasthop


def main(_: Namespace) -> int:
    """Prints the JSON Schema of scenario files."""
    print(_lasthop.schema())
    return 0
