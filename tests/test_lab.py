# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab: sweeps, what is read off samples, and the little language of measures, by a pencil."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lasthop import UserError
from lasthop.lab import (
    Axis,
    Lab,
    PlusMinus,
    Run,
    Sweep,
    acknowledged,
    count_at,
    mean_interval,
    measure,
    moving_rate,
    rates,
    reached_s,
    settled_s,
    within,
)
from lasthop.lab.measures import OPERATORS

WIRE = """
duration = "4 s"
warmup = "1 s"
probe = { every = "500 ms" }

[[link]]
name = "wire"
from = "server"
to = "client"
rate = "10 Mbit/s"
queue = { limit = "20 packets" }
duplex = false

[[flow]]
name = "flow"
path = ["server", "client"]
rtt = "40 ms"
sender = "newreno"
jitter = "1 ms"
"""


def table(**columns: list[Any]) -> Any:
    return lambda lab: pd.DataFrame(columns)


def two_seeds(**values: list[float]) -> Lab:
    """A lab with seeds 1 and 2 and a table of ``x`` by ``name``, one value a seed."""
    rows = [(name, seed, x) for name, pair in values.items() for seed, x in enumerate(pair, 1)]
    frame = pd.DataFrame(rows, columns=["name", "seed", "x"])
    return Lab({"sweep": lambda lab: frame}, seeds=[1, 2])


def of(name: str | list[str]) -> dict[str, Any]:
    return {"sweep": "sweep", "column": "x", "name": name}


# Sweeps


def test_points_settings_and_what_is_left_out() -> None:
    sweep = Sweep(
        WIRE,
        {
            "sender": {"Reno": {"flow[0].sender": "reno"}, "Vegas": {"flow[0].sender": "vegas"}},
            "mbps": Axis([5, 10.5, 20], [5, 20], {"link[0].rate": "{mbps} Mbit/s"}),
        },
        {"full": {"duration": "9 s"}, "quick": [{"duration": "2 s"}, {"seed": 7}]},
        without=[{"sender": "Vegas", "mbps": 20}],
    )
    assert len(sweep.points("full")) == 5
    assert sweep.points("quick") == [
        {"sender": "Reno", "mbps": 5},
        {"sender": "Reno", "mbps": 20},
        {"sender": "Vegas", "mbps": 5},
    ]
    assert sweep.overrides({"sender": "Reno", "mbps": 10.5}, "quick") == (
        ("duration", "2 s"),
        ("seed", "7"),
        ("flow[0].sender", "reno"),
        ("link[0].rate", "10.5 Mbit/s"),
    )


def test_a_text_that_is_an_axis_is_its_value() -> None:
    loss = {"link[0].loss": {"kind": "bernoulli", "p": "{p}"}}
    sweep = Sweep(WIRE, {"p": Axis([0.01], set=loss)})
    assert sweep.overrides({"p": 0.01}, "full") == (
        ("link[0].loss", '{ kind = "bernoulli", p = 0.01 }'),
    )


def test_a_frame_has_a_row_a_run_and_each_run_is_run_once() -> None:
    rate = Axis([5, 10], set={"link[0].rate": "{mbps} Mbit/s"})
    sweep = Sweep(
        WIRE,
        {"mbps": rate},
        columns={"bps": "total_goodput_bps", "share": lambda run: share(run)},
        tables=True,
    )
    counted = []

    def share(run: Run) -> float:
        counted.append(run)
        return float(run.figures["total_goodput_bps"] / run.point["mbps"] / 1e6)

    lab = Lab({"rates": sweep}, seeds=[1, 2])
    frame = lab.frame("rates")
    assert list(frame) == ["mbps", "seed", "bps", "share"]
    assert list(zip(frame["mbps"], frame["seed"], strict=True)) == [
        (5, 1),
        (5, 2),
        (10, 1),
        (10, 2),
    ]
    assert (frame["share"].between(0.5, 1)).all()
    again = lab.runs("rates", mbps=10)
    assert [id(run) for run in again] == [id(run) for run in counted[2:]]
    assert len(lab.run("rates").flow("flow")) >= 7
    # The link carries what the law reads off the samples, too.
    (value,) = set(
        measure({"sweep": "rates", "mbps": 5, "column": "bps"}, Lab({"rates": sweep}, [1]))
    )
    assert value == frame["bps"].iloc[0]


def test_a_picture_takes_one_run() -> None:
    lab = Lab({"wire": Sweep(WIRE, {"mbps": Axis([5, 10])})}, seeds=[3, 4])
    run = lab.run("wire", mbps=10)
    assert (run.seed, run.point) == (3, {"mbps": 10})
    assert [one.seed for one in lab._runs.values()] == [3]


def test_errors_name_what_is_wanted() -> None:
    lab = Lab({"s": Sweep(WIRE, {"mbps": Axis([5])}, columns={"x": "y"}), "t": table(seed=[1])})
    for definition, message in (
        ({"sweep": "none", "column": "x"}, "none: no such sweep: wanted one of s, t"),
        ({"sweep": "s"}, "no column"),
        ({"sweep": "s", "mbps": 5, "column": "z"}, "z: no such column: wanted one of x"),
        ({"sweep": "s", "mbps": 6, "column": "x"}, "no run has {'mbps': 6}"),
        ({"sweep": "s", "rate": 6, "column": "x"}, "rate: wanted axes of the sweep"),
        ({"sweep": "s", "mbps": 5, "column": "x"}, "y: no such figure of the run"),
        ({"sweep": "s", "column": "x", "ratio": [{}]}, "ratio: 1 parts: wanted two"),
    ):
        with pytest.raises(UserError) as told:
            measure(definition, lab)
        assert message in str(told.value)


# The language


def test_a_point_is_scaled() -> None:
    lab = two_seeds(a=[1.0, 3.0])
    assert measure(of("a"), lab) == [1.0, 3.0]
    assert measure({**of("a"), "times": 100}, lab) == [100.0, 300.0]
    assert measure({**of("a"), "per": 2}, lab) == [0.5, 1.5]


def test_ratio_and_difference_go_seed_by_seed() -> None:
    lab = two_seeds(a=[1.0, 3.0], b=[2.0, 2.0])
    parts = [{"name": "a"}, {"name": "b"}]
    assert measure({"sweep": "sweep", "column": "x", "ratio": parts}, lab) == [0.5, 1.5]
    assert measure({"sweep": "sweep", "column": "x", "difference": parts}, lab) == [-1.0, 1.0]


def test_a_ratio_of_means_has_no_bias_of_scattered_seeds() -> None:
    lab = two_seeds(a=[1.0, 3.0], b=[2.0, 2.0])
    parts = {"sweep": "sweep", "column": "x", "ratio_of_means": [{"name": "a"}, {"name": "b"}]}
    assert measure(parts, lab) == [0.5, 1.5]
    with pytest.raises(UserError, match="pick = least: wanted none beside ratio_of_means"):
        measure({**parts, "pick": "least"}, lab)
    lab = two_seeds(a=[1.0, math.nan], b=[2.0, 2.0])
    assert measure(parts, lab) == [0.5]
    lab = two_seeds(a=[1.0, 3.0], b=[2.0, 0.0])
    assert np.isnan(measure(parts, lab)).tolist() == [True, False]
    # Two columns that are alike in the mean, each with a scatter of .4: mean of the ratios 1.17.
    count, rounds = 40, 400
    drawn = np.random.default_rng(1).lognormal(-0.08, 0.4, (rounds, 2, count))
    estimates = []
    for above, below in drawn:
        seeds = list(range(count))
        rows = [(n, s, x) for n, xs in (("a", above), ("b", below)) for s, x in enumerate(xs)]
        frame = pd.DataFrame(rows, columns=["name", "seed", "x"])
        scattered = Lab({"sweep": lambda lab, frame=frame: frame}, seeds=seeds)
        estimates.append(mean_interval(measure(parts, scattered)))
    assert abs(np.mean([found.value for found in estimates]) - 1) < 0.01
    assert 0.92 < np.mean([found.low < 1 < found.high for found in estimates]) < 0.98


def test_only_seeds_that_both_have_count() -> None:
    frame = pd.DataFrame({"name": ["a", "a", "b"], "seed": [1, 2, 2], "x": [1.0, 3.0, 2.0]})
    lab = Lab({"sweep": lambda lab: frame}, seeds=[1, 2])
    parts = [{"name": "a"}, {"name": "b"}]
    assert measure({"sweep": "sweep", "column": "x", "ratio": parts}, lab) == [1.5]


def test_one_of_several_is_picked_seed_by_seed() -> None:
    lab = two_seeds(a=[1.0, 4.0], b=[2.0, 2.0], c=[3.0, 1.0])
    for pick, wanted in (
        ("least", [1.0, 1.0]),
        ("greatest", [3.0, 4.0]),
        ({"furthest_from": 2}, [1.0, 4.0]),
    ):
        assert measure({**of("all"), "pick": pick}, lab) == wanted
    with pytest.raises(UserError, match="3 values a seed: wanted pick"):
        measure(of("all"), lab)
    with pytest.raises(UserError, match="pick = most: wanted"):
        measure({**of("all"), "pick": "most"}, lab)


def test_a_list_beside_an_operator_is_for_each_one_within_for_all_pairs() -> None:
    frame = pd.DataFrame(
        [(s, q, 1, x) for s, q, x in (("a", "p", 1), ("a", "q", 2), ("b", "p", 9), ("b", "q", 3))],
        columns=["sender", "queue", "seed", "x"],
    )
    lab = Lab({"m": lambda lab: frame}, seeds=[1])
    common = {"sweep": "m", "column": "x", "pick": "greatest"}
    # Each sender's p over its q: 1/2 and 9/3.
    parts = [{"queue": "p"}, {"queue": "q"}]
    assert measure({**common, "sender": ["a", "b"], "ratio": parts}, lab) == [3.0]
    # b with either queue over a with either: 9/1 at most.
    parts = [{"sender": "b"}, {"sender": "a"}]
    assert measure({**common, "ratio": [{**p, "queue": "all"} for p in parts]}, lab) == [9.0]
    # Ratios of ratios: (9/3)/(1/2).
    nested = [{"queue": "p"}, {"queue": "q"}]
    assert measure(
        {"sweep": "m", "column": "x",
         "ratio": [{"sender": "b", "ratio": nested}, {"sender": "a", "ratio": nested}]}, lab,
    ) == [6.0]  # fmt: skip


def test_an_order_is_its_smallest_step_by_the_mean() -> None:
    lab = two_seeds(a=[1.0, 1.0], b=[2.0, 3.0], c=[2.5, 2.0])
    # From a to b 1 and 2, from b to c 0.5 and −1, which is less in the mean.
    rising = [{"name": "a"}, {"name": "b"}, {"name": "c"}]
    assert measure({"sweep": "sweep", "column": "x", "order": rising}, lab) == [0.5, -1.0]
    # Above a, b leads by 1 and 2, c by 1.5 and 1: c by less in the mean, though not at first.
    above = [{"name": "a"}, {"name": ["b", "c"]}]
    assert measure({"sweep": "sweep", "column": "x", "order": above}, lab) == [1.5, 1.0]


def test_more_seeds_are_run_for_steps_that_may_be_the_smallest() -> None:
    ran: dict[int, set[int]] = {1: set(), 2: set(), 9: set()}

    def noisy(run: Run) -> float:
        mbps = run.point["mbps"]
        ran[mbps].add(run.seed)
        return float(mbps + 0.1 * mbps * (run.seed % 2))

    sweep = Sweep(
        WIRE,
        {"mbps": Axis([1, 2, 9], set={"link[0].rate": "{mbps} Mbit/s"})},
        columns={"x": noisy},
    )
    lab = Lab({"wires": sweep}, seeds=range(1, 13))
    parts = [{"mbps": 1}, {"mbps": [2, 9]}]
    steps = measure({"sweep": "wires", "column": "x", "order": parts}, lab)
    # The step to 2 is 1.1 and 1 in turns, which three seeds show to be less than that to 9.
    assert steps == pytest.approx([1.1, 1.0] * 6)
    assert ran == {1: set(lab.seeds), 2: set(lab.seeds), 9: {1, 2, 3}}


def test_more_seeds_are_run_for_what_may_be_picked() -> None:
    ran: dict[int, set[int]] = {1: set(), 2: set(), 9: set()}

    def noisy(run: Run) -> float:
        mbps = run.point["mbps"]
        ran[mbps].add(run.seed)
        # Off 5 by 4, 3 or 2.5, and 4 in turns.
        return {1: 9.0, 2: 2.0, 9: 5.0 + 0.1 * (run.seed % 3)}[mbps]

    sweep = Sweep(
        WIRE,
        {"mbps": Axis([1, 2, 9], set={"link[0].rate": "{mbps} Mbit/s"})},
        columns={"x": noisy},
    )
    lab = Lab({"wires": sweep}, seeds=range(1, 7))
    point = {"sweep": "wires", "column": "x", "mbps": "all"}
    assert measure({**point, "pick": {"furthest_from": 5}}, lab) == [9.0] * 6
    assert ran == {1: set(lab.seeds), 2: {1, 2, 3}, 9: {1, 2, 3}}
    # The least is 2 for certain, which takes no more of the others.
    assert measure({**point, "pick": "least"}, lab) == [2.0] * 6
    assert ran[9] == {1, 2, 3}
    # Of ratios to 2, too: 4.5 is greater than 2.5 to 2.6, and than 1.
    parts = [{"mbps": "all"}, {"mbps": 2}]
    ratios = {"sweep": "wires", "column": "x", "ratio": parts, "pick": "greatest"}
    assert measure(ratios, lab) == [4.5] * 6
    assert ran[9] == {1, 2, 3}


def test_what_a_sweep_leaves_out_is_not_among_several() -> None:
    rate = Axis([5, 10], set={"link[0].rate": "{mbps} Mbit/s"})
    axes = {"sender": {"Reno": {}, "Vegas": {"flow[0].sender": "vegas"}}, "mbps": rate}
    without = [{"sender": "Vegas", "mbps": 10}]
    sweep = Sweep(WIRE, axes, columns={"x": lambda run: run.point["mbps"]}, without=without)
    lab = Lab({"wires": sweep}, seeds=[1])
    both = {"sweep": "wires", "column": "x", "sender": "all", "mbps": "all"}
    assert measure({**both, "pick": "greatest"}, lab) == [10.0]
    with pytest.raises(UserError, match="no run has"):
        measure({**both, "mbps": {"from": 11}, "pick": "greatest"}, lab)


def test_where_a_curve_has_a_value() -> None:
    frame = pd.DataFrame({"seed": [1] * 3, "delay_s": [0.3, 0.1, 0.2], "x": [9.0, 1.0, 5.0]})
    lab = Lab({"curve": lambda lab: frame}, seeds=[1])
    point = {"sweep": "curve", "column": "x"}
    assert measure({**point, "at": {"delay_s": 0.15}}, lab) == [pytest.approx(3.0)]
    assert math.isnan(measure({**point, "at": {"delay_s": 0.31}}, lab)[0])


def test_samples_of_a_run() -> None:
    lab = Lab({"wire": Sweep(WIRE, tables=True)}, seeds=[1, 2])
    samples = [run.queue("wire") for run in lab.runs("wire")]
    point = {"sweep": "wire", "table": "queues", "of": "wire", "column": "bytes"}
    late = [within(frame, 2, 4)["bytes"] for frame in samples]
    assert measure({**point, "span": [2, 4]}, lab) == [float(part.mean()) for part in late]
    assert measure({**point, "span": [[2, 3], [3, 4]], "samples": "greatest"}, lab) == [
        float(part.max()) for part in late
    ]
    spread = measure({**point, "span": [2, 4], "samples": "deviation"}, lab)
    assert spread == pytest.approx([float(np.std(part)) for part in late])
    with pytest.raises(UserError, match="samples = median: wanted one of mean"):
        measure({**point, "samples": "median"}, lab)


def test_python_is_a_measure_and_a_part_of_one() -> None:
    lab = two_seeds(a=[1.0, 3.0])
    assert measure(lambda lab: [5.0, 6.0], lab) == [5.0, 6.0]
    assert measure({"difference": [lambda lab: [5.0, 6.0], of("a")]}, lab) == [4.0, 3.0]
    assert set(OPERATORS) == {"ratio", "ratio_of_means", "difference", "order"}


# Samples


def sampled(bps: list[float]) -> dict[str, pd.DataFrame]:
    """The samples of one flow that has these rates in bit/s, a second each, sampled twice."""
    so_far = [0.0]
    for rate in bps:
        so_far += [so_far[-1] + rate / 16, so_far[-1] + rate / 8]
    time = [i / 2 for i in range(len(so_far))]
    frame = pd.DataFrame({"time_s": time, "flow": "f", "acknowledged_bytes": so_far})
    return {"flows": frame}


def test_rates_and_when_they_have_settled() -> None:
    so_far = acknowledged(sampled([8e6, 1e6, 5e6, 4e6, 4e6, 4e6, 4e6, 4e6, 4e6, 4e6]))
    assert list(rates(so_far)["f"])[:3] == [8e6, 1e6, 5e6]
    assert list(rates(so_far).index)[:3] == [1.0, 2.0, 3.0]
    rate = moving_rate(so_far["f"])
    # The third second has 5 Mbit/s, and the last half of it is in the second up to 3.5 s: 4.5.
    assert rate[3.5] == 4.5e6
    assert settled_s(rate) == 3.5
    assert settled_s(rate, since_s=1.0, for_s=9.0) == 2.5
    assert settled_s(rate, since_s=4.0, for_s=6.0) == 0.0


def test_when_a_rate_is_reached() -> None:
    ends, rate = [1.0, 2.0, 3.0, 4.0], [9.0, 1.0, 5.0, 9.0]
    options = {"window_s": 1.0}
    # The window up to 1 s began before; that up to 3 s is the first with 5, that up to 4 s with 6.
    assert reached_s(ends, rate, 5.0, since_s=0.5, **options) == 2.5
    assert reached_s(ends, rate, 6.0, since_s=0.5, **options) == 3.5
    assert reached_s(ends, rate, 6.0, since_s=0.5, until_s=3.5, **options) == 3.0
    assert math.isnan(reached_s(ends, rate, 10.0, since_s=0.5, **options))


def test_a_count_between_its_samples() -> None:
    so_far = pd.Series([0.0, 10.0, 30.0], index=[0.0, 1.0, 2.0])
    assert list(count_at(so_far, [0.5, 1.5])) == [5.0, 20.0]


def test_a_mean_and_its_interval_in_words() -> None:
    # 1, 2, 3, 4: 2.5 ± 2.054.
    found = PlusMinus.of([1, 2, 3, 4])
    assert found.half == pytest.approx(mean_interval([1, 2, 3, 4]).high - 2.5)
    assert found.text(2) == "2.50 ± 2.05"
    assert PlusMinus.of([3.0]).text(1) == "3.0"
    assert PlusMinus.of([3.0, 3.0]).text(1) == "3.0"
