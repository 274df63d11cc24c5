# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the agent did on real kernel TCP, in ``docs/agent.md``: what ``tests/netns/matrix.py`` gave.

``python docs/page_matrix.py`` draws it, too.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd
from page_text import DOCS, between, rows

KEPT = DOCS / "matrix.json"
SHORT = DOCS / "matrix-8ms.json"
"""The same with a shorter target at the faster rate."""
BESIDE = DOCS / "beside.json"
PICTURE = DOCS / "img" / "matrix.png"
SETTINGS = ("congestion", "flows", "rtt", "ip")


def kept_matrix(path: Path = KEPT) -> dict[str, Any]:
    """What was kept: the cells, and the targets that they were measured for."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept


def frame(kept: dict[str, Any]) -> pd.DataFrame:
    """The cells, with what the targets are about."""
    data = pd.DataFrame(kept["rows"], columns=kept["columns"])
    wanted = data["rtt"].map(kept["least"]["goodput"])
    data["ratio"] = data["bps"] / data["plain_bps"]
    data["goodput holds"] = data["ratio"] >= wanted
    data["wait holds"] = data["p99_ms"] <= data["bound_ms"]
    data["shares hold"] = data["jain"] >= kept["least"]["jain"]
    return data


def agent_page() -> str:
    """The page of the agent, with its matrix."""
    text = (DOCS / "agent.md").read_text(encoding="utf-8")
    text = between(text, "beside", _beside())
    text = between(text, "matrix-8ms", _text(kept_matrix(SHORT)))
    return between(text, "matrix", _text(kept_matrix()))


def _beside() -> str:
    """What connections and pings got with each kind of queue at the same line."""
    kept: dict[str, Any] = json.loads(BESIDE.read_text(encoding="utf-8"))
    data = pd.DataFrame(kept["rows"], columns=kept["columns"])
    table = [["downloads", "server away", "queue", "goodput", "wait of pings, p50", "p99", "Jain"],
             ["---:", "---:", "---", "---:", "---:", "---:", "---:"]]  # fmt: skip
    for (rtt, flows), part in data.groupby(["rtt", "flows"], sort=False):
        best = {
            "bps": part["bps"].max(), "p50_ms": part["p50_ms"].min(),
            "p99_ms": part["p99_ms"].min(), "jain": part["jain"].max(),
        }  # fmt: skip
        for _, row in part.iterrows():

            def told(
                name: str, text: str, row: Any = row, best: Any = best, part: Any = part
            ) -> str:
                return f"**{text}**" if len(part) > 1 and row[name] == best[name] else text

            table.append([
                str(flows), str(rtt), str(row["queue"]),
                told("bps", f"{row['bps'] / 1e6:.2f} Mbit/s"),
                told("p50_ms", f"{row['p50_ms']:.1f} ms"),
                told("p99_ms", f"{row['p99_ms']:.1f} ms"),
                told("jain", f"{row['jain']:.3f}"),
            ])  # fmt: skip
    return f"Linux {kept['kernel']}; the best of each column is bold.\n\n{rows(table)}"


def _text(kept: dict[str, Any]) -> str:
    data, goodput = frame(kept), kept["least"]["goodput"]
    far = min(goodput, key=goodput.__getitem__)
    holds = data[["goodput holds", "wait holds", "shares hold"]]
    missing = data[~holds.all(axis=1)]
    by_control = [
        f"{held.sum()} of {len(held)} {control}"
        for control, held in holds.all(axis=1).groupby(data["congestion"], sort=False)
    ]
    said = (
        f"{len(data)} cells, of which {holds.all(axis=1).sum()} hold all three targets: goodput of "
        f"at least {max(goodput.values()):g} of that without the agent ({goodput[far]:g} at {far}; "
        f"{holds['goodput holds'].sum()} hold it), a 99th percentile of pings of at most twice the "
        f"queue's target, {kept['target_ms']:g} ms or more, and 5 ms "
        f"({holds['wait holds'].sum()}), Jain's index of at least "
        f"{kept['least']['jain']:g} ({holds['shares hold'].sum()}). "
        f"By congestion control: {', '.join(by_control)}.\n"
    )
    table = [["way", "rate", "goodput, median (least)", "p99 of ping without",
              "with, median (most)", "Jain without", "with, median (least)"],
             ["---", "---", *["---:"] * 5]]  # fmt: skip
    for (way, rate), part in data.groupby(["way", "rate"], sort=False):
        table.append([
            str(way), str(rate), f"{part['ratio'].median():.3f} ({part['ratio'].min():.3f})",
            f"{part['plain_p99_ms'].median():.0f} ms",
            f"{part['p99_ms'].median():.0f} ({part['p99_ms'].max():.0f}) ms",
            f"{part['plain_jain'].median():.2f}",
            f"{part['jain'].median():.3f} ({part['jain'].min():.3f})",
        ])  # fmt: skip
    bad = [["misses", "way", "rate", *SETTINGS, "goodput", "p99 of ping", "Jain"], ["---"] * 10]
    for _, row in missing.iterrows():
        what = ("goodput", "wait", "shares")
        misses = [name for name, held in zip(what, row[list(holds)], strict=True) if not held]
        bad.append([
            ", ".join(misses), row["way"], row["rate"], *(str(row[name]) for name in SETTINGS),
            f"{row['ratio']:.3f}", f"{row['p99_ms']:.0f} of {row['bound_ms']:.0f} ms",
            f"{row['jain']:.3f}",
        ])  # fmt: skip
    details = (
        f"\n<details><summary>Cells that miss a target</summary>\n\n{rows(bad)}\n</details>\n"
        if len(missing)
        else ""
    )
    return f"{said}\n{rows(table)}{details}"


def draw() -> None:
    """Draws what the table says."""
    from lasthop.plot import COLOURS, legend_below, log_x, new_figure, save, styled

    data = frame(kept_matrix())
    figure = new_figure(9.6, 3.6)
    with styled():
        waits, goodputs, shares = figure.subplots(1, 3)
        for (way, part), colour in zip(data.groupby("way", sort=False), COLOURS, strict=False):
            dots: dict[str, Any] = {"ls": "none", "marker": ".", "color": colour, "alpha": 0.6}
            waits.plot(part["plain_p99_ms"], part["p99_ms"], label=way, **dots)
            shares.plot(part["plain_jain"], part["jain"], **dots)
            goodputs.ecdf(part["ratio"], color=colour)
        for axes, what in ((waits, "99th percentile of pings [ms]"), (shares, "Jain's index")):
            least, most = min(axes.get_xlim()[0], axes.get_ylim()[0]), axes.get_xlim()[1]
            axes.plot([least, most], [least, most], color="0.6", lw=0.8, ls="--")
            axes.set(title=what, xlabel="without the agent", ylabel="with the agent")
        log_x(waits)
        waits.set_yscale("log")
        waits.yaxis.set_major_formatter("{x:g}")
        goodputs.axvline(1, color="0.6", lw=0.8, ls="--")
        goodputs.set(title="goodput", xlabel="with the agent, of that without",
                     ylabel="share of cells with less")  # fmt: skip
        legend_below(figure)
        save(figure, PICTURE)


if __name__ == "__main__":
    (DOCS / "agent.md").write_text(agent_page(), encoding="utf-8")
    draw()
