# SPDX-License-Identifier: MIT OR Apache-2.0
"""``python -m lasthop`` is the command ``lasthop``."""

from .cli import entry

if __name__ == "__main__":
    entry()
