# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a whole process costs: its user and system CPU time and its peak memory, by `wait4`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launch.py")


class CommandError(Exception):
    """A measured command ended with a status other than 0."""


@dataclass(frozen=True)
class Usage:
    """Resources of one finished process."""

    user_s: float
    system_s: float
    peak_bytes: int


@dataclass(frozen=True)
class Finished:
    """One finished process: what it printed, and what it used."""

    stdout: str
    usage: Usage


def run(command: Sequence[str]) -> Finished:
    """Run `command` to its end.

    Raises `CommandError`, with the end of what it wrote to standard error, unless it succeeds.
    """
    with tempfile.TemporaryDirectory() as folder:
        usage_file = Path(folder, "usage")
        launch = [sys.executable, "-I", "-S", str(LAUNCHER), str(usage_file), *command]
        done = subprocess.run(launch, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            tail = done.stderr.strip()[-500:]
            raise CommandError(f"{' '.join(command)}: status {done.returncode}: {tail}")
        user_s, system_s, peak_kib = usage_file.read_text(encoding="ascii").split()
    return Finished(done.stdout, Usage(float(user_s), float(system_s), int(peak_kib) * 1024))
