# SPDX-License-Identifier: MIT OR Apache-2.0
"""CLAMP as a fluid: trajectories of windows and queue, and for which b they come to rest.

    >>> from lasthop import analysis
    >>> analysis.critical_b([0.05])
    1.570796...
    >>> analysis.critical_b([0.01, 0.18], queueing_s=0.01)
    0.299...
    >>> analysis.trajectory([0.03, 0.13], rate_bps=10e6, tau_bytes=500, a_bytes=5500, duration_s=20)

Delays are two-way, in seconds, and do not count the queue. ``scale`` is what a window's rate of
change is divided by: ``"propagation"`` (the papers' law), ``"round-trip"`` (the queue counted, as
the protocol's estimate has it) or ``"nothing"`` (the law of 2002 and 2003, with ``b`` per second).
``mixing`` says which rates the flows have: ``"perfect"``, as their bytes are in the queue (the
report's model), or ``"at-rest"``, their shares (that of the paper of 2008, made linear).
``average`` is the gain of the router's average per second: 2 in the paper, none for the queue
itself.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import wraps
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from . import _lasthop

if TYPE_CHECKING:
    import pandas as pd

    Given = ParamSpec("Given")
    Found = TypeVar("Found")

__all__ = [
    "averaged_critical_b",
    "critical_b",
    "critical_b_by_integration",
    "random_sets",
    "trajectory",
    "two_flows_critical_b",
    "unstable_roots",
]

QUEUEING_S, PRICE_S = 0.05, 0.005
"""The queueing delay at rest and the price of that, where none are given."""


def _numbers(value: Any, kind: type = Real) -> bool:
    """Whether a value is several numbers: a list, a tuple, an array of one dimension."""
    return hasattr(value, "__len__") and all(isinstance(item, kind) for item in value)


KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "float": ("a number", lambda value: isinstance(value, Real)),
    "int": ("a whole number", lambda value: isinstance(value, Integral)),
    "str": ("a name", lambda value: isinstance(value, str)),
    "None": ("None", lambda value: value is None),
    "Sequence[float]": ("a list of numbers", _numbers),
    "tuple[float, float]": (
        "the least and the greatest",
        lambda value: _numbers(value) and len(value) == 2,
    ),
    "tuple[int, int]": (
        "the least and the greatest whole number",
        lambda value: _numbers(value, Integral) and len(value) == 2,
    ),
}
"""What an annotation wants, in words, and whether a value is that."""


def _typed(helper: Callable[Given, Found]) -> Callable[Given, Found]:
    """Names the argument that is of another type than its annotation says."""
    signature = inspect.signature(helper)

    @wraps(helper)
    def checked(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        for key, value in signature.bind(*args, **kwargs).arguments.items():
            kinds = [KINDS[kind] for kind in signature.parameters[key].annotation.split(" | ")]
            if not any(is_one(value) for _, is_one in kinds):
                wanted = " or ".join(words for words, _ in kinds)
                raise TypeError(f"{key} = {value!r}: wanted {wanted}")
        return helper(*args, **kwargs)

    return checked


@_typed
def critical_b(
    delays_s: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    queueing_s: float = QUEUEING_S,
    price_s: float = PRICE_S,
    scale: str = "propagation",
    mixing: str = "perfect",
    average: float | None = None,
    upto: float = 10.0,
) -> float:
    """The least b with which the loop swings for ever, by where its roots cross the axis.

    The flows have these ``weights`` (1), and their queue at rest is so long and asks this price:
    (kτ + a)/b and kτ over the rate. Infinite if no b up to ``upto`` does.
    """
    loop = _loop(delays_s, weights, queueing_s, price_s, scale, mixing, average)
    found = loop.critical_b(upto)
    return math.inf if found is None else found


@_typed
def critical_b_by_integration(
    delays_s: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    queueing_s: float = QUEUEING_S,
    price_s: float = PRICE_S,
    scale: str = "propagation",
    mixing: str = "perfect",
    average: float | None = None,
    upto: float = 10.0,
    tolerance: float = 1e-3,
) -> float:
    """The same by integrating the fluid from a little beside its rest; takes seconds."""
    loop = _loop(delays_s, weights, queueing_s, price_s, scale, mixing, average)
    found = loop.critical_b_by_integration(upto, tolerance)
    return math.inf if found is None else found


@_typed
def unstable_roots(
    b: float,
    delays_s: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    queueing_s: float = QUEUEING_S,
    price_s: float = PRICE_S,
    scale: str = "propagation",
    mixing: str = "perfect",
    average: float | None = None,
) -> int:
    """How many roots of the characteristic equation lie to the right of the imaginary axis."""
    loop = _loop(delays_s, weights, queueing_s, price_s, scale, mixing, average)
    return loop.unstable_roots(b)


@_typed
def averaged_critical_b(delay_s: float, average: float, *, queueing_s: float = 0.0) -> float:
    """The critical b of one flow behind an average, in closed form.

    With x tan x = g·d it is x/sin x, times 1 + queueing/d where the round-trip time scales the law.
    """
    return _lasthop.averaged_critical_b(delay_s, delay_s + queueing_s, average)


@_typed
def two_flows_critical_b(one_s: float, other_s: float) -> float:
    """The critical b, per second, of the older law with two flows, in closed form (Prop. 2)."""
    return _lasthop.two_flows_critical_b(one_s, other_s)


@_typed
def trajectory(
    delays_s: Sequence[float],
    *,
    rate_bps: float,
    tau_bytes: float,
    a_bytes: float,
    b: float = 1.0,
    duration_s: float,
    weights: Sequence[float] | None = None,
    price: str = "linear",
    scale: str = "propagation",
    mixing: str = "perfect",
    average: float | None = None,
    start: float | Sequence[float] = 1.1,
    step_s: float | None = None,
    every_s: float = 0.01,
) -> pd.DataFrame:
    """Windows and queue over time, by integration.

    ``price`` is linear, mice or smooth. ``start`` is how many times the queue at rest there is at
    the start, or a window a flow in bytes. A step is a hundredth of the shortest delay unless
    ``step_s`` says otherwise; a row is kept every ``every_s``. Columns: ``time_s``,
    ``queue_bytes``, ``average_bytes``, and for each flow ``window_1_bytes``, ``queue_1_bytes``
    and ``rate_1_bps``.
    """
    import pandas as pd

    step_s = min(delays_s, default=1.0) / 100 if step_s is None else step_s
    every = max(round(every_s / step_s), 1) if step_s > 0 else 1
    law = {
        "delays_s": list(delays_s),
        "weights": [1.0] * len(delays_s) if weights is None else list(weights),
        "price": price,
        "tau_bytes": tau_bytes,
        "a_bytes": a_bytes,
        "b": b,
        "rate": rate_bps / 8,
        "scale": scale,
        "mixing": mixing,
        "average": average,
    }
    given = float(start) if isinstance(start, int | float) else list(start)
    found = _lasthop.fluid_trajectory(law, given, duration_s, step_s, every)
    columns = {name: found[name] for name in ("time_s", "queue_bytes", "average_bytes")}
    for flow in range(len(delays_s)):
        columns[f"window_{flow + 1}_bytes"] = found["window_bytes"][flow]
        columns[f"queue_{flow + 1}_bytes"] = found["buffered_bytes"][flow]
        columns[f"rate_{flow + 1}_bps"] = [8 * rate for rate in found["rate"][flow]]
    return pd.DataFrame(columns)


@_typed
def random_sets(
    count: int,
    *,
    seed: int = 1,
    flows: tuple[int, int] = (1, 6),
    delay_s: tuple[float, float] = (0.01, 0.3),
    weight: tuple[float, float] = (0.25, 4.0),
    queueing_s: tuple[float, float] = (0.003, 0.3),
    price: tuple[float, float] = (0.02, 1.0),
    scale: str = "propagation",
    average: float | None = None,
    upto: float = 6.0,
) -> pd.DataFrame:
    """The critical b of loops drawn at random, with the rates at rest and with perfect mixing.

    Numbers of flows are uniform between the two given; delays, weights and queueing delays are so
    in their logarithm; the price is a part of the queueing delay, uniform. A row a set:
    ``delays_s``, ``weights``, ``longest_s``, ``queueing_s``, ``price_s``, ``b_at_rest``,
    ``b_mixed``; infinite where no b up to ``upto`` makes it swing.
    """
    import numpy as np
    import pandas as pd

    draw = np.random.default_rng(seed)

    def between(low: float, high: float, size: int) -> list[float]:
        return [float(x) for x in np.exp(draw.uniform(math.log(low), math.log(high), size))]

    rows = []
    for _ in range(count):
        size = int(draw.integers(flows[0], flows[1] + 1))
        delays, weights = between(*delay_s, size), between(*weight, size)
        (waiting_s,) = between(*queueing_s, 1)
        price_s = waiting_s * float(draw.uniform(*price))
        b_at_rest, b_mixed = (
            critical_b(
                delays, weights=weights, queueing_s=waiting_s, price_s=price_s,
                scale=scale, mixing=mixing, average=average, upto=upto,
            )
            for mixing in ("at-rest", "perfect")
        )  # fmt: skip
        rows.append((delays, weights, max(delays), waiting_s, price_s, b_at_rest, b_mixed))
    names = ["delays_s", "weights", "longest_s", "queueing_s", "price_s", "b_at_rest", "b_mixed"]
    return pd.DataFrame(rows, columns=names)


def _loop(
    delays_s: Sequence[float], weights: Sequence[float] | None, queueing_s: float,
    price_s: float, scale: str, mixing: str, average: float | None,
) -> _lasthop.Loop:  # fmt: skip
    chosen = [1.0] * len(delays_s) if weights is None else list(weights)
    return _lasthop.Loop(list(delays_s), chosen, scale, mixing, queueing_s, price_s, average)
