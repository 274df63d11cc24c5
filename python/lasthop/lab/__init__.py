# SPDX-License-Identifier: MIT OR Apache-2.0
"""Comparisons of your own, with what the papers' figures and claims are made of.

A :class:`Sweep` is a scenario with some values varied; a :class:`Lab` carries its runs out, each
once, and gives them as a frame; :func:`measure` reads off a point, a ratio, a difference or an
order, one value a seed; :func:`mean_interval` says what the seeds tell together.
"""

from ..claims import Estimate, mean_interval
from .drawing import Drawing, PlusMinus, Style, colours, curves, over_time, shade
from .measures import measure
from .samples import (
    acknowledged,
    count_at,
    megabyte_s,
    moving_rate,
    rates,
    reached_s,
    settled_s,
    within,
)
from .sweeps import Axis, Lab, Parted, Run, Sweep, matches

__all__ = [
    "Axis",
    "Drawing",
    "Estimate",
    "Lab",
    "Parted",
    "PlusMinus",
    "Run",
    "Style",
    "Sweep",
    "acknowledged",
    "colours",
    "count_at",
    "curves",
    "matches",
    "mean_interval",
    "measure",
    "megabyte_s",
    "moving_rate",
    "over_time",
    "rates",
    "reached_s",
    "settled_s",
    "shade",
    "within",
]
