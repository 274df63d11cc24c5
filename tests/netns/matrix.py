# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent on real kernel TCP: goodput, waits and shares with it and without, over a matrix.

Each cell is a house of its own: downloads without the agent, then the same with it, each beside
a ping. ``python tests/netns/matrix.py --out docs/matrix.json`` keeps what was measured for the
documents; ``--few`` takes every combination of two settings at least once, and not all of all.
``--beside --out docs/beside.json`` compares the agent with CAKE and FQ-CoDel at the same queue.
"""

import argparse
import itertools
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from distance import port_at
from house import BURST_BYTES, SERVER, SERVER6, House, house
from lasthop._lasthop import jain
from pair import obey, stamp

TARGET_MS = 25.0
WARM_S, TAKE_S = 5.0, 10.0
PING_S = 0.02
"""Between two pings."""
SEGMENT_BYTES = 1514
PAYLOAD = 1448 / SEGMENT_BYTES
TAU_BYTES = 500
CONTROLS = ("reno", "cubic", "bbr")
AXES: dict[str, tuple[Any, ...]] = {
    "way": ("proxy, qdisc", "proxy, outstanding", "ap and client"),
    "congestion": (*CONTROLS, "bbr and cubic"),
    "flows": (1, 4, 16),
    "rtt": ("5 ms", "100 ms", "5 to 100 ms"),
    "rate": ("10 Mbit/s", "100 Mbit/s"),
    "ip": (4, 6),
}
AWAY_MS = {
    "5 ms": (5,),
    "20 ms": (20,),
    "100 ms": (100,),
    "5 to 100 ms": (5, 20, 50, 100),
}
QUEUES: dict[str, tuple[str, str]] = {
    "drop-tail": ("tbf", ""),
    "FQ-CoDel": ("tbf", "fq_codel"),
    "CAKE": ("cake", ""),
    "agent": ("tbf", ""),
    "agent over FQ-CoDel": ("tbf", "fq_codel"),
}
"""What holds the queue of the router: its root qdisc and a child of that."""
BESIDE = ("bps", "p50_ms", "p99_ms", "jain")
LEAST: dict[str, Any] = {
    "goodput": {"5 ms": 0.97, "100 ms": 0.95, "5 to 100 ms": 0.97},
    "jain": 0.99,
}
"""The targets: goodput over that without the agent, and Jain's index."""
MEASURES = (
    "plain_bps",
    "bps",
    "plain_p99_ms",
    "p99_ms",
    "bound_ms",
    "plain_jain",
    "jain",
)


class Cell(NamedTuple):
    """What is set."""

    way: str
    congestion: str
    flows: int
    rtt: str
    rate: str
    ip: int

    @property
    def mbits(self) -> int:
        """The rate [Mbit/s]."""
        return int(self.rate.split()[0])

    @property
    def congestions(self) -> list[str]:
        """Connections have these in turn."""
        return self.congestion.split(" and ")


def cells() -> list[Cell]:
    """One connection has one congestion control."""
    every = (Cell(*values) for values in itertools.product(*AXES.values()))
    return [cell for cell in every if cell.flows >= len(cell.congestions)]


def few() -> list[Cell]:
    """Cells that hold each pair of two settings' values, greedily."""
    left = {pair for cell in cells() for pair in _pairs(cell)}
    chosen = []
    while left:
        best = max(cells(), key=lambda cell: len(left & _pairs(cell)))
        left -= _pairs(best)
        chosen.append(best)
    return chosen


def _pairs(cell: Cell) -> set[Any]:
    return set(itertools.combinations(zip(AXES, cell, strict=True), 2))


def measure(cell: Cell, target_ms: float = TARGET_MS) -> dict[str, float]:
    """Goodputs and p99 of pings with and without the agent, which aims at such a queue."""
    slow = "modem" if cell.way == "proxy, outstanding" else "router"
    bytes_per_s = cell.mbits * 125_000
    host = SERVER if cell.ip == 4 else SERVER6
    with house(
        rate=f"{cell.mbits}mbit",
        limit=bytes_per_s // 4,
        slow=slow,
        distances=True,
    ) as built:
        built.helper("server", "serve", *cell.congestions)
        plain, plain_ms = load(built, cell, host)
        queue_s = attach(built, cell, bytes_per_s, target_ms)
        rates, waits_ms = load(built, cell, host)
    return {
        # Data that waited behind a gap may come at once, faster than the line.
        "plain_bps": min(sum(plain), bytes_per_s * 8 * PAYLOAD),
        "bps": sum(rates),
        "plain_p99_ms": p99(plain_ms),
        "p99_ms": p99(waits_ms),
        "bound_ms": 2e3 * queue_s + 5,
        "plain_jain": jain(plain),
        "jain": jain(rates),
    }


def attach(built: House, cell: Cell, bytes_per_s: int, target_ms: float = TARGET_MS) -> float:
    """Puts the agent in; gives the delay of the queue that it aims at [s]."""
    target_s = target_ms / 1e3
    if cell.way == "ap and client":
        a_bytes = int(bytes_per_s * target_s) - cell.flows * TAU_BYTES
        stamp(built, "--a", f"{max(a_bytes, 5_000)} B")
        obey(built, "--tau", f"{TAU_BYTES} B")
        return (max(a_bytes, 5_000) + cell.flows * TAU_BYTES) / bytes_per_s
    built.agent("--target", f"{target_ms:g} ms")
    # Windows of two segments are the least: with many flows the queue cannot be shorter.
    away_s = statistics.mean(away_ms(cell)) / 1e3
    return max(target_s, cell.flows * 2 * SEGMENT_BYTES / bytes_per_s - away_s)


def beside(cell: Cell, queue: str) -> dict[str, Any]:
    """What connections get at one line with a queue of that kind, and what pings wait in it."""
    bytes_per_s = cell.mbits * 125_000
    root, child = QUEUES[queue]
    with house() as built:
        built.helper("server", "serve", *cell.congestions)
        (away,) = AWAY_MS[cell.rtt]
        delay = ("netem", "delay", f"{away}ms", "limit", 100_000)
        built.run("server", "tc", "qdisc", "add", "dev", "eth", "root", *delay)
        at = ("tc", "qdisc", "replace", "dev", "lan")
        words = {"tbf": ("burst", BURST_BYTES, "limit", bytes_per_s // 4), "cake": ()}[root]
        rate = "bandwidth" if root == "cake" else "rate"
        built.run(
            "router",
            *at,
            "root",
            "handle",
            "1:",
            root,
            rate,
            f"{cell.mbits}mbit",
            *words,
        )
        if child:
            built.run("router", *at, "parent", "1:1", child)
        if "agent" in queue:
            built.agent("--target", f"{TARGET_MS:g} ms")
        rates, waits_ms = load(built, cell, SERVER)
    return {
        "bps": sum(rates),
        "p50_ms": statistics.median(waits_ms) - away,
        "p99_ms": p99(waits_ms) - away,
        "jain": jain(rates),
    }


def lacking(queue: str) -> str:
    """The qdisc that this kernel lacks; empty if none."""
    for name in filter(None, (*QUEUES[queue], "netem")):
        words = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", name]
        words += {"tbf": ["rate", "1mbit", "burst", str(BURST_BYTES), "limit", "9000"]}.get(
            name, []
        )
        if subprocess.run(words, capture_output=True, check=False).returncode:
            return f"sch_{name}"
    return ""


def compare(out: Path | None, only: str | None) -> None:
    """Measures each kind of queue on the same lines; tells what the kernel lacks."""
    measured = [queue for queue in QUEUES if only in (None, queue)]
    rows = []
    if out and out.exists():
        kept = json.loads(out.read_text(encoding="utf-8"))["rows"]
        rows = [row for row in kept if row[0] not in measured]
    for queue in measured:
        if lack := lacking(queue):
            print(f"SKIPPED: {queue}: Linux {platform.release()} has no {lack}")
            continue
        for rtt, flows in itertools.product(("20 ms", "100 ms"), AXES["flows"]):
            cell = Cell("proxy, qdisc", "cubic", flows, rtt, "10 Mbit/s", 4)
            found = beside(cell, queue)
            rows.append([queue, rtt, flows, *(_short(found[name]) for name in BESIDE)])
            print(*rows[-1], flush=True)
    if out:
        columns = ["queue", "rtt", "flows", *BESIDE]
        rows.sort(key=lambda row: list(QUEUES).index(row[0]))
        lines = ",\n  ".join(map(json.dumps, rows))
        head = f'"kernel": "{platform.release()}", "columns": {json.dumps(columns)}'
        out.write_text(f'{{{head}, "rows": [\n  {lines}\n]}}\n', encoding="utf-8")


def away_ms(cell: Cell) -> list[int]:
    """How far each flow's server is."""
    at = AWAY_MS[cell.rtt]
    return [at[flow % len(at)] for flow in range(cell.flows)]


def load(built: House, cell: Cell, host: str) -> tuple[list[float], list[float]]:
    ports = [port_at(flow, away) for flow, away in enumerate(away_ms(cell))]
    with ThreadPoolExecutor() as pool:
        found = pool.submit(built.taken, ports, WARM_S, TAKE_S, host)
        pings = built.pings(int((WARM_S + TAKE_S) / PING_S), PING_S, host)
        rates, from_s, to_s = found.result()
    # The first fall into the slow start: a wait that a user has, but no standing one. Only the
    # clock tells which these are: where programs are slow to start, either may be seconds late.
    waits_ms = [ms for at_s, ms in pings if from_s <= at_s - ms / 1e3 and at_s <= to_s]
    assert 2 * len(waits_ms) * PING_S >= TAKE_S, "pings and load did not meet"
    return list(rates.values()), waits_ms


def part(values: Sequence[float], which: float) -> float:
    """What this part of the values is not above."""
    return sorted(values)[math.ceil(which * len(values)) - 1]


def p99(values: Sequence[float]) -> float:
    return part(values, 0.99)


def missed(row: Mapping[str, Any]) -> Iterator[str]:
    """The targets that a row misses."""
    wanted = LEAST["goodput"][row["rtt"]]
    if row["bps"] < wanted * row["plain_bps"]:
        yield f"goodput {row['bps'] / row['plain_bps']:.3f} of {wanted}"
    if row["p99_ms"] > row["bound_ms"]:
        yield f"p99 of ping {row['p99_ms']:.0f} of {row['bound_ms']:.0f} ms"
    if row["jain"] < LEAST["jain"]:
        yield f"Jain {row['jain']:.3f} of {LEAST['jain']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--few", action="store_true", help="every pair of settings, not all of all")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME=VALUE", help="e.g. flows=4 flows=16"
    )
    parser.add_argument(
        "--target", type=float, default=TARGET_MS, metavar="MS", help="the queue that is aimed at"
    )
    parser.add_argument("--at-once", type=int, default=os.cpu_count(), help="houses at a time")
    parser.add_argument(
        "--out",
        type=Path,
        help="JSON: columns and rows; what it has of other cells stays",
    )
    parser.add_argument("--beside", action="store_true", help="CAKE and FQ-CoDel beside the agent")
    options = parser.parse_args()
    if options.beside:
        compare(options.out, dict(text.split("=", 1) for text in options.only).get("queue"))
        return
    only: dict[str, set[str]] = {}
    for name, value in (text.split("=", 1) for text in options.only):
        only.setdefault(name, set()).add(value)
    chosen = [
        cell
        for cell in (few() if options.few else cells())
        if all(str(getattr(cell, name)) in values for name, values in only.items())
    ]
    rows: list[dict[str, Any]] = []
    spoilt = 0
    kept: dict[str, Any] = {"target_ms": options.target, "rows": []}
    if options.out and options.out.exists():
        kept = json.loads(options.out.read_text(encoding="utf-8"))
    if kept["target_ms"] != options.target:
        parser.error(f"{options.out} is of a target of {kept['target_ms']:g} ms")
    try:
        with ThreadPoolExecutor(options.at_once) as pool:
            asked = {pool.submit(measure, cell, options.target): cell for cell in chosen}
            try:
                for done in as_completed(asked):
                    cell = asked[done]
                    try:
                        rows.append({**cell._asdict(), **done.result()})
                        told = "; ".join(missed(rows[-1])) or "holds"
                    # What the helpers of a house raise: the other cells stand.
                    except (AssertionError, subprocess.TimeoutExpired) as error:
                        spoilt += 1
                        told = f"spoilt: {error}"
                    print(
                        f"{len(rows) + spoilt}/{len(chosen)} {', '.join(map(str, cell))}: {told}",
                        flush=True,
                    )
            finally:
                # After Ctrl-C no other begins.
                pool.shutdown(cancel_futures=True)
    finally:
        if options.out and rows:
            columns = [*AXES, *MEASURES]
            measured = [[_short(row[name]) for name in columns] for row in rows]
            table = {Cell(*line[: len(AXES)]): line for line in [*kept["rows"], *measured]}
            lines = ",\n  ".join(json.dumps(table[cell]) for cell in cells() if cell in table)
            head = {"target_ms": options.target, "least": LEAST, "columns": columns}
            text = f'{json.dumps(head)[:-1]}, "rows": [\n  {lines}\n]}}\n'
            options.out.write_text(text, encoding="utf-8")
    bad = sum(any(missed(row)) for row in rows)
    print(f"{len(rows)} cells, {len(rows) - bad} hold, {bad} miss a target")
    if spoilt:
        sys.exit(f"{spoilt} cells were spoilt: measure them again")


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
