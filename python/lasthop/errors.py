# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the user is told: what can be mended, and lines on standard error."""

import sys


class UserError(Exception):
    """Input that is wrong, in one line that says what is wanted."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came: everything is left as after Ctrl-C."""


def tell(message: str) -> None:
    """One line on standard error, where there is one."""
    if sys.stderr is None:
        return
    from .text import plain

    print(f"lasthop: {plain(' '.join(message.split()))}", file=sys.stderr, flush=True)
