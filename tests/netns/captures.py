# SPDX-License-Identifier: MIT OR Apache-2.0
"""ACKs as tshark captures and reads them, on both sides of an agent."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from house import House
from pair import fields

FIELDS = ["tcp.srcport", "tcp.ack_raw", "tcp.window_size_value", "tcp.options.wscale.shift",
          "tcp.flags", "tcp.checksum.status"]  # fmt: skip
SYN, RST = 2, 4


@contextmanager
def capturing(built: House, name: str, device: str, only: str, to: Path) -> Iterator[None]:
    """Captures what passes a device."""
    tshark = built.start(name, "tshark", "-q", "-i", device, "-w", to, "-f", only)
    try:
        # Its file is there once packets are taken; it says that it captures before that.
        while not to.exists() or not to.stat().st_size:
            assert tshark.poll() is None, tshark.communicate()
            time.sleep(0.02)
        yield
        time.sleep(0.5)
    finally:
        tshark.terminate()
        tshark.communicate()


def zero_windows(capture: Path) -> set[tuple[str, ...]]:
    """Ports and numbers of the ACKs whose window is zero."""
    return {
        (port, ack)
        for port, ack, window, _, flags, _ in fields(capture, FIELDS, "tcp")
        if int(window) == 0 and not int(flags, 16) & (SYN | RST)
    }


def judge(behind: Path, before: Path) -> int:
    """How many ACKs there are, if no edge goes left, no window of ours is zero and sums hold."""
    zeros = zero_windows(before)
    edges: dict[str, int] = {}
    shifts: dict[str, int] = {}
    acks = 0
    for line in fields(behind, FIELDS, "tcp"):
        port, ack, window, shift, flags, checksum = line
        assert checksum == "1", line
        if int(flags, 16) & SYN:
            shifts[port] = int(shift)
            edges.pop(port, None)
            assert int(window) > 0
            continue
        if int(flags, 16) & RST or port not in shifts:
            continue
        assert int(window) > 0 or (port, ack) in zeros, line
        edge = int(ack) + (int(window) << shifts[port])
        # Sequence numbers go round.
        assert (edge - edges.get(port, edge)) % 2**32 < 2**31, line
        edges[port] = edge
        acks += 1
    return acks
