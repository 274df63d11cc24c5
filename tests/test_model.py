# SPDX-License-Identifier: MIT OR Apache-2.0
"""What Python is told of the papers' theory, by a pencil."""

import math

import pytest
from lasthop._lasthop import (
    clamp_equilibrium,
    jain,
    share_wait,
    square_root_window,
    xcp_standing_queue,
)


def test_clamps_queue_rests_at_k_tau_plus_a_over_b() -> None:
    assert clamp_equilibrium(5500, 1, 500, 3) == 7000
    assert clamp_equilibrium(5500, 0.5, 500, 1.5) == 12_500
    with pytest.raises(ValueError, match=r"^b = 0: wanted more than 0$"):
        clamp_equilibrium(5500, 0, 500, 3)


def test_jains_index() -> None:
    assert jain([1, 3]) == 0.8
    assert jain([0, 0]) is None
    assert jain([]) is None


def test_the_square_root_law() -> None:
    assert square_root_window(0.06) == 5
    with pytest.raises(ValueError, match=r"^loss = 0: "):
        square_root_window(0)


def test_xcp_keeps_what_it_was_told_too_much() -> None:
    # g = (0.4/0.2)·¼ = ½: as much as 8 kbit/s carry in 0.1 s.
    assert xcp_standing_queue(10e3, 8e3, 0.1, beta=0.2) == pytest.approx(100)
    assert xcp_standing_queue(20e3, 8e3, 0.1) is None
    with pytest.raises(ValueError, match=r"^rtt_s = NaN: "):
        xcp_standing_queue(10e3, 8e3, math.nan)


def test_where_the_share_window_rests() -> None:
    assert share_wait(0.025, 0.9, 0.5, 0.06) == pytest.approx(0.021)
    with pytest.raises(ValueError, match="kappa = 1: wanted from 0 up to, but not, 1"):
        share_wait(0.025, 0.9, 1.0, 0.06)
