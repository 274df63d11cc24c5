# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runs behind the paper ``qfcp``: protocols on a WLAN, with each enhancement or without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..result import tables_of
from ..scenario import Overrides

if TYPE_CHECKING:
    from ..paper import Lab

LENGTH = {"full": "120 s", "quick": "40 s"}
"""Duration of a run; the first 5 s are cut."""

PAYLOAD_BYTES = 1300
PACKET_BYTES = 1340
STEADY_S = 5.0

FEEDBACK = "wlan[0].feedback"
SENDER = "flow[*].sender"


def _more(text: str) -> str:
    return f", {text}" if text else ""


def qfcp(capacity: str = "1 Mbit/s", *, router: str = "", sender: str = "") -> Overrides:
    """QFCP, told a capacity; ``router`` and ``sender`` turn parts of it off."""
    told = f'{{ kind = "qfcp", capacity = "{capacity}", packet = "1340 B"{_more(router)} }}'
    return ((FEEDBACK, told), (SENDER, f'{{ kind = "qfcp"{_more(sender)} }}'))


def xcp(capacity: str) -> Overrides:
    """XCP, told a capacity."""
    told = f'{{ kind = "xcp", capacity = "{capacity}", beta = 0.2263 }}'
    return ((FEEDBACK, told), (SENDER, "xcp"))


XCP_B: Overrides = (
    (FEEDBACK, '{ kind = "xcp-b", packet = "1340 B" }'),
    (SENDER, "xcp"),
)
NEWRENO: Overrides = ((SENDER, "newreno"),)
CUBIC: Overrides = ((SENDER, "cubic"),)

PROTOCOLS: dict[str, Overrides] = {
    "NewReno": NEWRENO,
    "CUBIC": CUBIC,
    "XCP": xcp("4 Mbit/s"),
    "XCP-b": XCP_B,
    "QFCP": qfcp(),
}
"""What loss is shown for. XCP is told what TCP carries on the WLAN."""

ROUTER_OFF = {
    "probing": "probing = false",
    "smoothing": "weight = 1.0",
    "resident queue": "resident = false",
    "virtual queue": "virtual_queue = false",
    "both directions": "simplex = false",
}
"""The router's enhancements, and how each is turned off."""

LOSSES = {
    "full": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
    "quick": (1e-4, 1e-3, 1e-2, 1e-1),
}


def length(lab: Lab) -> Overrides:
    """Duration at the lab's scale."""
    return (("duration", LENGTH[lab.scale]),)


def lossy(probability: float) -> Overrides:
    """The WLAN loses packets above its MAC."""
    return (("wlan[0].loss.p", f"{probability:g}"),)


def series(lab: Lab, scenario: str, overrides: Overrides) -> list[dict[str, pd.DataFrame]]:
    """The sampled tables of a scenario, one set a seed."""
    key = ("qfcp series", scenario, overrides)
    if key not in lab.memory:
        (group,) = lab.run(scenario, [(*length(lab), *overrides)], tables=True)
        lab.memory[key] = [tables_of(record) for record in group]
    found: list[dict[str, pd.DataFrame]] = lab.memory[key]
    return found


def summaries(lab: Lab, scenario: str, overrides: Overrides = ()) -> list[dict[str, Any]]:
    """The summaries of a scenario, one a seed."""
    (group,) = lab.run(scenario, [overrides])
    return [record.summary for record in group]


def goodput(summary: dict[str, Any]) -> float:
    """Goodput of all flows in bit/s."""
    return float(sum(flow["goodput_bps"] for flow in summary["flows"]))


def goodputs(lab: Lab, scenario: str, overrides: Overrides) -> list[float]:
    """Goodput of all flows after the first seconds, one value a seed."""
    found = summaries(lab, scenario, (*length(lab), *overrides))
    return [goodput(summary) for summary in found]


def of(table: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    """The samples of one flow or queue."""
    return table[table[column].astype(str) == name].reset_index(drop=True)


def rates(tables: dict[str, pd.DataFrame], bin_s: float = 1.0) -> pd.DataFrame:
    """Rates of all flows in bit/s in bins, a column a flow, by the time at which a bin ends."""
    flows = tables["flows"]
    wide = flows.pivot(index="time_s", columns="flow", values="acknowledged_bytes").astype(float)
    step = round(bin_s / float(wide.index[1] - wide.index[0]))
    return wide.iloc[::step].diff().dropna() * 8 / bin_s


def jain(frame: pd.DataFrame) -> pd.Series:
    """Jain's index (qfcp eq. 12) of each row."""
    total = frame.sum(axis=1)
    squares = (frame**2).sum(axis=1)
    return total**2 / (frame.shape[1] * squares.where(squares > 0))


def found_s(tables: dict[str, pd.DataFrame], after_s: float = 0.0, until_s: float = 10.0) -> float:
    """Seconds from ``after_s`` until the rate stays within a tenth of what it comes to.

    The rate is that of a second; what it comes to is its mean over the five seconds up to
    ``until_s`` later.
    """
    flows = tables["flows"]
    wide = flows.pivot(index="time_s", columns="flow", values="acknowledged_bytes")
    total = wide.astype(float).sum(axis=1)
    step = round(1.0 / float(total.index[1] - total.index[0]))
    rate = (total.diff(step) * 8).dropna()
    time = rate.index.to_numpy() - after_s
    settled = rate[(time > until_s - 5) & (time <= until_s)].mean()
    early = rate[(time > 0) & (time <= until_s)]
    off = early[np.abs(early / settled - 1) > 0.1]
    return float(off.index[-1] - after_s) if len(off) else 0.0


def astray(tables: dict[str, pd.DataFrame], after_s: float) -> float:
    """By what share the rate from 3 to 5 s after ``after_s`` differs from that of 10 to 14 s."""
    flows = tables["flows"]
    wide = flows.pivot(index="time_s", columns="flow", values="acknowledged_bytes")
    total = wide.astype(float).sum(axis=1)
    at = np.interp([after_s + s for s in (3, 5, 10, 14)], total.index.to_numpy(), total.to_numpy())
    return float(abs((at[1] - at[0]) / 2 / ((at[3] - at[2]) / 4) - 1))
