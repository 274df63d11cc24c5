# SPDX-License-Identifier: MIT OR Apache-2.0
"""``make demo``: TCP shares a fading access point unfairly, and CLAMP mends it; then real pings."""

import os
import re
import shutil
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ._lasthop import EmulationError
from .agent import AGENT, find_agent
from .atomic import make_folder
from .plot import COLOURS, new_figure, save, styled
from .result import Result, emulate, run
from .text import align, duration, percent, rate
from .totals import mean_delay, total_goodput

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TCP, CLAMP = "four-flows-fast-tcp", "four-flows-fast-clamp"
DELAYS = ("30 ms", "130 ms", "10 ms", "180 ms")
SETTINGS = {"duration": "600 s", "warmup": "100 s", "probe.every": "500 ms"}

LTE = {"no agent": "lte-cubic", AGENT: "lte-share"}
"""Downloads by the kernel: what stands between servers and access point, and the scenario."""
EACH_S, PINGS_S = 0.2, 25
ATTEMPTS = 3
"""How often a run is tried that does not keep real time: after a build a machine may be busy."""
REPLY = re.compile(r"seq=(\d+) .*time=([\d.]+) ms")


@dataclass(frozen=True)
class Pinged:
    """What pings met beside a download."""

    at_s: Sequence[float]
    """When each was sent that was answered."""
    took_s: Sequence[float]
    goodput_bps: float


def main() -> None:
    """Runs both, says what happened and leaves ``out/demo.png``; then the pings."""
    print(
        "Four downloads from servers at different distances go to three people who walk past an\n"
        "access point; its radio serves whoever has the best channel, in fair turns. The third\n"
        "person runs two downloads at once, from a server near by and from one far away.\n"
    )
    tcp, clamp = (run(name, set=SETTINGS, seed=1) for name in (TCP, CLAMP))
    print(f"Simulated: {duration(tcp.summary['duration_s'])}, twice, "
          f"in {duration((tcp.wall_s or 0) + (clamp.wall_s or 0))}.\n")  # fmt: skip
    print(_table(tcp, clamp))
    print()
    print(_words(tcp, clamp))
    make_folder("out")
    path = os.path.join("out", "demo.png")
    _draw(tcp, clamp, path)
    print(f"\nPicture: {path}")
    ping()


def ping() -> None:
    """The same in earnest, where this machine lets it: by its own kernel, with the agent."""
    print(
        "\nNow in real time, with TCP of this machine's kernel: a CUBIC download over a recorded\n"
        "LTE link, and a ping beside it. The queue is in the access point, where the agent, one\n"
        "hop before it, does not see it.\n"
    )
    missing = _why_not()
    if missing:
        print(f"SKIPPED: {missing}")
        return
    try:
        found = {kind: _pinged(name, has_agent=kind == AGENT) for kind, name in LTE.items()}
    except EmulationError as error:
        print(f"SKIPPED: {error}")
        return
    print(_pings_table(found))
    path = os.path.join("out", "ping.png")
    _draw_pings(found, path)
    print(f"\nPicture: {path}")


def _why_not() -> str | None:
    """What the pings need and this machine does not have."""
    if os.geteuid() != 0:
        return "the agent takes root: `sudo .venv/bin/python -m lasthop.demo`"
    if not shutil.which("ping"):
        return "there is no `ping` here (Debian: apt install iputils-ping)"
    if not find_agent():
        return f"there is no {AGENT}: `make setup` builds it"
    return None


def _pinged(scenario: str, has_agent: bool) -> Pinged:
    """Pings through a scenario's link in real time, beside its download.

    Raises :class:`lasthop.EmulationError` where the system does not give what it takes, or time
    was not kept.
    """
    for attempt in range(ATTEMPTS):
        result, text = _run_pings(scenario, has_agent)
        if result.signal:
            raise KeyboardInterrupt
        faults = result.summary["emulation"]["faults"]
        if not faults:
            break
        if attempt + 1 == ATTEMPTS:
            raise EmulationError(f"this machine was too busy: {faults[0]}")
        print(f"This machine was too busy ({faults[0]}): once more.", flush=True)
    if result.complaints or result.status:
        raise EmulationError(f"ping ended with {result.status}: {'; '.join(result.complaints)}")
    replies = [(int(number), float(took_ms)) for number, took_ms in REPLY.findall(text)]
    if not replies:
        raise EmulationError("no ping was answered")
    return Pinged(
        # Since the first that was answered: one program counts from 0, another from 1.
        at_s=[EACH_S * (number - replies[0][0]) for number, _ in replies],
        took_s=[took_ms / 1e3 for _, took_ms in replies],
        goodput_bps=total_goodput(result.summary),
    )


def _run_pings(scenario: str, has_agent: bool) -> tuple[Result, str]:
    """One such run, and what ``ping`` said."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        # Commands run as who called sudo.
        Path(folder).chmod(0o711)
        said = Path(folder) / "pings"
        said.touch()
        said.chmod(0o666)
        ping = f'exec ping -i {EACH_S} -w {PINGS_S} "$LASTHOP_SERVER" > "$0"'
        result = emulate(scenario, ["sh", "-c", ping, str(said)],
                         set={"duration": f"{PINGS_S} s"}, flows=True, proxy=has_agent)  # fmt: skip
        return result, said.read_text()


def _pings_table(found: dict[str, Pinged]) -> str:
    import numpy as np

    lines = [["", *found]]
    for name, part in (("ping, median", 50), ("ping, 95th percentile", 95)):
        times = (float(np.percentile(pinged.took_s, part)) for pinged in found.values())
        lines.append([name, *(duration(time_s) for time_s in times)])
    lines.append(["download", *(rate(pinged.goodput_bps) for pinged in found.values())])
    return align(lines)


def _draw_pings(found: dict[str, Pinged], path: str) -> None:
    figure = new_figure(8.0, 3.2)
    with styled():
        axis: Axes = figure.subplots()
        for colour, (kind, pinged) in zip(COLOURS, found.items(), strict=False):
            label = f"{kind} (download {rate(pinged.goodput_bps)})"
            axis.plot(
                pinged.at_s, [1e3 * t for t in pinged.took_s], ".-", color=colour, label=label
            )
        axis.set_ylim(bottom=0)
        axis.set(xlabel="time [s]", ylabel="ping [ms]",
                 title="A ping beside a CUBIC download over LTE")  # fmt: skip
        axis.legend()
        save(figure, path)


def _goodputs(result: Result) -> list[float]:
    return [float(flow["goodput_bps"]) for flow in result.summary["flows"]]


def _table(tcp: Result, clamp: Result) -> str:
    lines = [["download", "TCP alone", "with CLAMP"]]
    people = ("first person", "second person", "third person", "third person")
    for person, delay, a, b in zip(people, DELAYS, _goodputs(tcp), _goodputs(clamp), strict=True):
        lines.append([f"{person}, server {delay} away", rate(a), rate(b)])
    lines.append(["all together", *(rate(total_goodput(r.summary)) for r in (tcp, clamp))])
    lines.append(
        ["mean wait at the access point", *(duration(mean_delay(r.summary)) for r in (tcp, clamp))]
    )
    return align(lines)


def _words(tcp: Result, clamp: Result) -> str:
    a, b = _goodputs(tcp), _goodputs(clamp)
    times = [sum(8e6 / rate for rate in rates) / len(rates) for rates in (a, b)]
    change = total_goodput(clamp.summary) / total_goodput(tcp.summary) - 1
    return textwrap.fill(
        "TCP alone: on the third person's phone the download from near by gets "
        f"{a[2] / a[3]:.0f} times the rate of the one from far away. With CLAMP it gets "
        f"{b[2] / b[3]:.1f} times as much: the two share. The second person, whose server is far "
        f"away, gets {percent(b[1] / a[1] - 1)} more than before. Fetching 1 MB takes "
        f"{duration(times[0])} on average with TCP alone and {duration(times[1])} with CLAMP, "
        f"with about the same wait in the queue; the total changes by {100 * change:+.1f} %. The "
        "servers are the same in both runs: CLAMP only changes the window that the phones "
        "advertise.",
        width=92,
    )


def _draw(tcp: Result, clamp: Result, path: str) -> None:
    from .overview import rate_bins

    figure = new_figure(8.0, 3.6)
    with styled():
        axes: Sequence[Axes] = figure.subplots(1, 2, sharey=True)
        for axis, result, title in ((axes[0], tcp, "TCP alone"), (axes[1], clamp, "with CLAMP")):
            flows = result.table("flows")
            for index, (name, rows) in enumerate(flows.groupby("flow", observed=True)):
                time_s, megabits = rate_bins(rows, result.summary["duration_s"])
                label = f"{name}: {DELAYS[index]}"
                axis.plot(time_s, megabits, color=COLOURS[index], lw=1, label=label)
            wait = duration(mean_delay(result.summary))
            axis.set(title=f"{title} (mean wait {wait})", xlabel="time [s]")
        axes[0].set_ylim(bottom=0)
        axes[0].set_ylabel("throughput [Mbit/s]")
        handles, labels = axes[1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        save(figure, path)


if __name__ == "__main__":
    main()
