# SPDX-License-Identifier: MIT OR Apache-2.0
"""A hundred thousand ACKs over a part of the matrix, read by tshark."""

import itertools
from pathlib import Path

import pytest
from captures import capturing, judge
from demands import demand_program
from house import SERVER, SERVER6, house
from matrix import AXES, CONTROLS, Cell, attach, load

ONLY = "tcp and (dst net 10.2.0.0/24 or dst net fd00:2::/64)"


@pytest.mark.measured
def test_no_edge_moves_left_no_window_closes_and_sums_are_right(tmp_path: Path) -> None:
    demand_program("tshark")
    acks: dict[Cell, int] = {}
    for number, (way, congestion) in enumerate(itertools.product(AXES["way"], CONTROLS)):
        cell = Cell(way, congestion, 16, "5 to 100 ms", "100 Mbit/s", (4, 6)[number % 2])
        host = SERVER if cell.ip == 4 else SERVER6
        before, behind = tmp_path / f"{number}-before", tmp_path / f"{number}-behind"
        slow = "modem" if way == "proxy, outstanding" else "router"
        with house("100mbit", 3_000_000, slow=slow, distances=True) as built:
            built.helper("server", "serve", congestion)
            attach(built, cell, 12_500_000)
            with (
                capturing(built, "client", "eth", ONLY, before),
                capturing(built, "router", "wan", ONLY, behind),
            ):
                load(built, cell, host)
        acks[cell] = judge(behind, before)
    assert all(acks.values()), acks
    assert sum(acks.values()) >= 100_000, acks
