# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop rerun``."""

from argparse import Namespace

from .. import _lasthop
from ..archive import read_frame
from ..reading import rerun


def main(options: Namespace) -> int:
    """Repeats a result and says whether every bit came out again."""
    _, document = read_frame(options.file)
    differences = rerun(options.file)
    here, there = _lasthop.version(), document["version"]
    note = "" if here == there else f" (recorded by lasthop {there}, repeated by {here})"
    if not differences:
        print(f"{options.file}: reproduced bit for bit{note}")
        return 0
    print(f"{options.file}: differs in {len(differences)} places{note}")
    for difference in differences[:10]:
        print(f"  {difference}")
    if len(differences) > 10:
        print(f"  … and {len(differences) - 10} more")
    return 1
