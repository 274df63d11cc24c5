# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runs behind ``reality``: the same files in the simulator and, in real time, in the kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import UserError
from ..grid import total_goodput
from ..runs import cores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..paper import Lab
    from ..scenario import Overrides

CONTROLS = ("reno", "cubic", "bbr")
SIMULATED = ("reno", "cubic")
"""What of them the simulator has."""

PLACES = {"constant": 1, "rtts": 2, "slow": 4, "fast": 4, "lte": 1}
"""The scenarios ``reality-…`` and how many flows each has."""

LENGTHS = {"full": ("60 s", "5 s"), "quick": ("15 s", "3 s")}
"""Duration and warm-up."""

AT_ONCE = 4
"""Emulations that a core carries: each takes a few per cent of it."""

ATTEMPTS = 2
"""How often an emulation is tried that did not keep real time."""


@dataclass(frozen=True)
class Run:
    """One run in real time."""

    place: str
    control: str
    seed: int


def settings(place: str, control: str, scale: str) -> Overrides:
    """What is set for a run of a shipped scenario."""
    sender = f'"linux-{control}"'
    if control not in SIMULATED:
        sender = f'{{ kind = "kernel", congestion_control = "{control}" }}'
    duration, warmup = LENGTHS[scale]
    return (
        ("duration", duration),
        ("warmup", warmup),
        *((f"flow[{i}].sender", sender) for i in range(PLACES[place])),
    )


def available() -> tuple[str, ...]:
    """The congestion controls among ours that the kernel has."""
    path = "/proc/sys/net/ipv4/tcp_available_congestion_control"
    try:
        with open(path, encoding="ascii") as file:
            names = file.read().split()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}: real time takes a Linux kernel") from error
    return tuple(control for control in CONTROLS if control in names)


def matrix(lab: Lab) -> pd.DataFrame:
    """All runs: a row a place, control, seed and world, which is ``simulated`` or ``kernel``."""
    if "matrix" not in lab.memory:
        lab.memory["matrix"] = pd.DataFrame([*_simulated(lab), *_emulated(lab)])
    frame: pd.DataFrame = lab.memory["matrix"]
    return frame


def _simulated(lab: Lab) -> list[dict[str, Any]]:
    rows = []
    for place in PLACES:
        points = [settings(place, control, lab.scale) for control in SIMULATED]
        groups = lab.run(f"reality-{place}", points, label=f"reality: {place}")
        rows += [
            _row(Run(place, control, seed), "simulated", record.summary)
            for control, group in zip(SIMULATED, groups, strict=True)
            for seed, record in zip(lab.seeds, group, strict=True)
        ]
    return rows


def _emulated(lab: Lab) -> list[dict[str, Any]]:
    controls = available()
    runs = [Run(place, c, seed) for seed in lab.seeds for place in PLACES for c in controls]
    width = AT_ONCE * cores()
    _tell(f"reality: {len(runs)} runs in real time, {width} at once, {LENGTHS[lab.scale][0]} each")
    with ThreadPoolExecutor(width) as pool:
        found = list(pool.map(lambda run: _attempt(run, lab.scale), runs))
    rows = []
    for run, one in zip(runs, found, strict=True):
        # What did not keep time beside others has another chance alone.
        summary = one or emulate(run, lab.scale)
        if summary is None:
            name = f"reality-{run.place}, {run.control}, seed {run.seed}"
            print(f"{name}: left out, as real time was not kept", file=sys.stderr)
        else:
            rows.append(_row(run, "kernel", summary))
    return rows


def _tell(line: str) -> None:
    if sys.stderr.isatty():
        print(line, file=sys.stderr)


def emulate(run: Run, scale: str, more: Sequence[str] = ()) -> dict[str, Any] | None:
    """Emulates until real time was kept; none if it never was."""
    tries = (_attempt(run, scale, more) for _ in range(ATTEMPTS))
    return next((summary for summary in tries if summary is not None), None)


def _attempt(run: Run, scale: str, more: Sequence[str] = ()) -> dict[str, Any] | None:
    """Emulates in a process of its own, as a user would; none where real time was not kept."""
    arguments = [sys.executable, "-m", "lasthop", "emu", f"reality-{run.place}", "--json", *more]
    arguments += ["--seed", str(run.seed)]
    for key, value in settings(run.place, run.control, scale):
        arguments += ["--set", f"{key}={value}"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        summary: dict[str, Any] = json.loads(done.stdout)
        return summary
    if done.returncode == 1 and done.stdout:
        return None
    raise UserError(done.stderr.strip().removeprefix("lasthop: ") or "the emulation broke off")


def _row(run: Run, world: str, summary: dict[str, Any]) -> dict[str, Any]:
    goodput = total_goodput(summary)
    queues = [queue for queue in summary["queues"] if queue["mean_delay_s"] is not None]
    weights = [queue["throughput_bps"] for queue in queues]
    flows = [flow["goodput_bps"] / goodput for flow in summary["flows"]]
    return {
        "place": run.place,
        "control": run.control,
        "seed": run.seed,
        "world": world,
        "goodput_bps": goodput,
        "mean_delay_s": np.average([queue["mean_delay_s"] for queue in queues], weights=weights),
        "p95_delay_s": np.average([queue["p95_delay_s"] for queue in queues], weights=weights),
        **{f"share_{i + 1}": share for i, share in enumerate(flows)},
        "retransmits": sum(flow["retransmits"] for flow in summary["flows"]),
        "timeouts": sum(flow["timeouts"] for flow in summary["flows"]),
        "lag_p99_s": summary.get("emulation", {}).get("lag_p99_s"),
    }


def ratios(lab: Lab, place: str, control: str, column: str) -> list[float]:
    """The kernel's value over the simulator's, one a seed."""
    frame = matrix(lab)
    here = frame[(frame["place"] == place) & (frame["control"] == control)]
    if "kernel" not in set(here["world"]):
        lack = "this kernel does not have it, or real time was not kept"
        raise UserError(f"reality-{place}, {control}: not one run in the kernel: {lack}")
    table = here.pivot(index="seed", columns="world", values=column).dropna()
    return [float(value) for value in table["kernel"] / table["simulated"]]


def windows(lab: Lab) -> pd.DataFrame:
    """The congestion window against time on the constant link, of the first seed."""
    if "windows" not in lab.memory:
        lab.memory["windows"] = _windows(lab)
    frame: pd.DataFrame = lab.memory["windows"]
    return frame


EVERY = ("probe.every", "20 ms")


def _windows(lab: Lab) -> pd.DataFrame:
    from ..archive import read
    from ..result import Result, tables_of

    frames = []
    seed = lab.seeds[0]
    points = [(*settings("constant", control, "quick"), EVERY) for control in SIMULATED]
    groups = lab.run("reality-constant", points, tables=True, label="reality: windows")
    for control, group in zip(SIMULATED, groups, strict=True):
        frames.append(("simulated", control, tables_of(group[0])["flows"]))
    with tempfile.TemporaryDirectory() as folder:
        for control in SIMULATED:
            path = os.path.join(folder, f"{control}.parquet")
            more = ("--out", path, "--set", f"{EVERY[0]}={EVERY[1]}")
            emulate(Run("constant", control, seed), "quick", more)
            result = read(path)
            assert isinstance(result, Result)
            frames.append(("kernel", control, result.table("flows")))
    columns = ["time_s", "cwnd_bytes"]
    return pd.concat(
        frame[columns].assign(world=world, control=control) for world, control, frame in frames
    )
