# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured of a run of ``qfcp``, and its table."""

from __future__ import annotations

import pandas as pd

from ... import _lasthop
from ...lab import Lab, Run, acknowledged, count_at, moving_rate, rates, settled_s, within
from ...paper import load_paper

PAYLOAD_BYTES = 1300
PACKET_BYTES = 1340
STEADY_S = 5.0
STEPS_S = (15, 30, 45, 60)
"""When the WLAN's rate steps."""


def table_cells(lab: Lab) -> list[float]:
    """How many cells of Table I are equal."""
    cells = load_paper("qfcp").document["table1"]
    equal = [
        _lasthop.settling_time(0.1 * (column + 1), 0.1 * (row + 1)) == _tenths(cell)
        for row, found in enumerate(cells)
        for column, cell in enumerate(found)
    ]
    return [float(sum(equal))] * len(lab.seeds)


def _tenths(seconds: float) -> float:
    """A time as the model counts it: whole intervals of a tenth of a second."""
    return round(seconds * 10) * 0.1


def queue_packets(run: Run) -> float:
    """The mean queue in packets, at the base station or before the wire."""
    return float(run.summary["queues"][0]["mean_bytes"] / PACKET_BYTES)


def drops(run: Run) -> float:
    """Packets dropped there."""
    return float(run.summary["queues"][0]["drops"])


def delay_s(run: Run) -> float:
    """The mean delay there."""
    return float(run.summary["queues"][0]["mean_delay_s"])


def waiting(run: Run) -> float:
    """The mean queue there in packets of any size, by Little's law.

    What comes are the downloads' data and an acknowledgement for each packet of the uploads.
    """
    queue = run.summary["queues"][0]
    span_s = run.summary["duration_s"] - run.summary["warmup_s"]
    delivered = sum(f["delivered_bytes"] for f in run.summary["flows"]) / PAYLOAD_BYTES
    return float((delivered - queue["drops"]) / span_s * queue["mean_delay_s"])


def downloads_percent(run: Run) -> float:
    """The downloads' share of the goodput."""
    down = sum(f["goodput_bps"] for f in run.summary["flows"] if f["name"].startswith("down"))
    return float(100 * down / run.figures["total_goodput_bps"])


def qfcp_share(run: Run) -> float:
    """The share of the goodput that QFCP's flows have."""
    return qfcp_goodput(run) / float(run.figures["total_goodput_bps"])


def qfcp_goodput(run: Run) -> float:
    """What QFCP's flows have together."""
    return float(sum(f["goodput_bps"] for f in run.summary["flows"] if f["sender"] == "qfcp"))


def found_s(run: Run) -> float:
    """Seconds until one download has its rate."""
    return settled_s(_rate(run))


def window_variation(run: Run) -> float:
    """The deviation of one download's window over its mean, in the steady state."""
    window = within(run.flow("down"), STEADY_S, float("inf"))["cwnd_bytes"]
    return float(window.std(ddof=0) / window.mean())


def capacity_follows_s(run: Run) -> float:
    """Seconds until the router has found the capacity after a step, the slowest of the steps."""
    return max(settled_s(_capacity(run), since_s=step) for step in STEPS_S)


def capacity_follows_up_s(run: Run) -> float:
    """The same after the last step, the one up."""
    return settled_s(_capacity(run), since_s=STEPS_S[-1])


def _capacity(run: Run) -> pd.Series:
    """C of the base station's router in bit/s, its mean over the last second."""
    return moving_mean(run.queue("wlan").set_index("time_s")["capacity_bps"])


def moving_mean(sampled: pd.Series, window_s: float = 1.0) -> pd.Series:
    """The mean of the samples of the last ``window_s``, at each."""
    step_s = float(sampled.index[1] - sampled.index[0])
    return sampled.rolling(round(window_s / step_s)).mean().dropna()


def follows_s(run: Run) -> float:
    """Seconds until the goodput of 1 s has settled after a step, the slowest of the steps."""
    return max(settled_s(_rate(run), since_s=step) for step in STEPS_S)


def follows_up_s(run: Run) -> float:
    """The same after the last step, the one up."""
    return settled_s(_rate(run), since_s=STEPS_S[-1])


def silent_s(run: Run) -> float:
    """The longest time after a step of the WLAN's in which nothing is acknowledged."""
    return longest_silence_s(acknowledged(run.tables).sum(axis=1), STEPS_S[0])


def longest_silence_s(so_far: pd.Series, since_s: float) -> float:
    """The longest time from one rise of a count to the next."""
    rises = so_far.index[so_far.diff() > 0].to_numpy()
    rises = rises[rises >= since_s]
    return float((rises[1:] - rises[:-1]).max())


def wavering(run: Run) -> float:
    """The deviation of the goodput of 1 s over its mean, from 5 s after the step to 1 Mbit/s on."""
    rate = rates(acknowledged(run.tables)).sum(axis=1)
    slow = rate[(rate.index > STEPS_S[2] + 5.5) & (rate.index < STEPS_S[3] + 0.5)]
    return float(slow.std(ddof=0) / slow.mean())


def _rate(run: Run) -> pd.Series:
    return moving_rate(acknowledged(run.tables).sum(axis=1))


def astray(run: Run) -> float:
    """By what share the rate 3 to 5 s after a step differs from that 10 to 14 s after it; most."""
    return max(astray_after(acknowledged(run.tables).sum(axis=1), step) for step in STEPS_S)


def astray_after(so_far: pd.Series, step_s: float) -> float:
    """That share after one step, from a count of bytes by the time in s."""
    count = count_at(so_far, [step_s + s for s in (3, 5, 10, 14)])
    return float(abs((count[1] - count[0]) / 2 / ((count[3] - count[2]) / 4) - 1))


def jain(frame: pd.DataFrame) -> pd.Series:
    """Jain's index (qfcp eq. 12) of each row; NaN for a row of nothing."""
    found = [_lasthop.jain(row) for row in frame.to_numpy().tolist()]
    return pd.Series(found, index=frame.index, dtype=float)


def jain_per_second(run: Run) -> float:
    """Jain's index per second, its mean after the first seconds."""
    index = jain(rates(acknowledged(run.tables)))
    return float(index[index.index > STEADY_S + 1].mean())
