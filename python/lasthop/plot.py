# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures: one style, and how they are written."""

from __future__ import annotations

import math
import os
import tomllib
from typing import TYPE_CHECKING, Any

from .atomic import replacing
from .errors import UserError
from .scenario import Overrides, Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.fontsize": "small",
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "savefig.dpi": 150,
    "svg.hashsalt": "lasthop",
}
DENSE = 3000
"""Points above which a curve is drawn as pixels in a vector picture."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Told apart by colour-blind eyes too (Okabe and Ito)."""


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in the house style, without any window system."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as MatplotlibFigure

    with mpl.rc_context(STYLE):
        return MatplotlibFigure(figsize=(width, height), layout="constrained")


def styled(more: Any = ()) -> Any:
    """The style as a context, for what is drawn within it, with ``more`` settings."""
    import matplotlib as mpl

    return mpl.rc_context({**STYLE, **dict(more)})


def log_x(axes: Axes) -> None:
    """A logarithmic x axis with plain numbers, as many as there is room for; after the curves."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1, 3)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def legend_below(figure: Figure) -> None:
    """One legend below all axes, where it hides no curve; each name once, as wide as has room."""
    pairs = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in figure.axes]
    handles = {label: handle for found in pairs for handle, label in found}
    if not handles:
        return
    inches = 0.42 + 0.075 * max(len(label) for label in handles)
    rows = math.ceil(len(handles) / max(1, int(figure.get_figwidth() / inches)))
    columns = math.ceil(len(handles) / rows)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns)


def picture_kind(path: str | os.PathLike[str]) -> str:
    """What a picture's ending names, ``png`` or the like. Raises :class:`lasthop.UserError`."""
    from matplotlib.backend_bases import FigureCanvasBase

    name = os.fspath(path)
    ending = os.path.splitext(name)[1].lstrip(".").lower()
    if ending not in FigureCanvasBase.get_supported_filetypes():
        raise UserError(f"{name}: wanted a picture's ending: .png, .pdf or .svg")
    return ending


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a picture whose kind its ending names (.png, .pdf, .svg), whole or not at all."""
    ending = picture_kind(path)
    # The date of writing would make two equal pictures differ.
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with styled(), replacing(path) as temporary:
        figure.savefig(temporary, metadata=metadata.get(ending))


def svg_of(figure: Figure) -> str:
    """A picture as text that stands in a page; dense lines are pixels in it."""
    import io

    import numpy as np

    for axes in figure.axes:
        for line in axes.lines:
            if np.size(line.get_xdata()) > DENSE:
                line.set_rasterized(True)
    buffer = io.StringIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue().partition("<svg")[1] + buffer.getvalue().partition("<svg")[2]


def lay_out(figure: Figure) -> None:
    """Gives all that is on a figure its place, once for all files that it is written to.

    Otherwise each of them would have it laid out anew, and drawn twice for that.
    """
    engine = figure.get_layout_engine()
    if engine:
        with styled():
            engine.execute(figure)
    figure.set_layout_engine(None)


def hidden_curves(figure: Figure) -> list[tuple[str, str]]:
    """Named curves that lie wholly under a later one of the same axes: its name, the other's.

    Wholly: each of its points is less than a pixel and a half away from the other curve, where
    both are on a figure that has been laid out. One with larger markers shows around it.
    """
    import numpy as np

    found = []
    for axes in figure.axes:
        named = [
            (
                str(line.get_label()),
                axes.transData.transform(line.get_xydata()),
                0.0 if line.get_marker() in {"None", "none"} else line.get_markersize(),
            )
            for line in axes.lines
            if not str(line.get_label()).startswith("_") and np.size(line.get_xdata()) > 1
        ]
        for place, (name, points, size) in enumerate(named):
            for other, above, other_size in named[place + 1 :]:
                if size > other_size:
                    continue
                order = np.argsort(above[:, 0], kind="stable")
                height = np.interp(points[:, 0], above[order, 0], above[order, 1], np.nan, np.nan)
                apart = np.abs(height - points[:, 1])
                if np.nanmax(apart, initial=np.inf if np.isnan(apart).all() else 0) < 1.5:
                    found.append((name, other))
                    break
    return list(dict.fromkeys(found))


def sampled(scenario: Scenario, overrides: Overrides) -> Overrides:
    """Adds a probe of about 1000 samples where a scenario that is to be drawn has none."""
    from . import _lasthop

    effective = tomllib.loads(_lasthop.check(scenario.text, scenario.directory, overrides))
    if "every" in effective.get("probe", {}):
        return overrides
    duration = _lasthop.quantity(effective["duration"])
    milliseconds = max(1, round(duration[0])) if duration else 1
    return (*overrides, ("probe.every", f"{milliseconds} ms"))
