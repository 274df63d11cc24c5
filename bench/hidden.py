# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent's windows on kernel TCP, the queue hidden: `hidden.py [--seeds N] [--law LAW]`.

Each row is an emulation with `lasthop-agent proxy` at the access point: constant rates, steps, a
minute at rest, recorded traces, and FQ-CoDel's utilisation on them. Goodput and utilisation,
sojourn in the hidden queue (mean and 95th percentile), Jain's index; `*` marks what is outside
the band in which the share window was accepted. `--law station` has the station window instead,
`--target` another T than 25 ms; with `--simulated` the same runs are simulated. Traces are read
from `--traces`: the part on traces is left out without it. It takes root, as `lasthop emu` does.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from lasthop import _lasthop
from twins import ATTEMPTS, summary_of

Bands = dict[str, tuple[float, float]]

SETS = {
    "1x20": (20,),
    "1x40": (40,),
    "1x100": (100,),
    "4x40": (40,) * 4,
    "4mix": (20, 40, 140, 190),
    "10mix": tuple(range(20, 220, 20)),
}
"""Round-trip times [ms] of flows; the access point adds 10 ms."""
AP_MS = 10
CONSTANT = 'radio = {{ kind = "constant", rate = "{} Mbit/s" }}'
TRACE = 'radio = {{ kind = "trace", file = "{}" }}'
STEPS = ((0, 10), (15, 2), (25, 20), (35, 10))
"""From when [s], how fast [Mbit/s]."""
PROBE_S = 0.1
MEAN_S = 0.5
"""What a queue and a rate after a step are means of."""
TARGETS_MS = (8, 12, 16, 20, 25, 32, 40, 60)


@dataclass(frozen=True)
class Run:
    """An emulation of some flows."""

    flows: str
    radio: str
    cc: str = "cubic"
    target_ms: float = 25.0
    law: str = "share"
    queue: str = ""
    length_s: int = 45
    warmup_s: int = 8
    is_simulated: bool = False

    def scenario(self) -> str:
        """The file."""
        proxy = f'kind = "{self.law}-kernel", target = "{self.target_ms} ms"'
        law = self.queue or f"proxy = {{ {proxy} }}"
        text = f"""
title = "A row of bench/hidden.py"
duration = "{self.length_s} s"
warmup = "{self.warmup_s} s"
[probe]
every = "{PROBE_S} s"
[[ap]]
name = "ap"
delay = "{AP_MS / 2} ms"
{self.radio}
{law if self.queue else 'queue = { limit = "1.5 MB" }'}
{"" if self.queue else law}
"""
        kernel = f'{{ kind = "kernel", congestion_control = "{self.cc}" }}'
        sender = f'"linux-{self.cc}"' if self.is_simulated else kernel
        for place, rtt in enumerate(SETS[self.flows]):
            text += f"""
[[flow]]
name = "flow-{place}"
station = "phone"
rtt = "{rtt} ms"
start = "{place * 0.1:.1f} s"
sender = {sender}
receiver = "linux"
"""
        return text


@dataclass
class Found:
    """What a run gave: numbers by name, and samples of time, queue [B] and what left [B]."""

    numbers: dict[str, float]
    samples: list[tuple[float, float, float]] = field(default_factory=list)


def measured(run: Run, seed: int) -> Found | None:
    """What a run gives in one of a few attempts; none where real time was not kept."""
    verb = "run" if run.is_simulated else "emu"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "row.parquet")
        for _ in range(ATTEMPTS):
            if summary := summary_of(verb, run.scenario(), seed, "--out", str(out)):
                return found(summary, out)
    return None


def found(summary: dict[str, Any], out: Path) -> Found:
    """The numbers of a result."""
    goodputs = [flow["goodput_bps"] for flow in summary["flows"]]
    queue = summary["queues"][0]
    numbers = {
        "goodput": sum(goodputs) / 1e6,
        "utilisation": queue["utilisation"],
        "mean": queue["mean_delay_s"] * 1e3,
        "p95": queue["p95_delay_s"] * 1e3,
        "jain": summary["fairness"]["jain"] or 1.0,
        "drops": queue["drops"],
    }
    table = pq.read_table(out, filters=[("table", "=", "queues")]).to_pylist()
    samples = [(row["time_ns"] / 1e9, row["bytes"], row["departed_bytes"]) for row in table]
    return Found(numbers, samples)


def rate_mbps(samples: Sequence[tuple[float, float, float]], from_s: float, to_s: float) -> float:
    """What left between."""
    inside = [one for one in samples if from_s <= one[0] <= to_s]
    return (inside[-1][2] - inside[0][2]) * 8e-6 / (inside[-1][0] - inside[0][0])


def steady(one: Found) -> dict[str, float]:
    """Of a minute at rest: by how much the mean of the last 20 s is another one [ms]."""
    queue = [(t, held * 8e-4) for t, held, _ in one.samples]
    first = statistics.mean(ms for t, ms in queue if 8 <= t < 28)
    last = statistics.mean(ms for t, ms in queue if t >= queue[-1][0] - 20)
    return one.numbers | {"drift": last - first}


def stepped(one: Found) -> dict[str, float]:
    """After 10 to 2 Mbit/s, until the queue that the fall left is gone [s], and the last sample.

    That is until half a second's mean is below twice the target for good; a sample, at which a
    segment is 6 ms, may be above it later on. And after 2 to 20 Mbit/s, until half a second carries
    90 % of the rate [s].
    """
    down, up = STEPS[1][0], STEPS[2][0]
    byte_s = 8e-6 / STEPS[1][1]
    queue = [(t - down, held * byte_s) for t, held, _ in one.samples if down <= t < up]
    most_s = 2 * Run.target_ms / 1e3
    late = [t for t, delay_s in queue if delay_s > most_s]
    long = [
        t + MEAN_S
        for t, _ in queue
        if t <= up - down - MEAN_S
        and statistics.mean(delay_s for at, delay_s in queue if t <= at < t + MEAN_S) > most_s
    ]
    reached = next(
        (
            t - up
            for t, _, _ in one.samples
            if t >= up + MEAN_S and rate_mbps(one.samples, t - MEAN_S, t) >= 0.9 * STEPS[2][1]
        ),
        math.inf,
    )
    gone, last = max(long, default=0.0), max(late, default=0.0)
    return one.numbers | {"gone": gone, "last": last, "up": reached}


def theory_ms(flows: str, target_ms: float = 25.0) -> float:
    """The law's mean delay at rest, of flows of one path."""
    delay_s = (SETS[flows][0] + AP_MS) / 1e3
    kappa = _lasthop.SHARE_THETA_S / (_lasthop.SHARE_THETA_S + delay_s)
    return 1e3 * _lasthop.share_wait(target_ms / 1e3, _lasthop.SHARE_G, kappa, delay_s)


@dataclass(frozen=True)
class Row:
    """A run, what is asked of it, and the bands."""

    name: str
    run: Run
    bands: Bands
    of: Callable[[Found], dict[str, float]] = lambda one: one.numbers

    def with_run(self, run: Run) -> Row:
        """The same of another run; the bands are those of the share window at its usual target."""
        is_usual = (run.law, run.target_ms) == (Run.law, Run.target_ms)
        bands = self.bands if is_usual else dict.fromkeys(self.bands, (-math.inf, math.inf))
        return replace(self, run=run, bands=bands)


def rows(folder: Path, traces: Path | None) -> list[Row]:
    """All of them."""
    any_ = math.inf
    ten = CONSTANT.format(10)
    out = []
    for cc in ("cubic", "reno"):
        for flows in ("1x20", "1x40", "1x100"):
            mean = theory_ms(flows)
            bands = {
                "goodput": (9.4, any_),
                "mean": (mean - 1, mean + 2.5),
                "p95": (0, mean + 8.5),
                "drops": (0, 0),
            }
            out.append(Row(f"10 Mbit/s, {cc}, {flows}", Run(flows, ten, cc), bands))
    for flows in ("1x40", "1x100"):
        bands = {"goodput": (9.2, any_), "mean": (0, theory_ms(flows) + 2), "p95": (0, 26)}
        out.append(Row(f"10 Mbit/s, bbr, {flows}", Run(flows, ten, "bbr"), bands))
    for flows in ("4mix", "10mix"):
        bands = {"goodput": (9.3, any_), "mean": (0, 23), "p95": (0, 33), "jain": (0.99, 1)}
        out.append(Row(f"10 Mbit/s, cubic, {flows}", Run(flows, ten), bands))
    bands = {"drift": (-2, 2), "goodput": (9.4, any_)}
    out.append(Row("a minute at rest, 1x40", Run("1x40", ten, length_s=68), bands, steady))
    steps = folder / "steps.csv"
    steps.write_text("time_s,rate_bps\n" + "".join(f"{t},{rate}e6\n" for t, rate in STEPS))
    for flows, up, total in (("1x40", 2.5, 9.6), ("1x100", 4.0, 9.1), ("4mix", 2.5, 9.6)):
        run = Run(flows, TRACE.format(steps), length_s=45, warmup_s=5)
        bands = {"up": (0, up), "gone": (0, 1.5), "last": (0, any_), "goodput": (total, any_)}
        out.append(Row(f"10, 2, 20, 10 Mbit/s, {flows}", run, bands, stepped))
    if not traces:
        return out
    minute, two = (60, 8), (120, 10)
    for name, (length_s, warmup_s), each in (
        (
            "Verizon-LTE-short",
            minute,
            {
                "1x20": (0.89, 29, 66, 0),
                "1x40": (0.85, 30, 76, 0),
                "1x100": (0.72, 34, 105, 0),
                "4mix": (0.85, 32, 92, 0.97),
                "4x40": (0.85, 29, 80, 0.995),
            },
        ),
        ("ATT-LTE-driving-2016", minute, {"1x40": (0.83, 28, 63, 0), "4mix": (0.83, 32, 76, 0.97)}),
        # Its band is that of two minutes; the first alone has longer outages, and none.
        ("TMobile-UMTS-driving", two, {"1x40": (0.86, 40, 68, 0)}),
        ("TMobile-UMTS-driving", minute, {"1x40": (0, any_, any_, 0)}),
    ):
        for flows, (used, mean, p95, jain) in each.items():
            radio = TRACE.format(traces / f"{name}.down")
            run = Run(flows, radio, length_s=length_s, warmup_s=warmup_s)
            bands = {
                "utilisation": (used, any_),
                "mean": (0, mean),
                "p95": (0, p95),
                "jain": (jain, any_),
            }
            out.append(Row(f"{name}, {length_s} s, {flows}", run, bands))
    return out


def told(name: str, bands: Bands, got: list[dict[str, float]]) -> str:
    """A line: means, and what is outside."""
    line = f"{name:34}"
    for key in ("goodput", "utilisation", "mean", "p95", "jain", "drops", *bands):
        if f" {key} " in line:
            continue
        mean = statistics.mean(one[key] for one in got)
        low, high = bands.get(key, (-math.inf, math.inf))
        line += f" {key} {mean:.3g}{'' if low <= mean <= high else '*'} "
    return line


def beside(traces: Path, law: str, is_simulated: bool, jobs: int) -> None:
    """The 95th percentile at FQ-CoDel's utilisation over FQ-CoDel's, by targets tried."""
    for name in ("Verizon-LTE-short", "ATT-LTE-driving-2016"):
        radio = TRACE.format(traces / f"{name}.down")
        for flows, most in (("1x20", 0.97), ("1x40", 0.97), ("4mix", 1.3)):
            runs = [
                Run(
                    flows,
                    radio,
                    queue='queue = { limit = "1.5 MB", aqm = "fq-codel" }',
                    length_s=60,
                )
            ]
            runs += [Run(flows, radio, target_ms=t, law=law, length_s=60) for t in TARGETS_MS]
            runs = [replace(run, is_simulated=is_simulated) for run in runs]
            with ThreadPoolExecutor(jobs) as pool:
                got = list(pool.map(lambda run: measured(run, 1), runs))
            points = sorted(
                (one.numbers["utilisation"], one.numbers["p95"]) for one in got[1:] if one
            )
            if not got[0]:
                print(f"{name}, {flows}: FQ-CoDel's run did not keep real time", flush=True)
                continue
            used, p95 = got[0].numbers["utilisation"], got[0].numbers["p95"]
            ratio = math.nan
            for (u0, p0), (u1, p1) in itertools.pairwise(points):
                if u0 <= used <= u1:
                    ratio = (p0 + (p1 - p0) * (used - u0) / max(u1 - u0, 1e-9)) / p95
            print(
                f"{name}, {flows}: at FQ-CoDel's {used:.3f}, {p95:.3g} ms: {ratio:.2f}"
                f"{'' if ratio <= most else '*'} (at most {most})"
                f" {[(round(u, 3), round(p)) for u, p in points]}",
                flush=True,
            )


def main() -> None:
    """Runs all and prints a row each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="emulations of each row (1)")
    parser.add_argument("--jobs", type=int, default=4, help="emulations at once (4)")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--traces", type=Path, default=os.environ.get("LASTHOP_TRACES"))
    parser.add_argument("--law", choices=("share", "station"), default="share")
    parser.add_argument("--target", type=float, default=Run.target_ms, help="T [ms] (25)")
    parser.add_argument("--simulated", action="store_true", help="simulate (not BBR)")
    parser.add_argument("--beside", action="store_true", help="FQ-CoDel's utilisation, instead")
    options = parser.parse_args()
    traces = Path(options.traces).resolve() if options.traces else None
    if options.beside:
        if not traces:
            parser.error("--beside wants --traces")
        beside(traces, options.law, options.simulated, options.jobs)
        return
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        if not any(options.only in row.name for row in rows(Path(folder), traces)):
            parser.error(f"--only {options.only}: no row's name holds it")
        told_of = {"law": options.law, "target_ms": options.target}
        chosen = [
            row.with_run(replace(row.run, is_simulated=options.simulated, **told_of))
            for row in rows(Path(folder), traces)
            if options.only in row.name and not (options.simulated and row.run.cc == "bbr")
        ]
        asked = [(row, seed) for row in chosen for seed in range(1, options.seeds + 1)]
        runs = list(pool.map(lambda one: measured(one[0].run, one[1]), asked))
        for row in chosen:
            got = [
                row.of(run) for (of, _), run in zip(asked, runs, strict=True) if of is row and run
            ]
            print(told(row.name, row.bands, got) if got else f"{row.name}: not kept", flush=True)


if __name__ == "__main__":
    main()
