# SPDX-License-Identifier: MIT OR Apache-2.0
"""The little language in which a claim says what is measured: points, ratios, differences, orders.

A measure is a mapping. Without an operator it is a **point**: a ``column`` of a ``sweep`` where
its axes have the values given, one value a seed::

    { sweep = "wired-10", flows = 100, contender = "smooth", column = "overhead", times = 100 }

Its keys besides the names of the sweep's axes:

``column``
    A column of the sweep's frame. With ``table`` one of that sampled table, ``of`` the flow or
    the queue named, in one ``span`` of seconds or several: its mean, or what ``samples`` names
    (``mean``, ``greatest``, ``deviation``).
``at``
    ``{ delay_s = 0.05 }``: where a column of the curve has a value, between its points by
    straight lines; NaN beyond them.
``times``, ``per``
    The value is multiplied or divided by this.

An axis may be given several values, ``["smooth", "reno"]``, ``{ from = 30, upto = 300 }`` or
``"all"``: then the point is several, and ``pick`` says which of them counts, seed by seed:
``least``, ``greatest``, or ``{ furthest_from = 1 }``. Where a few seeds make it unlikely that one
of them is picked with the next, no more are run for it: among many that are alike the picked value
may be somewhat less extreme than if all had been run.

**Operators** take a list of measures, for which the keys beside the operator hold, too:

``ratio = [above, below]``, ``difference = [greater, less]``
    Seed by seed. Where a part is several, all pairs; where the operator is, for each of them.
``ratio_of_means = [above, below]``
    The mean over the seeds of one part over that of the other, where seeds scatter so much that
    the mean of their ratios would be too high, as it is by the square of the scatter below. A
    seed has its pseudo-value of the jackknife, so that mean and interval are those of the ratio.
    A seed that lacks one of the two does not count.
``order = [least, …, greatest]``
    The smallest step from one part to the next; where a part is several, each of them. Smallest
    by the mean over the seeds, as the least of each seed would be that of its noise. Where a few
    seeds show that a step is not the smallest, the interval of what it is more lying above 0, no
    more are run for it.

A function of the lab that gives one value a seed is a measure, too; a paper names it,
``{ python = "measures.name" }``.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ..claims import Estimate, foreseen, mean_interval
from ..errors import UserError
from .samples import of_flow, of_queue, within
from .sweeps import Lab, Parted, Run, Sweep, matches, value_of

Values = dict[int, float]
"""One value a seed."""

Measure = Mapping[str, Any]

FEW = 3
"""Seeds that may show that one of several does not count, if not fewer are asked for."""

OPERATORS = ("ratio", "ratio_of_means", "difference", "order")
POINT = ("sweep", "column", "table", "of", "span", "samples", "at", "times", "per")
SAMPLES: dict[str, Callable[[pd.Series], float]] = {
    "mean": lambda samples: float(samples.mean()),
    "greatest": lambda samples: float(samples.max()),
    "deviation": lambda samples: float(samples.std(ddof=0)),
}


def measure(definition: Measure | Callable[[Lab], list[float]], lab: Lab) -> list[float]:
    """Measures: one value a seed, in the order of the seeds. NaN where there is none.

    Raises :class:`lasthop.UserError` where the definition is wrong.
    """
    found = _evaluate(definition, {}, lab)
    if len(found) != 1:
        raise UserError(f"{definition}: {len(found)} values a seed: wanted pick = …")
    return list(found[0].values())


def _evaluate(definition: Any, inherited: Measure, lab: Lab) -> list[Values]:
    """All values that a measure has, each by seed."""
    if callable(definition):
        return [dict(zip(lab.seeds, definition(lab), strict=True))]
    verb = next((name for name in OPERATORS if name in definition), None)
    own = {k: v for k, v in definition.items() if k != "pick" and k not in OPERATORS}
    keys = {**inherited, **own}
    pick = definition.get("pick")
    if verb is None:
        points = [keys] if "at" in keys else list(_each(keys, lab)) or [keys]
        return _picked(points, _point, lab, pick)
    parts = definition[verb]
    if verb != "order" and len(parts) != 2:
        raise UserError(f"{verb}: {len(parts)} parts: wanted two")
    steps = _steps(parts, keys, lab)
    if verb == "order":
        return [_smallest_step(steps, lab)]
    if verb == "ratio_of_means" and pick is not None:
        raise UserError(f"pick = {pick}: wanted none beside {verb}, which has no value of a seed")
    what = PAIRS[verb]
    return _picked(steps, lambda step, lab: _pairs(step, lab, what), lab, pick)


def _with(one: Values, other: Values, what: Callable[[float, float], float]) -> Values:
    """Two values a seed made one, of the seeds that both have."""
    return {seed: what(one[seed], other[seed]) for seed in one if seed in other}


def _ratio_of_means(above: Values, below: Values) -> Values:
    """The jackknife's pseudo-values n θ - (n - 1) θ₋ᵢ of the ratio θ of two means.

    θ₋ᵢ is θ without seed i (Tukey, Annals of Mathematical Statistics 29, 1958, p. 614). Seeds where
    either is not finite are left out; where a mean below is 0, there is no value.
    """
    both = [seed for seed in above if seed in below and math.isfinite(above[seed] + below[seed])]
    count = len(both)
    if not both:
        return {}
    over = sum(above[seed] for seed in both)
    under = sum(below[seed] for seed in both)
    if count < 2:
        return dict.fromkeys(both, _quotient(over, under))
    whole = count * _quotient(over, under)
    return {
        seed: whole - (count - 1) * _quotient(over - above[seed], under - below[seed])
        for seed in both
    }


def _quotient(above: float, below: float) -> float:
    return above / below if below else math.nan


_difference = partial(_with, what=operator.sub)
PAIRS: dict[str, Callable[[Values, Values], Values]] = {
    "ratio": partial(_with, what=operator.truediv),
    "ratio_of_means": _ratio_of_means,
    "difference": _difference,
}
"""What is made of the values of two parts."""


Step = tuple[Any, Any, Measure]
"""Two parts, and the keys that both inherit."""


def _steps(parts: Sequence[Any], keys: Measure, lab: Lab) -> list[Step]:
    """All pairs of parts that follow each other, each as narrow as it can be."""
    return [
        (one, other, chosen)
        for chosen in _each(keys, lab)
        for left, right in itertools.pairwise(parts)
        for one in _narrow(left, chosen, lab)
        for other in _narrow(right, chosen, lab)
    ]


def _narrow(part: Any, inherited: Measure, lab: Lab) -> list[Any]:
    """The points of a part that is several; any other part as it is."""
    if callable(part) or any(name in part for name in ("pick", *OPERATORS)):
        return [part]
    keys = {**inherited, **part}
    return list(_each(keys, lab)) or [keys]


Candidate = TypeVar("Candidate")
"""One of several, of which a measure takes one: a point, or a step."""


def _raced(
    several: Sequence[Candidate],
    evaluate: Callable[[Candidate, Lab], list[Values]],
    lab: Lab,
    is_out: Callable[[list[Values]], Callable[[Values], bool]],
) -> list[Values]:
    """The values of those that may count, by ever more seeds; ``is_out`` tells who may not."""
    counts = [len(lab.seeds)]
    while counts[-1] >= 2 * FEW:
        counts.append(counts[-1] // 2)
    values: list[Values] = []
    for count in reversed(counts):
        some = replace(lab, seeds=lab.seeds[:count])
        found = [evaluate(one, some) for one in several]
        values = list(itertools.chain(*found))
        if count < len(lab.seeds):
            out = is_out(values)
            several = [
                one for one, its in zip(several, found, strict=True)
                if not all(out(value) for value in its)
            ]  # fmt: skip
    return values


def _smallest_step(steps: Sequence[Step], lab: Lab) -> Values:
    """The step that is the smallest in the mean."""

    def least(found: list[Values]) -> Values:
        return min(found, key=lambda values: fmean(values.values()))

    def is_out(found: list[Values]) -> Callable[[Values], bool]:
        smallest = least(found)
        # Seed by seed, as two intervals may well overlap where their difference is certain.
        return lambda values: _interval(_difference(values, smallest)).low > 0

    def rise(less: Values, greater: Values) -> Values:
        return _difference(greater, less)

    return least(_raced(steps, lambda step, lab: _pairs(step, lab, rise), lab, is_out))


def _pairs(step: Step, lab: Lab, what: Callable[[Values, Values], Values]) -> list[Values]:
    """The values of all pairs of what both parts of a step have."""
    *parts, inherited = step
    sides = (_evaluate(part, inherited, lab) for part in parts)
    return [what(one, other) for one, other in itertools.product(*sides)]


def _interval(values: Values) -> Estimate:
    return mean_interval(list(values.values()))


def _each(keys: Measure, lab: Lab) -> Iterator[dict[str, Any]]:
    """The keys once for each combination of the values of the axes that have several."""
    axes = _axes(keys, lab) if "sweep" in keys else {}
    several = {
        name: [value for value in axes[name] if matches({name: value}, {name: wanted})]
        for name, wanted in keys.items()
        if name in axes and (isinstance(wanted, list | Mapping) or wanted == "all")
    }
    for values in itertools.product(*several.values()):
        chosen = {**keys, **dict(zip(several, values, strict=True))}
        if not several or _exists(chosen, axes, lab):
            yield chosen


def _exists(keys: Measure, axes: Mapping[str, Sequence[Any]], lab: Lab) -> bool:
    """Whether a sweep has the point: some may be left out of it."""
    where = {name: wanted for name, wanted in keys.items() if name in axes}
    found = lab.sweeps[keys["sweep"]]
    if isinstance(found, Sweep):
        return any(matches(point, where) for point in found.points(lab.scale))
    return not lab.frame(keys["sweep"], **where).empty


def _axes(keys: Measure, lab: Lab) -> dict[str, Sequence[Any]]:
    """The axes of the sweep that is named, with their values; of a table, its columns."""
    found = lab.sweeps.get(keys["sweep"])
    if isinstance(found, Sweep):
        return {name: found.values(name, lab.scale) for name in found.axes}
    parted = found.column if isinstance(found, Parted) else None
    frame = lab.frame(keys["sweep"], **{name: keys[name] for name in keys if name == parted})
    return {name: list(frame[name].unique()) for name in keys if name in frame}


def _picked(
    several: Sequence[Candidate],
    evaluate: Callable[[Candidate, Lab], list[Values]],
    lab: Lab,
    pick: str | Mapping[str, float] | None,
) -> list[Values]:
    """Of several values a seed, the one that is wanted.

    Who would be picked neither so far nor, foreseen to 97.5 %, with one more seed is left out. That
    takes values for normal, and does not look further than one seed: who is left out would have
    been picked now and then. Of ten that are alike, with 24 seeds, the mean of what is picked is
    less extreme by an eighth of its interval's half-width where values are normal, and by two
    fifths where they are log-normal (σ = 1).
    """
    if pick is None:
        return [values for one in several for values in evaluate(one, lab)]
    score = _score(pick)

    def best(found: list[Values]) -> Values:
        return {seed: max((its[seed] for its in found), key=score) for seed in found[0]}

    def is_out(found: list[Values]) -> Callable[[Values], bool]:
        least = min(score(value) for value in best(found).values())
        return lambda values: foreseen([score(value) for value in values.values()]).high < least

    return [best(_raced(several, evaluate, lab, is_out))]


def _score(pick: str | Mapping[str, float]) -> Callable[[float], float]:
    """What is greatest of the value that is picked."""
    if isinstance(pick, Mapping):
        target = pick["furthest_from"]
        return lambda value: abs(value - target)
    if pick not in ("least", "greatest"):
        raise UserError(f"pick = {pick}: wanted least, greatest or {{ furthest_from = … }}")
    return (lambda value: -value) if pick == "least" else (lambda value: value)


def _point(keys: Measure, lab: Lab) -> list[Values]:
    """A point, or several, each by seed."""
    for name in ("sweep", "column"):
        if name not in keys:
            raise UserError(f"{dict(keys)}: no {name}: wanted the name of one")
    where = {name: value for name, value in keys.items() if name not in POINT}
    unknown = set(where) - set(_axes(keys, lab))
    if unknown:
        raise UserError(f"{keys['sweep']}: {', '.join(unknown)}: wanted axes of the sweep")
    rows = _rows(keys, where, lab)
    if not rows:
        raise UserError(f"{keys['sweep']}: no run has {where}")
    found = _curve(rows, keys["at"]) if "at" in keys else _by_point(rows)
    return [{seed: _scaled(value, keys) for seed, value in one.items()} for one in found]


def _scaled(value: float, keys: Measure) -> float:
    if "times" in keys:
        return float(keys["times"] * value)
    return float(value / keys["per"]) if "per" in keys else float(value)


Row = tuple[tuple[Any, ...], int, tuple[float, float]]
"""Point, seed, and the values of the column along which to interpolate and of that wanted."""


def _rows(keys: Measure, where: Mapping[str, Any], lab: Lab) -> list[Row]:
    along = next(iter(keys["at"])) if "at" in keys else keys["column"]
    found = lab.sweeps[keys["sweep"]]
    if not isinstance(found, Sweep):
        frame = lab.frame(keys["sweep"], **where)
        points = frame[list(where)].itertuples(index=False, name=None)
        columns = (frame[name].tolist() for name in ("seed", along, keys["column"]))
        return [(point, seed, (x, y)) for point, seed, x, y in zip(points, *columns, strict=True)]
    runs = lab.runs(keys["sweep"], **where)
    if "table" in keys:
        return [(tuple(run.point.values()), run.seed, (0.0, _sampled(keys, run))) for run in runs]
    x, y = (_column(found, name) for name in (along, keys["column"]))
    return [(tuple(run.point.values()), run.seed, (x(run), y(run))) for run in runs]


def _column(sweep: Sweep, name: str) -> Callable[[Run], float]:
    if sweep.columns and name not in sweep.columns:
        raise UserError(f"{name}: no such column: wanted one of {', '.join(sweep.columns)}")
    column = sweep.columns.get(name, name)
    return lambda run: value_of(column, run)


def _by_point(rows: Sequence[Row]) -> list[Values]:
    found: dict[tuple[Any, ...], Values] = {}
    for point, seed, (_, value) in rows:
        found.setdefault(point, {})[seed] = value
    return list(found.values())


def _curve(rows: Sequence[Row], at: Mapping[str, float]) -> list[Values]:
    """Each seed's curve where ``at`` says, by straight lines; NaN beyond its ends."""
    ((_, wanted),) = at.items()
    found: Values = {}
    for seed in dict.fromkeys(seed for _, seed, _ in rows):
        curve = sorted(pair for _, its, pair in rows if its == seed)
        x, y = zip(*curve, strict=True)
        found[seed] = float(np.interp(wanted, x, y, left=math.nan, right=math.nan))
    return [found]


def _sampled(keys: Measure, run: Run) -> float:
    """One number of a sampled column."""
    frame = run.tables[keys["table"]]
    if "of" in keys:
        frame = (of_flow if keys["table"] == "flows" else of_queue)(run.tables, keys["of"])
    if "span" in keys:
        spans = keys["span"] if isinstance(keys["span"][0], list) else [keys["span"]]
        frame = pd.concat([within(frame, *span) for span in spans])
    name = keys.get("samples", "mean")
    if name not in SAMPLES:
        raise UserError(f"samples = {name}: wanted one of {', '.join(SAMPLES)}")
    column: str = keys["column"]
    return SAMPLES[name](frame[column])
