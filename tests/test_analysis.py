# SPDX-License-Identifier: MIT OR Apache-2.0
"""The fluid model against closed forms, and what random loops say."""

import math
import re
from typing import Any

import pytest
from lasthop import analysis


def test_theorem_1() -> None:
    for delays_s in ([0.01], [0.2], [0.05] * 4):
        assert analysis.critical_b(delays_s) == pytest.approx(math.pi / 2, abs=1e-9)
    assert analysis.critical_b([0.05], upto=1.5) == math.inf
    found = analysis.critical_b_by_integration([0.05], upto=3)
    assert found == pytest.approx(math.pi / 2, rel=2e-3)
    assert [analysis.unstable_roots(b, [0.05]) for b in (1.5, 1.6)] == [0, 2]


@pytest.mark.parametrize(("one_s", "other_s"), [(1, 1), (1, 2), (1, 10), (0.041, 0.2843)])
def test_proposition_2(one_s: float, other_s: float) -> None:
    x = math.pi * one_s / (one_s + other_s)
    theory = x / math.sin(x) / one_s
    assert analysis.two_flows_critical_b(one_s, other_s) == pytest.approx(theory, rel=1e-12)
    found = analysis.critical_b(
        [one_s, other_s], scale="nothing", queueing_s=50, price_s=1, upto=100
    )
    assert found == pytest.approx(theory, rel=1e-6)


def test_behind_an_average() -> None:
    # x tan x = 0.1 at x = 0.3111, and x/sin x = 1.0163.
    assert analysis.averaged_critical_b(0.05, 2) == pytest.approx(1.0163, abs=1e-4)
    found = analysis.critical_b([0.05], scale="round-trip", queueing_s=0.005, average=2)
    assert found == pytest.approx(analysis.averaged_critical_b(0.05, 2, queueing_s=0.005))
    assert found == pytest.approx(1.1 * 1.0163, abs=1e-4)


def test_a_trajectory_comes_to_rest_at_k_tau_plus_a_over_b() -> None:
    found = analysis.trajectory(
        [0.03, 0.06], rate_bps=8e5, tau_bytes=500, a_bytes=2250, b=0.5, duration_s=40,
        weights=[1, 3], start=[1500, 1500],
    )  # fmt: skip
    last = found.iloc[-1]
    # Four shares of 500 B and 2250 B, over ½; a quarter of 100 kB/s on 30 ms, and of the queue.
    assert last["queue_bytes"] == pytest.approx(8500, rel=1e-3)
    assert last["rate_1_bps"] == pytest.approx(2e5, rel=1e-3)
    assert last["window_1_bytes"] == pytest.approx(750 + 2125, rel=1e-3)
    assert found["time_s"].iloc[1] == pytest.approx(0.01, abs=1e-3)


def test_no_set_with_rates_at_rest_swings_below_half_of_pi_but_mixed_ones_do() -> None:
    found = analysis.random_sets(2000, seed=5)
    assert found["b_at_rest"].min() >= math.pi / 2 - 1e-9
    assert found["b_mixed"].min() < 0.5
    worst = found.loc[found["b_mixed"].idxmin()]
    assert worst["queueing_s"] < worst["longest_s"] / 10
    loop = {
        "weights": worst["weights"],
        "queueing_s": worst["queueing_s"],
        "price_s": worst["price_s"],
    }
    roots = [
        analysis.unstable_roots(part * worst["b_mixed"], worst["delays_s"], **loop)
        for part in (0.99, 1.01)
    ]
    assert roots == [0, 2]
    assert analysis.random_sets(5, seed=5).equals(found.head(5))


def test_what_is_no_fluid_is_refused() -> None:
    for wrong, message in (
        ({"delays_s": [0.0]}, "delay = 0: wanted a number above 0"),
        ({"delays_s": []}, r"delays = \[\]: wanted one flow at least"),
        ({"delays_s": [0.1], "weights": [1, 2]}, "weights: 2 of them: wanted one for each flow"),
        ({"delays_s": [0.1], "scale": "rtt"}, "scale = rtt: wanted propagation, round-trip or"),
        ({"delays_s": [0.1], "mixing": "some"}, "mixing = some: wanted at-rest or perfect"),
        ({"delays_s": [0.1], "average": 0.0}, "average = 0: wanted a number above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            analysis.critical_b(**wrong)
    known = {"rate_bps": 1e6, "tau_bytes": 500, "a_bytes": 5500, "duration_s": 1}
    with pytest.raises(ValueError, match="price = dear: wanted linear, mice or smooth"):
        analysis.trajectory([0.1], price="dear", **known)
    with pytest.raises(ValueError, match="step = 1: wanted at most the shortest delay"):
        analysis.trajectory([0.1], step_s=1, **known)


def test_an_argument_of_another_type_is_named() -> None:
    law: dict[str, Any] = {"rate_bps": 1e6, "tau_bytes": 500, "a_bytes": 5500, "duration_s": 1}
    for call, message in (
        (lambda: analysis.critical_b("x"), "delays_s = 'x': wanted a list of numbers"),
        (lambda: analysis.critical_b(0.1), "delays_s = 0.1: wanted a list of numbers"),
        (lambda: analysis.critical_b([[0.1]]), "delays_s = [[0.1]]: wanted a list of numbers"),
        (lambda: analysis.critical_b([0.1], weights=3),
         "weights = 3: wanted a list of numbers or None"),
        (lambda: analysis.critical_b([0.1], scale=3), "scale = 3: wanted a name"),
        (lambda: analysis.critical_b([0.1], average="2"), "average = '2': wanted a number or None"),
        (lambda: analysis.unstable_roots("1", [0.1]), "b = '1': wanted a number"),
        (lambda: analysis.two_flows_critical_b(None, 2), "one_s = None: wanted a number"),
        (lambda: analysis.averaged_critical_b("1", 2), "delay_s = '1': wanted a number"),
        (lambda: analysis.trajectory([0.1], **law, start="x"),
         "start = 'x': wanted a number or a list of numbers"),
        (lambda: analysis.trajectory([0.1], **law, every_s=None),
         "every_s = None: wanted a number"),
        (lambda: analysis.random_sets(2.5), "count = 2.5: wanted a whole number"),
        (lambda: analysis.random_sets(2, flows=3),
         "flows = 3: wanted the least and the greatest whole number"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
            call()
    numpy = pytest.importorskip("numpy")
    one = analysis.critical_b(numpy.array([0.05], dtype="float32"), upto=numpy.int64(3))
    assert one == pytest.approx(math.pi / 2)
