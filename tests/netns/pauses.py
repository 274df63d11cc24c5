# SPDX-License-Identifier: MIT OR Apache-2.0
"""A test in real time during which the machine stood still says nothing: it is run once more.

A virtual machine may be taken off its processors for tenths of a second. Nothing then sends, and a
download of three seconds has so much less. A thread looks each hundredth of a second; a test of
this folder that failed and in which one look came late is named in the summary, and repeated,
once. One that fails without a pause has failed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
EACH_S = 0.01
PAUSE_S = 0.1
"""Beside these tests and compilers on two processors none came later than .07 s in minutes."""


class StoodStillError(Exception):
    """The machine did while a test ran that failed."""


class Watch(threading.Thread):
    """Notes for how long the machine stood still at most."""

    def __init__(self) -> None:
        super().__init__(name="watch", daemon=True)
        self.longest_s = 0.0

    def run(self) -> None:
        """Looks, for ever."""
        last = time.monotonic()
        while True:
            time.sleep(EACH_S)
            now = time.monotonic()
            self.longest_s = max(self.longest_s, now - last - EACH_S)
            last = now


WATCH = Watch()


def pytest_configure(config: pytest.Config) -> None:
    """Has what stood still repeated; `--reruns` on the command line has its way."""
    if not config.getoption("reruns", None):
        config.option.reruns = 1
        config.option.only_rerun = [StoodStillError.__name__]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Says of a test that failed whether the machine stood still meanwhile."""
    if item.path.parent != FOLDER:
        return (yield)
    if not WATCH.is_alive():
        WATCH.start()
    WATCH.longest_s = 0.0
    try:
        return (yield)
    except (Exception, pytest.fail.Exception) as error:
        if WATCH.longest_s < PAUSE_S:
            raise
        why = f"{item.nodeid}: the machine stood still for {WATCH.longest_s:.2f} s"
        raise StoodStillError(why) from error


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names what was repeated."""
    for report in terminalreporter.getreports("rerun"):
        crash = getattr(report.longrepr, "reprcrash", None)
        why = crash.message.split(": ", 1)[1] if crash else report.nodeid
        terminalreporter.write_line(f"repeated: {why}")
