# SPDX-License-Identifier: MIT OR Apache-2.0
"""Mean, interval and verdict, with answers from a pencil and from tables."""

import math
from random import Random
from typing import Any

import pytest
from lasthop.claims import Claim, chance_to_decide, check, foreseen, mean_interval, student_t
from lasthop.report import interval


def claim(low: float, high: float, **options: Any) -> Claim:
    return Claim("x:1-a", "x:1", "a thing", 1.0, (low, high), **options)


@pytest.mark.parametrize(
    ("degrees", "point"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (1000, 1.962)],
)
def test_student_t_against_the_printed_table(degrees: int, point: float) -> None:
    assert student_t(degrees) == pytest.approx(point, abs=5e-4)


def test_interval_of_four_values() -> None:
    # 1, 2, 3, 4: mean 2.5, variance 5/3, standard error √(5/12) = 0.645497; times 3.182446.
    value, low, high = mean_interval([1, 2, 3, 4])
    assert value == 2.5
    assert high - value == pytest.approx(2.054260, abs=1e-5)
    assert value - low == pytest.approx(high - value)


def test_interval_of_equal_values_is_a_point() -> None:
    assert mean_interval([3.0, 3.0, 3.0]) == (3.0, 3.0, 3.0)


def test_one_more_value_lies_in_a_wider_interval() -> None:
    # Of 1, 2, 3, 4 the deviation √(5/3) = 1.290994 times √(1 + 1/4) times 3.182446: 4.593471.
    value, low, high = foreseen([1, 2, 3, 4])
    assert (value, high - value) == (2.5, pytest.approx(4.593471, abs=1e-5))
    assert value - low == pytest.approx(high - value)
    assert math.isnan(foreseen([7.0]).high)


def test_the_chance_that_more_seeds_decide() -> None:
    order = claim(0, math.inf, kind="order")
    # Deviation 1. Of 32 the interval is 2.0395/√32 = 0.3605 wide, and their mean is off that of
    # 3 by √(1/3 - 1/32) = 0.5496 times T with 2 degrees, P(T > t) = 1/2 - t/(2√(2 + t²)).
    beyond = 0.5 - 0.65604 / (2 * math.sqrt(2 + 0.65604**2))
    assert chance_to_decide(order, [-1, 0, 1], 32) == pytest.approx(2 * beyond, abs=1e-4)
    # Around 0.3605 it holds as likely as not, and fails with t = 2 · 0.65604.
    fails = 0.5 - 1.31208 / (2 * math.sqrt(2 + 1.31208**2))
    nearer = [value + 0.36053 for value in (-1, 0, 1)]
    assert chance_to_decide(order, nearer, 32) == pytest.approx(0.5 + fails, abs=1e-4)
    # A band that is narrower than the interval will be can only be missed.
    narrow = claim(-0.1, 0.1)
    missed = 0.5 - 0.83799 / (2 * math.sqrt(2 + 0.83799**2))
    assert chance_to_decide(narrow, [-1, 0, 1], 32) == pytest.approx(2 * missed, abs=1e-4)
    # Nothing is foreseen from one value, nor where no more may be run.
    assert chance_to_decide(order, [0.1], 32) == chance_to_decide(order, [-1, 0, 1], 3) == 1


def test_the_foreseen_chance_is_that_of_what_comes() -> None:
    # 24 values of a normal distribution, redrawn until 24 are as wanted, and 8 more: how often
    # do 32 decide? Those left open for good are decided as seldom as foreseen.
    random = Random(1)
    order = claim(0, math.inf, kind="order")
    foretold, decided = [], []
    for _ in range(4000):
        mean = random.uniform(-0.8, 0.8)
        values = [random.gauss(mean, 1) for _ in range(32)]
        if check(order, values[:24], "full").undecided:
            foretold.append(chance_to_decide(order, values[:24], 32))
            decided.append(not check(order, values, "full").undecided)
    for low, high in ((0, 0.2), (0.2, 1)):
        among = [i for i, chance in enumerate(foretold) if low <= chance < high]
        share = sum(decided[i] for i in among) / len(among)
        told = sum(foretold[i] for i in among) / len(among)
        assert len(among) > 200 and share == pytest.approx(told, abs=0.06)


def test_one_value_has_no_interval() -> None:
    value, low, high = mean_interval([7.0])
    assert value == 7.0 and math.isnan(low) and math.isnan(high)
    checked = check(claim(0, 10), [7.0], "full")
    assert checked.verdict == "open"
    assert checked.as_json()["ci"] == [None, None]


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.0, 1.01], "holds"),  # 1.005 ± 0.064
        ([1.19, 1.19], "holds"),
        ([1.15, 1.16], "open"),  # 1.155 ± 0.064: inside, but not for certain
        ([1.5, 1.51], "fails"),  # 1.505 ± 0.064, band ends at 1.2
        ([1.24, 1.25], "open"),  # 1.245 ± 0.064 reaches 1.2
        ([0.9, 1.1], "open"),  # 1.0 ± 1.27 covers the whole band
    ],
)
def test_numbers_are_judged_by_the_whole_interval(values: list[float], verdict: str) -> None:
    assert check(claim(0.8, 1.2), values, "full").verdict == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([1.2, 1.21], "holds"), ([0.8, 0.81], "fails"), ([1.0, 1.2], "open"), ([0.9, 1.05], "open")],
)
def test_orders_are_judged_by_the_whole_interval(values: list[float], verdict: str) -> None:
    assert check(claim(1, math.inf, kind="order"), values, "full").verdict == verdict


def test_a_claim_that_needs_long_runs_is_open_in_short_ones() -> None:
    needs_full = claim(0, 2, scales=("full",))
    assert check(needs_full, [1.0, 1.0], "quick").verdict == "open"
    assert "--scale full" in check(needs_full, [1.0, 1.0], "quick").why
    assert check(needs_full, [1.0, 1.0], "full").verdict == "holds"


def test_what_was_not_measured_is_open() -> None:
    assert check(claim(0, 2), [math.nan, math.nan], "full").verdict == "open"
    assert check(claim(0, 2), [], "full").as_json()["value"] is None


def test_more_seeds_may_decide_what_few_leave_open() -> None:
    assert check(claim(0.8, 1.2), [1.15, 1.16], "full").undecided
    assert check(claim(0.8, 1.2), [1.15], "full").undecided
    assert not check(claim(0.8, 1.2), [1.0, 1.01], "full").undecided
    assert not check(claim(0.8, 1.2), [math.nan, math.nan], "full").undecided
    assert not check(claim(0.8, 1.2, scales=("full",)), [1.15, 1.16], "quick").undecided


def test_what_more_seeds_would_hardly_decide_says_so() -> None:
    left = check(claim(0.8, 1.2), [1.15, 1.16], "full").left_open(0.123, 32)
    assert (left.verdict, left.undecided) == ("open", False)
    assert left.why.endswith("and 32 seeds would decide it with a chance of 12%")


def test_values_that_no_seed_moves_are_deterministic() -> None:
    checked = check(claim(0, 2), [1.5, 1.5, 1.5], "full")
    assert checked.deterministic and checked.verdict == "holds"
    entry = checked.as_json()
    assert entry["deterministic"] is True and entry["ci"] == [None, None]
    assert interval(checked) == "deterministic"
    assert not check(claim(0, 2), [1.5], "full").deterministic
    assert not check(claim(0, 2), [1.5, 1.6], "full").deterministic


def test_only_surprises_count_against_the_exit_status() -> None:
    known = claim(0, 1, expected="fails", why="because")
    assert check(known, [2.0, 2.0], "full").as_expected
    assert check(known, [2.0, 2.0], "full").why == "because"
    assert not check(known, [0.5, 0.5], "full").as_expected
    assert not check(claim(0, 1), [2.0, 2.0], "full").as_expected
    assert check(claim(0, 1), [0.5], "full").as_expected  # open contradicts nothing


def test_json_has_the_agreed_form() -> None:
    entry = check(claim(1, math.inf, kind="order"), [2.0, 2.1], "quick").as_json()
    assert list(entry) == [
        "id", "figure", "claim", "reference", "band", "value", "ci", "deterministic", "seeds",
        "scale", "verdict", "expected", "why",
    ]  # fmt: skip
    assert entry["band"] == [1.0, None]
    # 2.05 ± 12.706 · 0.05.
    assert entry["ci"] == [pytest.approx(1.41469, abs=1e-4), pytest.approx(2.68531, abs=1e-4)]
    assert (entry["value"], entry["seeds"], entry["deterministic"]) == (2.05, 2, False)
