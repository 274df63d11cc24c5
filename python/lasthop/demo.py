# SPDX-License-Identifier: MIT OR Apache-2.0
"""``make demo``: TCP shares a fading access point unfairly, and CLAMP mends it."""

import os
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .atomic import make_folder
from .plot import COLOURS, new_figure, save, styled
from .result import Result, run
from .text import duration, percent, rate
from .totals import mean_delay, total_goodput

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TCP, CLAMP = "four-flows-fast-tcp", "four-flows-fast-clamp"
DELAYS = ("30 ms", "130 ms", "10 ms", "180 ms")
SETTINGS = {"duration": "600 s", "warmup": "100 s", "probe.every": "500 ms"}


def main() -> None:
    """Runs both, says what happened and leaves ``out/demo.png``."""
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


def _goodputs(result: Result) -> list[float]:
    return [float(flow["goodput_bps"]) for flow in result.summary["flows"]]


def _table(tcp: Result, clamp: Result) -> str:
    from .text import align

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
