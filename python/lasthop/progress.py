# SPDX-License-Identifier: MIT OR Apache-2.0
"""How far work of many runs has come: a bar on a terminal, now and then a line elsewhere."""

import sys
import time
from typing import Any

from .errors import tell
from .text import duration

EVERY_S = 30.0
"""Seconds between lines where standard error is no terminal, as in the log of a batch job."""


class Progress:
    """Tells of ``total`` runs, ``done`` of them known before; silent for the first second."""

    def __init__(self, total: int, done: int, label: str) -> None:
        self._bar: Any = None
        self._total, self._known, self._done, self._label = total, done, done, label
        self._begun = self._told = time.monotonic()
        if sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                total=total, initial=done, desc=label, unit="run", delay=1.0, leave=False
            )

    def step(self) -> None:
        """One more run is done."""
        self._done += 1
        if self._bar is not None:
            self._bar.update()
        elif time.monotonic() - self._told >= EVERY_S and self._done < self._total:
            self._told = time.monotonic()
            rate = (self._done - self._known) / (self._told - self._begun)
            left = duration((self._total - self._done) / rate)
            tell(f"{self._label}: {self._done} of {self._total} runs, about {left} to go")

    def close(self) -> None:
        """Takes the bar off the screen."""
        if self._bar is not None:
            self._bar.close()
