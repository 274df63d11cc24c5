# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pages show what their commands print; `python docs/make_outputs.py` renews them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_pages_show_what_their_commands_print() -> None:
    words = [sys.executable, str(ROOT / "docs" / "make_outputs.py"), "--check"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
