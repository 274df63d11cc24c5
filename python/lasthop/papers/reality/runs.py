# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runs behind ``reality``: the same files in the simulator and, in real time, in the kernel."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...agent import find_agent
from ...errors import UserError
from ...lab import Lab, Run
from ...record import Record
from ...request import Request
from ...result import tables_of
from ...runs import cores
from ...scenario import of
from ...totals import total_goodput
from .measures import recovery_s

SIMULATED = ("reno", "cubic")
"""What of the kernel's congestion controls the simulator has."""

LAWS = ("gamma", "boost", "drain", "qfcp", "xcp")
"""Laws of ours, which ``lasthop-agent`` puts into the kernel."""

AT_ONCE = 2
"""Emulations that a core carries: eight on two cores were kept from it for 13 ms now and then."""

ATTEMPTS = 2
"""How often an emulation is tried that did not keep real time."""


class Real(NamedTuple):
    """One run in real time."""

    sweep: str
    control: str
    seed: int


def available(lab: Lab, place: str) -> list[str]:
    """The congestion controls of a sweep that the kernel has."""
    path = "/proc/sys/net/ipv4/tcp_available_congestion_control"
    try:
        with open(path, encoding="ascii") as file:
            names = file.read().split()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}: real time takes a Linux kernel") from error
    if find_agent():
        names += LAWS
    return [control for control in lab.sweep(place).values("control") if control in names]


def both(lab: Lab, place: str) -> list[str]:
    """The congestion controls of a sweep that both worlds can have."""
    return [
        control for control in lab.sweep(place).values("control") if control in SIMULATED + LAWS
    ]


def matrix(lab: Lab, place: str) -> pd.DataFrame:
    """The runs of a sweep: a row a control, seed and world, ``simulated`` or ``kernel``."""
    controls = both(lab, place)
    rows = [_row(lab, place, "simulated", run) for run in lab.runs(place, control=controls)]
    rows += _emulated(lab, place)
    there = {row["control"] for row in rows if row["world"] == "kernel"}
    for control in controls:
        if control not in there:
            lack = "this kernel or lasthop-agent is without it, or real time was not kept"
            raise UserError(f"reality-{place}, {control}: not one run in the kernel: {lack}")
    return pd.DataFrame(rows)


def _emulated(lab: Lab, place: str) -> list[dict[str, Any]]:
    runs = [Real(place, c, seed) for seed in lab.seeds for c in available(lab, place)]
    keys = {run: _key(lab, run) for run in runs}
    # What did not keep time beside many others has another chance beside few, and one alone.
    for width in (AT_ONCE * cores(), cores(), 1):
        due = [run for run in runs if _noted(lab, run, keys[run]) is None]
        _emulate_all(lab, due, keys, width)
    rows = []
    for run, key in keys.items():
        record = _noted(lab, run, key)
        if record is None:
            name = f"reality-{run.sweep}, {run.control}, seed {run.seed}"
            print(f"{name}: left out, as real time was not kept", file=sys.stderr)
        else:
            there = Run({"control": run.control}, run.seed, record)
            rows.append(_row(lab, place, "kernel", there))
    return rows


def _emulate_all(lab: Lab, runs: Sequence[Real], keys: Mapping[Real, str], width: int) -> None:
    """Tries each once, so many at a time."""
    if runs and sys.stderr.isatty():
        print(f"reality: {len(runs)} runs in real time, {width} at once", file=sys.stderr)
    with ThreadPoolExecutor(width) as pool:
        asked = {pool.submit(_attempt, lab, run): run for run in runs}
        try:
            for done in as_completed(asked):
                _note(lab, keys[asked[done]], done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _key(lab: Lab, run: Real) -> str:
    """Names a run in the journal: by all that a simulation's name holds, and the kernel."""
    sweep = lab.sweep(run.sweep)
    overrides = sweep.overrides({"control": run.control}, lab.scale)
    name = f"{Request(of(sweep.scenario), overrides, run.seed).key()} {platform.release()}"
    return hashlib.sha256(name.encode()).hexdigest()


def _noted(lab: Lab, run: Real, key: str) -> Record | None:
    """What is known of an emulation, with samples where its sweep wants them."""
    return lab.runner.noted(key, tables=lab.sweep(run.sweep).tables)


def _note(lab: Lab, key: str, record: Record | None) -> None:
    """Emulations take their time: an interruption is not to lose those that are done."""
    if record is not None:
        lab.runner.note(key, record)


def emulate(lab: Lab, run: Real) -> Record | None:
    """Emulates until real time was kept; none if it never was."""
    tries = (_attempt(lab, run) for _ in range(ATTEMPTS))
    return next((record for record in tries if record is not None), None)


def _attempt(lab: Lab, run: Real) -> Record | None:
    """Emulates in a process of its own, as a user would; none where real time was not kept."""
    from ...archive import read_frame, record_in

    sweep = lab.sweep(run.sweep)
    arguments = [sys.executable, "-m", "lasthop", "emu", str(sweep.scenario), "--json"]
    arguments += ["--seed", str(run.seed)]
    for key, value in sweep.overrides({"control": run.control}, lab.scale):
        arguments += ["--set", f"{key}={value}"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.parquet")
        if sweep.tables:
            arguments += ["--out", path]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if done.returncode == 0 and sweep.tables:
            return record_in(*read_frame(path))
    if done.returncode == 0:
        summary: dict[str, Any] = json.loads(done.stdout)
        return Record(summary["scenario"], summary)
    if done.returncode == 1 and done.stdout:
        return None
    raise UserError(done.stderr.strip().removeprefix("lasthop: ") or "the emulation broke off")


def _row(lab: Lab, place: str, world: str, run: Run) -> dict[str, Any]:
    summary = run.summary
    goodput = total_goodput(summary)
    queues = [queue for queue in summary["queues"] if queue["mean_delay_s"] is not None]
    weights = [queue["throughput_bps"] for queue in queues]

    def over_queues(column: str) -> float:
        """Its mean, by what went through each; none where nothing did."""
        found = [queue[column] for queue in queues]
        return float(np.average(found, weights=weights)) if any(weights) else math.nan

    # A sender may wait for its timer from one handoff to the next, to the end.
    flows = [flow["goodput_bps"] / goodput if goodput else math.nan for flow in summary["flows"]]
    return {
        "place": place,
        "control": run.point["control"],
        "seed": run.seed,
        "world": world,
        "goodput_bps": goodput,
        "mean_delay_s": over_queues("mean_delay_s"),
        "jain": summary["fairness"]["jain"],
        "p95_delay_s": over_queues("p95_delay_s"),
        **{f"share_{i + 1}": share for i, share in enumerate(flows)},
        "retransmits": sum(flow["retransmits"] for flow in summary["flows"]),
        "timeouts": sum(flow["timeouts"] for flow in summary["flows"]),
        "recovery_s": recovery_s(lab, place, run),
        "lag_p99_s": summary.get("emulation", {}).get("lag_p99_s"),
    }


def windows(lab: Lab) -> pd.DataFrame:
    """The congestion window against time on the constant link, of the first seed."""
    frames = [
        ("simulated", control, lab.run("window", control=control).tables["flows"])
        for control in SIMULATED
    ]
    for control in SIMULATED:
        record = emulate(lab, Real("window", control, lab.seeds[0]))
        if record is None:
            raise UserError(f"reality-window, {control}: real time was not kept")
        frames.append(("kernel", control, tables_of(record)["flows"]))
    columns = ["time_s", "cwnd_bytes"]
    return pd.concat(
        frame[columns].assign(world=world, control=control) for world, control, frame in frames
    )
