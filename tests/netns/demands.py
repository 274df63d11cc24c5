# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a test wants of the machine: without it, it is skipped or fails."""

import os
import shutil

import pytest

DEMANDED = bool(os.environ.get("CI") or os.environ.get("LASTHOP_REQUIRE_ROOT"))


def demand(lack: str) -> None:
    """Skips a test that lacks something, or fails it where everything is to be there."""
    if lack:
        message = f"SKIPPED: this cannot be tested here: {lack}"
        if DEMANDED:
            pytest.fail(message)
        pytest.skip(message)


def demand_program(*names: str) -> str:
    """The path of a program by one of its names; a test without it is skipped or fails."""
    found = next(filter(None, map(shutil.which, names)), "")
    demand("" if found else f"no {' or '.join(names)}")
    return found
