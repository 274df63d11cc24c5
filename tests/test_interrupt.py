# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ctrl-C is heard while the simulator is at work, whatever it does."""

import signal
from collections.abc import Callable
from pathlib import Path

import lasthop
import pytest

LINK = """
duration = "100000 s"
[[link]]
name = "l"
from = "a"
to = "b"
rate = "1 Gbit/s"
[[flow]]
name = "f"
path = ["a", "b"]
rtt = "20 ms"
"""
MANY = {"flow[0].count": 1_000_000, "duration": "3 s"}


def at_work() -> int:
    """The simulator's threads in this process."""
    names = [task.read_text().strip() for task in Path("/proc/self/task").glob("*/comm")]
    return names.count("lasthop")


@pytest.mark.parametrize(
    "work",
    [
        lambda: lasthop.check(LINK, set=MANY),
        lambda: lasthop.run(LINK, set=MANY),
        lambda: lasthop.run(LINK),
    ],
    ids=["checking", "building", "running"],
)
def test_an_interrupt_does_not_wait_for_the_work(work: Callable[[], object]) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            work()
        # The work was under way, and ends by itself.
        assert at_work() > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
