# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finding the value of one key at which a scenario has a wanted queueing delay, or its knee.

Runs are few and each is long, so the search asks for several at once: first the whole span, by
equal factors, then three about where a straight line through the neighbours crosses what is wanted.
All runs have the same seeds, so that what is searched is one curve, not its noise.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from . import _lasthop
from .claims import mean_interval
from .errors import UserError
from .request import Request
from .runs import Runner
from .scenario import Overrides, Scenario, Settings, Source, from_here, of, overrides_of
from .totals import mean_delay, total_goodput

if TYPE_CHECKING:
    import pandas as pd

SPAN = 32.0
"""Where no span is given, the value in the file is taken so many times less and more."""
FIRST = 9
"""Values of the first look."""
ROUNDS = 6
TOLERANCE = 0.01
"""How near to what is wanted is there."""
BESIDE = 1.04
"""The factor between the values of a closer look."""

UNITS = {"bytes": " B", "s": " s", "bps": " bit/s", "hz": " Hz", "per_s": " /s", "": ""}
DIGITS = {"bytes": 0, "s": 9, "bps": 0}


@dataclass(frozen=True)
class Tuned:
    """What was found."""

    by: str
    """The key."""
    value: str
    """Its value, as a scenario has it."""
    delay_s: float
    """The mean queueing delay with it."""
    goodput_bps: float
    """The goodput of all flows with it."""
    number: float
    """The value as a number, in plain units."""
    curve: pd.DataFrame
    """All that was tried: ``value``, ``number``, means over the seeds and their limits."""


def tune(
    scenario: Source | Scenario,
    *,
    by: str | None = None,
    delay_s: float | None = None,
    knee: float | None = None,
    low: str | None = None,
    high: str | None = None,
    set: Settings = None,
    seed: int | None = None,
    seeds: int = 1,
    jobs: int | None = None,
    dask: str | None = None,
) -> Tuned:
    """Finds the value of the key ``by`` at which the mean queueing delay is ``delay_s``.

    With ``knee``, a share such as 0.9, it finds instead where goodput comes to that share of the
    most that there is. Without ``by`` the key is what sets the queue: the price's ``a`` or
    ``target``, or the buffer. The search goes from ``low`` to ``high``, by default a 32nd of the
    value in the file to 32 times of it.

    Raises :class:`lasthop.UserError` where there is no such value between them.
    """
    source = of(scenario)
    overrides = from_here(overrides_of(set), source.directory)
    if (delay_s is None) == (knee is None):
        raise UserError("tune: wanted a delay or the knee, one of them")
    if delay_s is not None and not 0 < delay_s < math.inf:
        raise UserError(f"--delay {delay_s:g} s: wanted more than 0 s")
    if knee is not None and not 0 < knee < 1:
        raise UserError(f"--knee {knee:g}: wanted a share between 0 and 1")
    effective = tomllib.loads(_lasthop.check(source.text, source.directory, overrides))
    key, given = _key(effective, by)
    span, unit = _span(key, given, low, high)
    first = effective.get("seed", 1) if seed is None else seed
    with Runner(jobs=jobs, dask=dask) as runner:
        search = _Search(source, overrides, key, unit, range(first, first + seeds), runner)
        search.look(_between(*span, FIRST))
        if delay_s is not None:
            wanted, figure = delay_s, "delay_s"
        else:
            wanted = (knee or 0.0) * max(point["goodput_bps"] for point in search.points())
            figure = "goodput_bps"
        for _ in range(ROUNDS):
            below, above = search.neighbours(figure, wanted)
            best = min((below, above), key=lambda point: abs(point[figure] - wanted))
            closer = _closer(below, above, figure, wanted, whole=unit in ("bytes", "bps"))
            if abs(best[figure] / wanted - 1) <= TOLERANCE or not search.look(closer):
                break
        below, above = search.neighbours(figure, wanted)
        best = min((below, above), key=lambda point: abs(point[figure] - wanted))
        return Tuned(
            key, best["value"], best["delay_s"], best["goodput_bps"], best["number"], search.frame()
        )


Point = dict[str, Any]


class _Search:
    """The values that were tried, and what they gave."""

    def __init__(
        self, source: Scenario, overrides: Overrides, key: str, unit: str,
        seeds: Sequence[int], runner: Runner,
    ) -> None:  # fmt: skip
        self.source, self.overrides, self.key, self.unit = source, overrides, key, unit
        self.seeds, self.runner = seeds, runner
        self.found: dict[str, Point] = {}

    def look(self, numbers: Sequence[float]) -> bool:
        """Tries values; false if none of them is new."""
        texts = {_text(number, self.unit): number for number in numbers}
        new = {text: number for text, number in texts.items() if text not in self.found}
        requests = [
            Request(self.source, (*self.overrides, (self.key, text)), seed)
            for text in new
            for seed in self.seeds
        ]
        records = iter(self.runner.run(requests, label=f"{self.source.label}: {self.key}"))
        for text, number in new.items():
            summaries = [next(records).summary for _ in self.seeds]
            point: Point = {"value": text, "number": number}
            for name, figure in (("delay_s", mean_delay), ("goodput_bps", total_goodput)):
                point |= _means(name, summaries, figure)
            self.found[text] = point
        return bool(new)

    def points(self) -> list[Point]:
        """What was tried, by value."""
        return sorted(self.found.values(), key=lambda point: float(point["number"]))

    def neighbours(self, figure: str, wanted: float) -> tuple[Point, Point]:
        """The first two beside each other between which the figure passes what is wanted."""
        points = self.points()
        for below, above in pairwise(points):
            if (below[figure] - wanted) * (above[figure] - wanted) <= 0:
                return below, above
        values = [point[figure] for point in points if not math.isnan(point[figure])]
        from .text import RATES, TIMES, quantity

        scale = TIMES if figure == "delay_s" else RATES
        asked, least, most = (
            quantity(x, scale)
            for x in (wanted, min(values, default=None), max(values, default=None))
        )
        what = "mean queueing delay" if figure == "delay_s" else "goodput"
        raise UserError(
            f"{self.key} from {points[0]['value']} to {points[-1]['value']}: {what} from {least} "
            f"to {most}, nowhere {asked}: wanted another span, --from and --to"
        )

    def frame(self) -> pd.DataFrame:
        """The curve."""
        import pandas as pd

        return pd.DataFrame(self.points())


def _means(
    name: str, summaries: Sequence[Mapping[str, Any]], figure: Callable[[Mapping[str, Any]], Any]
) -> Point:
    # A queue that no packet came through has no delay.
    values = [math.nan if (value := figure(s)) is None else float(value) for s in summaries]
    mean, low, high = mean_interval(values)
    return {name: mean, f"low_{name}": low, f"high_{name}": high}


def _closer(below: Point, above: Point, figure: str, wanted: float, *, whole: bool) -> list[float]:
    """Values within a bracket, about where the line between its ends crosses what is wanted."""
    low, high = float(below["number"]), float(above["number"])
    rise = above[figure] - below[figure]
    part = (wanted - below[figure]) / rise if rise else 0.5
    middle = low * (high / low) ** min(max(part, 0.05), 0.95)
    tried = [middle / BESIDE, middle, middle * BESIDE]
    found = [number for number in tried if low < number < high]
    return [float(round(number)) for number in found] if whole else found


def _between(low: float, high: float, count: int) -> list[float]:
    """Values by equal factors."""
    return [low * (high / low) ** (place / (count - 1)) for place in range(count)]


def _key(effective: Mapping[str, Any], by: str | None) -> tuple[str, str | None]:
    """The key that is searched, and its value in the scenario."""
    if by is not None:
        return by, _value(effective, by)
    for place in ("ap", "link"):
        for index, element in enumerate(effective.get(place, [])):
            where = f"{place}[{index}]"
            price = element.get("price")
            if isinstance(price, Mapping):
                name = next((name for name in ("a", "target") if name in price), None)
                if name is not None:
                    return f"{where}.price.{name}", str(price[name])
            queue = element.get("queue")
            if isinstance(queue, Mapping) and "limit" in queue:
                return f"{where}.queue.limit", str(queue["limit"])
    raise UserError("tune: no price and no buffer: wanted --by PATH")


def _value(effective: Mapping[str, Any], path: str) -> str | None:
    """A value of a scenario by its path; none where the scenario has none there."""
    found: Any = effective
    for part in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(found, list):
            by_name = {item.get("name"): item for item in found if isinstance(item, Mapping)}
            whole = part.isdecimal() and int(part) < len(found)
            found = found[int(part)] if whole else by_name.get(part, found[0] if found else None)
        elif isinstance(found, Mapping):
            found = found.get(part)
    return None if isinstance(found, list | Mapping | None) else str(found)


def _span(
    key: str, given: str | None, low: str | None, high: str | None
) -> tuple[tuple[float, float], str]:
    """From where to where, and the unit."""
    middle = None if given is None else _number(key, given)
    if middle is None and (low is None or high is None):
        raise UserError(f"{key}: the scenario has no value to start from: wanted --from and --to")
    ends, bounds = [], (("--from", low, 1 / SPAN), ("--to", high, SPAN))
    for option, text, factor in bounds:
        if text is not None:
            ends.append(_number(option, text))
        elif middle is not None:
            ends.append((middle[0] * factor, middle[1]))
    said = " ".join(f"{option} {text}" for option, text, _ in bounds if text is not None)
    (least, unit), (most, other) = ends
    if unit != other or (middle is not None and middle[1] != unit):
        raise UserError(f"{said}: wanted values like {key} = {given}")
    if not 0 < least < most:
        raise UserError(f"{said}: wanted values above 0, the greater one last")
    return (least, most), unit


def _number(name: str, text: str) -> tuple[float, str]:
    found = _lasthop.quantity(text)
    if found is not None:
        return found
    try:
        return float(text), ""
    except ValueError:
        raise UserError(f"{name} = {text}: wanted a number or one with a unit") from None


def _text(number: float, unit: str) -> str:
    """A value as a scenario has it."""
    if unit not in DIGITS:
        return f"{number:.9g}{UNITS.get(unit, '')}"
    text = f"{number:.{DIGITS[unit]}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}{UNITS[unit]}"


def draw(tuned: Tuned, path: str | os.PathLike[str]) -> None:
    """Draws the curve, what was found marked: delay and goodput against the value."""
    from .plot import COLOURS, new_figure, save, styled
    from .text import RATES, SIZES, TIMES, pick

    curve = tuned.curve
    size = _lasthop.quantity(tuned.value)
    scale = {"bytes": SIZES, "s": TIMES, "bps": RATES}.get(size[1] if size else "")
    across, unit = pick(scale, curve["number"].max()) if scale else (1.0, "")
    figure = new_figure(5.2, 5.2)
    with styled():
        panels = figure.subplots(2, 1, sharex=True)
        for axes, name, label, units in zip(
            panels, ("delay_s", "goodput_bps"), ("mean queueing delay", "goodput"),
            (TIMES, RATES), strict=True,
        ):  # fmt: skip
            factor, word = pick(units, curve[name].max())
            x = curve["number"] / across
            axes.plot(x, curve[name] / factor, ".-", color=COLOURS[0])
            low, high = curve[f"low_{name}"] / factor, curve[f"high_{name}"] / factor
            axes.fill_between(x, low, high, color=COLOURS[0], alpha=0.15, lw=0)
            mark = tuned.delay_s if name == "delay_s" else tuned.goodput_bps
            axes.plot(
                tuned.number / across, mark / factor, "o", color=COLOURS[1], label=tuned.value
            )
            axes.set(xscale="log", ylabel=f"{label} [{word}]")
            axes.set_ylim(bottom=0)
        panels[0].legend()
        panels[1].set_xlabel(f"{tuned.by} [{unit}]" if unit else tuned.by)
    save(figure, path)
