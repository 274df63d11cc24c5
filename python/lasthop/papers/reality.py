# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison ``reality``: how its claims, which stand in ``reality.toml``, are measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from .reality_figures import FIGURES
from .reality_runs import PLACES, SIMULATED, ratios

if TYPE_CHECKING:
    from ..paper import Lab

__all__ = ["FIGURES", "MEASURES"]

COLUMNS = {"goodput": "goodput_bps", "delay": "mean_delay_s"}

MEASURES: dict[str, Callable[[Lab], list[float]]] = {
    f"reality:{place}-{control}-{name}": partial(
        ratios, place=place, control=control, column=column
    )
    for place in PLACES
    for control in SIMULATED
    for name, column in COLUMNS.items()
}
