# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results of runs as text: one in full, several side by side."""

from __future__ import annotations

import os

from .tables import fairness as fairness_of
from .tables import figures
from .text import RATES, SIZES, TIMES, Column, align, duration, percent, rate, significant, size
from .text import table as text_table
from .totals import over_queues, total_goodput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

FLOWS = (
    Column("flow", "name"),
    Column("sender", "sender"),
    Column("receiver", "receiver"),
    Column("goodput", "goodput_bps", RATES),
    Column("RTT", "mean_rtt_s", TIMES),
    Column("95 %", "p95_rtt_s", TIMES),
    Column("cwnd", "mean_cwnd_bytes", SIZES),
    Column("awnd", "mean_awnd_bytes", SIZES),
    Column("resent", "retransmits"),
    Column("time-outs", "timeouts"),
    Column("finished", "finish_s", TIMES),
)
QUEUES = (
    Column("queue", "name"),
    Column("length", "mean_bytes", SIZES),
    Column("delay", "mean_delay_s", TIMES),
    Column("95 %", "p95_delay_s", TIMES),
    Column("throughput", "throughput_bps", RATES),
    Column("capacity", "capacity_bps", RATES),
    Column("used", "utilisation"),
    Column("empty", "empty_fraction"),
    Column("drops", "drops"),
    Column("loss", "loss_rate"),
)
MOST_ROWS = 40
"""Longer tables are cut: nobody reads a thousand flows."""


def describe(summary: Mapping[str, Any]) -> str:
    """One result as tables of its flows and queues."""
    fairness = fairness_of(summary)
    emulation = summary.get("emulation")
    how = "emulated in" if emulation else "simulated in"
    parts = [
        f"{duration(summary['duration_s'])} {how} {duration(summary['wall_s'])}, "
        f"the first {duration(summary['warmup_s'])} cut; seed {summary['seed']}, "
        f"{summary['packets']} packets, {summary['events']} events",
        _cut(FLOWS, figures(summary, "flows")),
        _cut(QUEUES, summary["queues"]),
        f"total {rate(total_goodput(summary))}; fairness (Jain) {_number(fairness.get('jain'))}, "
        f"over short times {_number(fairness.get('short_term'))}",
        _lag(emulation) if emulation else "",
        "\n".join(f"note: {note}" for note in summary.get("notes", ())),
    ]
    return "\n\n".join(part for part in parts if part)


def _lag(emulation: Mapping[str, Any]) -> str:
    """How well an emulation kept real time."""
    median, high, most = (duration(emulation[f"lag_{name}_s"]) for name in ("p50", "p99", "max"))
    priority = "with" if emulation["realtime"] else "without"
    return (
        f"packets left {median} late, 99 % of {emulation['packets']} at most {high}, all {most}; "
        f"{priority} real-time priority and locked memory"
    )


def spoilt(emulation: Mapping[str, Any]) -> list[str]:
    """What is to be said of an emulation: why it is not to be believed, and what was nobody's."""
    told = [f"not to be believed: {fault}" for fault in emulation["faults"]]
    if emulation["strays"]:
        told.append(f"{emulation['strays']} packets were nobody's")
    return told


def side_by_side(labels: Sequence[str], summaries: Sequence[Mapping[str, Any]]) -> str:
    """Several results, one a column."""
    names = [os.path.basename(label).removesuffix(".toml") for label in labels]
    lines = [["", *names]]
    rows: list[tuple[str, Any]] = [
        ("throughput (TCP payload)", lambda s: rate(total_goodput(s))),
        ("queueing delay, mean", lambda s: duration(over_queues(s, "mean_delay_s"))),
        ("queueing delay, 95 %", lambda s: duration(over_queues(s, "p95_delay_s"))),
        ("queue length, mean", lambda s: size(over_queues(s, "mean_bytes"))),
        ("capacity used", lambda s: percent(over_queues(s, "utilisation"))),
        ("queue empty", lambda s: percent(over_queues(s, "empty_fraction"))),
        ("dropped packets", lambda s: str(sum(q["drops"] or 0 for q in s["queues"]))),
        ("time-outs", lambda s: str(sum(f["timeouts"] or 0 for f in s["flows"]))),
        ("fairness (Jain)", lambda s: _number(fairness_of(s).get("jain"))),
    ]
    lines += [[text, *(of(summary) for summary in summaries)] for text, of in rows]
    common = [flow["name"] for flow in summaries[0]["flows"]]
    others = [{flow["name"]: flow for flow in summary["flows"]} for summary in summaries]
    if 1 < len(common) <= MOST_ROWS:
        for name in common:
            if all(name in flows for flows in others):
                lines.append([f"  {name}", *(rate(flows[name]["goodput_bps"]) for flows in others)])
    notes = [
        f"note on {name}: {note}"
        for name, summary in zip(names, summaries, strict=True)
        for note in summary.get("notes", ())
    ]
    return "\n".join([align(lines), *notes])


def _cut(columns: Sequence[Column], rows: Sequence[dict[str, Any]]) -> str:
    text = text_table(columns, rows[:MOST_ROWS]) if rows else ""
    if len(rows) > MOST_ROWS:
        text += f"\n… and {len(rows) - MOST_ROWS} more (see --json)"
    return text


def _number(value: float | None) -> str:
    return "–" if value is None else significant(value)
