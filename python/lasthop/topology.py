# SPDX-License-Identifier: MIT OR Apache-2.0
"""A scenario's topology drawn: hosts, links, access points and stations, from left to right.

Servers stand on the left, stations and other ends on the right, what lies between them in the
order of the paths. Flows of one kind that share both ends share their boxes.
"""

from __future__ import annotations

import textwrap
import tomllib
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from . import _lasthop
from .plot import COLOURS, new_figure, styled
from .text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .scenario import Overrides, Scenario

MOST_NAMES = 3
"""More flows in one box are counted, not named."""

BOX_WIDTH, LABEL_WIDTH = 34, 24
"""Characters of a line in a box, and beside an arrow."""

LINE, PADDING = 0.135, 1.8
"""Height of a line of a box in inches, and of what is around its lines, in lines."""

MOST_BOXES = 24
"""More boxes above each other cannot be read: the last one counts the others."""

HOST, ROUTER, RADIO = "#f2f2f2", "#dcebf7", "#fbe6d4"


@dataclass
class _Node:
    lines: list[str]
    colour: str
    layer: int = 0


@dataclass
class _Map:
    nodes: dict[str, _Node] = field(default_factory=dict)
    edges: dict[tuple[str, str], tuple[str, bool, bool]] = field(default_factory=dict)
    """By both ends, the left one first: a label, and whether data goes right, and left."""

    def node(self, key: str, lines: Sequence[str], colour: str, layer: int) -> None:
        """Adds a box, or moves it further to the right."""
        found = self.nodes.setdefault(key, _Node(_wrapped(lines, BOX_WIDTH), colour, layer))
        found.layer = max(found.layer, layer)

    def edge(self, left: str, right: str, lines: Sequence[str] = (), *, back: bool = False) -> None:
        """Adds an arrow; one that is there may get its other head."""
        label = "\n".join(_wrapped(lines, LABEL_WIDTH))
        old = self.edges.get((left, right), ("", False, False))
        self.edges[left, right] = (old[0] or label, old[1] or not back, old[2] or back)


def draw_topology(scenario: Scenario, overrides: Overrides = ()) -> Figure:
    """Draws a scenario with rates, delays, queues and laws. Raises :class:`ScenarioError`."""
    text = _lasthop.check(scenario.text, scenario.directory, overrides)
    document = tomllib.loads(text)
    chart = _chart(document)
    layers: dict[int, list[str]] = {}
    for key, node in chart.nodes.items():
        layers.setdefault(node.layer, []).append(key)
    columns = [layers[layer] for layer in sorted(layers)]
    places: dict[str, tuple[float, float]] = {}
    tallest = 0.0
    for x, column in enumerate(columns):
        shown = column if len(column) <= MOST_BOXES else column[: MOST_BOXES - 1]
        if len(shown) < len(column):
            chart.nodes[shown[-1]].lines.append(f"… and {len(column) - len(shown)} more")
        heights = [PADDING + len(chart.nodes[key].lines) for key in shown]
        above = 0.0
        for key, height in zip(shown, heights, strict=True):
            places[key] = (float(x), -(above + height / 2) / sum(heights))
            above += height
        tallest = max(tallest, above)
    figure = new_figure(max(3.1 * len(columns), 5.0), max(LINE * tallest, 2.2) + 0.4)
    with styled({"text.parse_math": False, "svg.fonttype": "none"}):
        axes: Axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(-0.45, len(columns) - 0.55)
        axes.set_ylim(-1.0, 0.0)
        title = plain(str(document.get("title") or scenario.label))
        axes.set_title(title, fontsize="medium")
        _draw(axes, chart, places)
    return figure


def _draw(axes: Axes, chart: _Map, places: Mapping[str, tuple[float, float]]) -> None:
    boxes = {}
    for key, (x, y) in places.items():
        node = chart.nodes[key]
        edge = COLOURS[0] if node.colour == ROUTER else "0.6"
        boxes[key] = axes.text(x, y, "\n".join(node.lines), ha="center", va="center", fontsize=7,
                               linespacing=1.25, zorder=4,
                               bbox={"boxstyle": "round,pad=0.4", "fc": node.colour,
                                     "ec": edge}).get_bbox_patch()  # fmt: skip
    for (left, right), (label, onward, back) in chart.edges.items():
        if left not in places or right not in places:
            continue
        (x0, y0), (x1, y1) = places[left], places[right]
        head = ("<|" if back else "") + "-" + ("|>" if onward else "")
        axes.annotate("", (x1, y1), xytext=(x0, y0),
                      arrowprops={"arrowstyle": head, "color": "0.45", "lw": 1.0, "shrinkA": 1,
                                  "shrinkB": 1, "patchA": boxes[left],
                                  "patchB": boxes[right]})  # fmt: skip
        if label:
            axes.text((x0 + x1) / 2, (y0 + y1) / 2, label, fontsize=6, ha="center", va="center",
                      linespacing=1.2, zorder=3,
                      bbox={"fc": "white", "ec": "none", "pad": 1.0})  # fmt: skip


def _wrapped(lines: Sequence[str], width: int) -> list[str]:
    """Lines that fit into a box or beside an arrow."""
    return [
        part for line in lines for part in textwrap.wrap(plain(line), width, subsequent_indent="  ")
    ]


def _chart(document: Mapping[str, Any]) -> _Map:
    chart = _Map()
    links = {(link["from"], link["to"]): link for link in document.get("link", [])}
    radios = {
        radio["name"]: radio for radio in (*document.get("ap", []), *document.get("wlan", []))
    }
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for flow in document.get("flow", []):
        ends = (tuple(flow.get("path", ())), flow.get("station"), flow.get("source"))
        kind = tuple(_brief(flow.get(key)) for key in ("sender", "receiver", "rtt", "access"))
        groups.setdefault((ends, kind), []).append(flow)
    depth = max((len(ends[0]) for ends, _ in groups), default=0) + 2
    for number, ((ends, _), flows) in enumerate(groups.items()):
        path, station, source = ends
        if not path and radios:
            path = (next(iter(radios)),)
        _add_path(chart, path, links, radios)
        lines = _flow_lines(flows)
        server = f"server {number}"
        first, last = (path[0], path[-1]) if path else (server, server)
        if source is not None:
            # An upload: its data go to the left.
            _add_station(chart, last, source, radios, depth, back=True)
            chart.node(server, lines, HOST, 0)
            chart.edge(server, first, back=True)
            if station is not None:
                _add_station(chart, last, station, radios, depth)
            continue
        chart.node(server, lines, HOST, 0)
        if first != server:
            chart.edge(server, first)
        if station is not None:
            _add_station(chart, last, station, radios, depth)
    return chart


def _add_path(chart: _Map, path: Sequence[str], links: Mapping[tuple[str, str], Any],
              radios: Mapping[str, Any]) -> None:  # fmt: skip
    for index, name in enumerate(path):
        if name in radios:
            chart.node(name, _radio_lines(radios[name]), RADIO, index + 1)
        else:
            chart.node(name, [name], ROUTER, index + 1)
    for left, right in pairwise(path):
        link = links.get((left, right))
        back = link is None
        link = link or links.get((right, left), {})
        ends = (right, left) if back and (right, left) in links else (left, right)
        chart.edge(*ends, _link_label(link), back=back)


def _add_station(chart: _Map, last: str, name: str, radios: Mapping[str, Any], depth: int,
                 *, back: bool = False) -> None:  # fmt: skip
    own: Mapping[str, Any] = next(
        (s for s in radios.get(last, {}).get("station", []) if s.get("name") == name), {}
    )
    lines = [name, *_parts(own, ("radio", "rate", "queue", "price"))]
    key = f"{last}/{name}"
    chart.node(key, lines, HOST, depth)
    delay = radios.get(last, {}).get("delay")
    chart.edge(last, key, [delay] if delay else [], back=back)


def _flow_lines(flows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The flows' names, then what they have in common."""
    names = [
        f"{flow['name']} × {flow['count']}" if flow.get("count", 1) > 1 else str(flow["name"])
        for flow in flows
    ]
    shown = ", ".join(names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    first = flows[0]
    ends = [_brief(first.get("sender", "newreno")), f"→ {_brief(first.get('receiver', 'plain'))}"]
    way = [f"RTT {first['rtt']}"] if "rtt" in first else []
    way += [str(first["access"])] if "access" in first else []
    return [shown + more, *ends, *([", ".join(way)] if way else [])]


def _radio_lines(radio: Mapping[str, Any]) -> list[str]:
    keys = ("rate", "radio", "scheduler", "queue", "price", "feedback", "loss", "uplink")
    return [str(radio["name"]), *_parts(radio, keys)]


def _link_label(link: Mapping[str, Any]) -> list[str]:
    rate = ", ".join(str(link[key]) for key in ("rate", "delay") if key in link)
    return [rate, *_parts(link, ("queue", "price", "feedback", "loss"))] if link else []


def _parts(table: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    """A line for each of the keys that the table has."""
    return [f"{key}: {_brief(table[key])}" for key in keys if key in table]


def _brief(value: Any) -> str:
    """A model in few words: its kind and its first parameters."""
    if not isinstance(value, dict):
        return str(value)
    kind = value.get("kind")
    words = [f"{key} {_brief(part)}" for key, part in value.items() if key != "kind"]
    shown = ", ".join(words[:MOST_NAMES]) + (" …" if len(words) > MOST_NAMES else "")
    if kind is None:
        return shown
    return f"{kind} ({shown})" if shown else str(kind)
