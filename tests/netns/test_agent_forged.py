# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packets that neither end of a connection heeds do not end its steering."""

import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from distance import PORT
from house import CLIENT, SERVER, House, house

FORGE = Path(__file__).with_name("forge.py")
OURS = 20_000
"""The client's port of the download."""
QUARTERS = [1 << 30, 1 << 31, 3 << 30, 0]
"""Numbers of which a connection knows one at most: who does not know it says them all."""


def resets(built: House) -> None:
    """Of both sides, as if each had ended."""
    for number in QUARTERS:
        built.run(
            "server", sys.executable, FORGE, "send", SERVER, PORT, CLIENT, OURS, "rst", number
        )
        built.run(
            "client", sys.executable, FORGE, "send", CLIENT, OURS, SERVER, PORT, "rst", number
        )


def acks(built: House) -> None:
    """Of the client's."""
    for number in QUARTERS:
        built.run(
            "client", sys.executable, FORGE, "send", CLIENT, OURS, SERVER, PORT, "ack", number
        )


@pytest.mark.parametrize("forge", [resets, acks])
def test_what_neither_end_heeds_ends_no_steering(forge: object) -> None:
    assert callable(forge)
    with house(slow="modem", limit=500_000, distances=True) as built:
        built.helper("server", "serve")
        built.agent()
        with ThreadPoolExecutor() as pool:
            found = pool.submit(built.fetch, [OURS], 2, 5)
            time.sleep(2)
            forge(built)
            # The buffer, which holds 400 ms, fills meanwhile if nobody steers.
            time.sleep(2.5)
            waits_ms = built.ping_ms(20)
            status = built.status()
            (bps,) = found.result().values()
    assert bps >= 9e6
    assert statistics.mean(waits_ms) <= 40
    assert status["flow_count"] == 1
    assert "midstream" not in status["counts"] or status["counts"]["midstream"]["packets"] == 0
