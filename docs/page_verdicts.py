# SPDX-License-Identifier: MIT OR Apache-2.0
"""What ``lasthop fig`` gave, in README, ``docs/verdicts.md`` and ``docs/station.md``."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lasthop.paper import folder_of, load_paper, stems
from lasthop.report import number
from page_text import DOCS, between, cell, rows

KEPT = DOCS / "verdicts.json"
"""What ``lasthop fig`` gave: the verdicts and some tables."""


def readme_page() -> str:
    """The README, with how many claims of each paper hold."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    table = [["command", "claims", "hold", "fail", "open", "of these, need longer runs"]]
    table.append(["---", *["---:"] * 5])
    for stem in stems():
        entries = [entry for entry in kept["claims"] if entry["id"].startswith(f"{stem}:")]
        if entries:
            counts = [*_counts(entries), sum(map(_needs_longer_runs, entries))]
            table.append([f"`{_command(stem, entries)}`", *map(str, [len(entries), *counts])])
    return between(text, "claims", rows(table))


def verdicts_page() -> str:
    """The page of verdicts, with what a run of ``lasthop fig`` left in ``KEPT``."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    text = (DOCS / "verdicts.md").read_text(encoding="utf-8")
    for stem in stems():
        entries = [entry for entry in kept["claims"] if entry["id"].startswith(f"{stem}:")]
        text = between(text, f"verdicts {stem}", _verdicts(stem, entries))
    text = between(text, "table senders", _senders(kept["tables"]))
    return between(text, "table reality", _reality(kept["tables"]))


def station_page() -> str:
    """The page of the station window, with what its claims measured and a table of figures."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    text = (DOCS / "station.md").read_text(encoding="utf-8")
    table = [["what", "accepted", "measured", ""], ["---"] * 4]
    for entry in kept["claims"]:
        if entry["id"].startswith("beyond:station-"):
            table.append(
                [cell(entry["claim"]), _accepted(entry), _measured(entry), entry["verdict"]]
            )
    text = between(text, "claims station", rows(table))
    text = between(text, "table cases", _cases(kept["tables"]["beyond:station-cases"]))
    return between(text, "table held", _held(kept["tables"]["beyond:held"]))


def _verdicts(stem: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """How many claims hold, and those that do not."""
    if not entries:
        return f"No result is kept here: `lasthop fig {stem}` gives it.\n"
    seeds = sorted({entry["seeds"] for entry in entries})
    longer = sum(_needs_longer_runs(entry) for entry in entries)
    line = (
        f"Of {len(entries)} [claims](../python/lasthop/papers/{folder_of(stem).name}/claims.toml) "
        "{} hold, {} fail and {} are open".format(*_counts(entries))
        + (f", {longer} of them because they need longer runs" if longer else "")
        + f" (`{_command(stem, entries)}`, "
        + f"{' to '.join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))} seeds per claim).\n"
    )
    left = [e for e in entries if e["verdict"] == "open" and not _needs_longer_runs(e)]
    if left:
        told = ", ".join(f"`{e['id']}` {_measured(e)}, wanted {_accepted(e)}" for e in left)
        line += f"\nUndecided with these seeds: {told}.\n"
    table = [["fails", "what is said", "accepted", "measured", "why"], ["---"] * 5]
    # The reason is the paper's as it stands now: it may have been found after the run.
    why = {claim.id: claim.why for claim in load_paper(stem).claims}
    for entry in entries:
        if entry["verdict"] == "fails":
            reason = why.get(entry["id"]) or entry["why"]
            cells = (entry["claim"], _accepted(entry), _measured(entry), reason)
            table.append([f"`{entry['id']}`", *map(cell, cells)])
    return f"{line}\n{rows(table)}" if len(table) > 2 else line


def _counts(entries: Sequence[Mapping[str, Any]]) -> list[int]:
    """How many hold, fail and are open."""
    return [sum(e["verdict"] == verdict for e in entries) for verdict in ("holds", "fails", "open")]


def _command(stem: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """The command that gave the verdicts of a paper, by the scales of its figures."""
    scales = sorted({entry["scale"] for entry in entries}, reverse=True)
    return f"lasthop fig {stem} --scale {', '.join(scales)}"


def _needs_longer_runs(entry: Mapping[str, Any]) -> bool:
    return str(entry["why"]).startswith("needs --scale")


def _accepted(entry: Mapping[str, Any]) -> str:
    low, high = entry["band"]
    if low is None or high is None:
        return f"under {number(high)}" if low is None else f"over {number(low)}"
    return f"{number(low)} to {number(high)}"


def _measured(entry: Mapping[str, Any]) -> str:
    low, high = entry["ci"]
    if low is None or high is None:
        return f"{number(entry['value'])}{', deterministic' if entry['deterministic'] else ''}"
    return f"{number(entry['value'])} ({number(low)} to {number(high)})"


def _senders(tables: Mapping[str, Any]) -> str:
    """Throughput and delay of some senders by place and queue."""
    head, *body = tables["senders:overview"]
    places = list(dict.fromkeys(cell.rpartition(": ")[0] for cell in head[2:]))
    queues = list(dict.fromkeys(row[1] for row in body))
    table = [["place", "sender", *queues], ["---"] * (2 + len(queues))]
    for i, place in enumerate(places):
        for sender in ("Reno", "CUBIC", "Vegas", "γ", "TFRC"):
            of_sender = [row for row in body if row[0] == sender]
            pairs = [_without_intervals(row[2 + 2 * i : 4 + 2 * i]) for row in of_sender]
            table.append([place, sender, *pairs])
    return rows(table)


def _reality(tables: Mapping[str, Any]) -> str:
    """Goodput and delay of the simulator and of the kernel, by scenario."""
    table: list[list[str]] = []
    for name, about in load_paper("reality").figures.items():
        if f"reality:{name}" in tables:
            _, *body = tables[f"reality:{name}"]
            found = {f"{row[0]}, {row[1]}": _without_intervals(row[2:4]) for row in body}
            if not table:
                table += [["scenario", *found], ["---"] * (1 + len(found))]
            table.append([cell(about["title"]), *found.values()])
    return rows(table) if table else "No result is kept here: `lasthop fig reality` gives it.\n"


def _held(kept: Sequence[Sequence[str]]) -> str:
    """Utilisation and delay by proxy, line, flows and how segments are acknowledged."""
    head, *body = kept
    table = [[*head[:3], *(name.partition(":")[0] for name in head[3::2])]]
    table.append(["---"] * len(table[0]))
    for row in body:
        pairs = [_without_intervals(row[i : i + 2]) for i in range(3, len(row), 2)]
        table.append([*row[:3], *(f"{pair} ms" for pair in pairs)])
    return rows(table)


def _cases(kept: Sequence[Sequence[str]]) -> str:
    """Utilisation, delay and goodput on the driving trace, by what else there is, and by law."""
    laws = ("station window", "share window", "FQ-CoDel")
    found: dict[str, dict[str, str]] = {}
    for case, law, trace, *figures, goodput in kept[1:]:
        if trace == "LTE, driving" and law in laws:
            used, _, p95, _ = (figure.partition(" ± ")[0] for figure in figures)
            found.setdefault(case, {})[law] = f"{used}, {p95} ms, {goodput}"
    table = [["beside the trace", *laws], ["---"] * (1 + len(laws))]
    return rows([*table, *([cell(case), *(of[law] for law in laws)] for case, of in found.items())])


def _without_intervals(cells: Sequence[str]) -> str:
    means = [cell.partition(" ± ")[0] for cell in cells]
    return means[0] if set(means) == {"–"} else ", ".join(means)


QUOTED = ("senders:", "reality:", "beyond:held", "beyond:station-cases")
"""How the names of the tables begin that the pages quote."""


def keep(folders: Sequence[str]) -> None:
    """Takes over what ``lasthop fig`` left in some folders, claim by claim."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    order = [claim.id for stem in stems() for claim in load_paper(stem).claims]
    for folder in map(Path, folders):
        claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        new = {entry["id"] for entry in claims}
        old = [entry for entry in kept["claims"] if entry["id"] not in new]
        known = [entry for entry in (*old, *claims) if entry["id"] in order]
        kept["claims"] = sorted(known, key=lambda entry: order.index(entry["id"]))
        tables = json.loads((folder / "tables.json").read_text(encoding="utf-8"))
        kept["tables"] |= {k: v for k, v in tables.items() if k.startswith(QUOTED)}
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
