# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent where something happens to the line: its rate changes, it loses packets, crowds come.

``python tests/netns/disturbed.py`` measures what the documents tell of it.
"""

import itertools
import json
import re
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from house import SERVER, House, house
from lasthop._lasthop import jain
from matrix import p99, part
from pair import obey, stamp

TARGET_MS = 25.0
STEPS_MBIT = (10, 2, 20)
PACE_S = 8.0
"""How long each rate holds."""
SETTLED_S = 3.0
"""After so long the queue is to be as it should again."""
FOUR = (20_020, 21_020, 22_020, 23_020)
"""Ports of four hosts that are 20 ms away."""
EIGHT = range(20_033, 20_041)
"""Those of eight that are 33 to 40 ms away."""
PING_S = 0.02
CROWD = Path(__file__).with_name("crowd.py")
TAU_BYTES = 500
WAYS_BACK = ((), ((10, 100, 0), (20, 0, 0)), ((10, 80, 0),), ((0, 0, 10),))
"""What becomes of the way back of acknowledgements: (at [s], longer by, held for [ms])."""
WAYS = (("none", "router"), ("proxy", "router"), ("proxy", "modem"), ("pair", "router"))


class Phase(NamedTuple):
    """How it was at one rate, from `SETTLED_S` after its begin on."""

    mbit: int
    wanted_ms: float
    wait_ms: float
    utilisation: float
    most_ms: float
    """The longest wait, from the begin on."""
    halves_ms: list[float]
    """Mean waits of each half second, from the begin on."""

    @property
    def back_s(self) -> float:
        """After how many seconds the mean of a half second first was within 20 % of the target."""
        near = [abs(ms / self.wanted_ms - 1) <= 0.2 for ms in self.halves_ms]
        return near.index(True) / 2 if any(near) else float("inf")


def attach(built: House, way: str, flows: int, mbit: int) -> float:
    """Puts the agent in, aiming at 25 ms at that rate; gives its queue, in bytes for the pair."""
    if way == "none":
        return 0.0
    if way == "proxy":
        built.agent("--target", f"{TARGET_MS:g} ms")
        return 0.0
    wanted_bytes = TARGET_MS / 1e3 * mbit * 125_000
    stamp(built, "--a", f"{wanted_bytes - flows * TAU_BYTES:.0f} B")
    obey(built, "--tau", f"{TAU_BYTES} B")
    return wanted_bytes


def steps(way: str, slow: str, congestion: str = "cubic") -> list[Phase]:
    """Four downloads over a line whose rate changes."""
    with house(f"{STEPS_MBIT[0]}mbit", slow=slow, distances=True) as built:
        built.helper("server", "serve", congestion)
        queue_bytes = attach(built, way, len(FOUR), STEPS_MBIT[0])
        whole_s = PACE_S * len(STEPS_MBIT)
        marks = []
        with ThreadPoolExecutor() as pool:
            load = pool.submit(built.fetch, FOUR, whole_s, 4)
            pings = pool.submit(built.pings, int((whole_s + 1) / PING_S), PING_S)
            time.sleep(1)
            for mbit in STEPS_MBIT:
                built.tbf("change", f"{mbit}mbit")
                begin = time.time()
                time.sleep(SETTLED_S)
                before, from_s = built.carried(), time.time()
                time.sleep(max(0.0, begin + PACE_S - from_s))
                carried_bps = 8 * (built.carried() - before) / (time.time() - from_s)
                marks.append((mbit, begin, carried_bps))
            waits = [(at_s - ms / 1e3, ms) for at_s, ms in pings.result()]
            load.result()
    found = []
    for mbit, begin, carried_bps in marks:
        own = [(at_s - begin, ms) for at_s, ms in waits if 0 <= at_s - begin < PACE_S]
        halves = [[ms for at_s, ms in own if n / 2 <= at_s < (n + 1) / 2] for n in range(16)]
        found.append(
            Phase(
                mbit,
                queue_bytes / (mbit * 125) or TARGET_MS,
                statistics.mean(ms for at_s, ms in own if at_s >= SETTLED_S),
                carried_bps / (mbit * 1e6),
                max(ms for _, ms in own),
                [statistics.mean(half) if half else float("nan") for half in halves],
            )
        )
    return found


class Lossy(NamedTuple):
    """Downloads over a line that loses packets."""

    bps: float
    wait_ms: float
    p99_ms: float
    jain: float


def lossy(
    way: str, slow: str, congestion: str, loss: float, ports: Sequence[int], take_s: float
) -> Lossy:
    """Downloads over 10 Mbit/s that lose packets behind the queue, after 4 s of start."""
    with house(slow=slow, distances=True, loss=loss) as built:
        built.helper("server", "serve", congestion)
        attach(built, way, len(ports), 10)
        with ThreadPoolExecutor() as pool:
            load = pool.submit(built.taken, ports, 4, take_s)
            pings = built.pings(int((4 + take_s) / PING_S), PING_S)
            rates, from_s, to_s = load.result()
    waits_ms = [ms for at_s, ms in pings if from_s <= at_s - ms / 1e3 and at_s <= to_s]
    each = list(rates.values())
    return Lossy(sum(each), statistics.mean(waits_ms), p99(waits_ms), jain(each))


class Back(NamedTuple):
    """A download while the way back of its acknowledgements changes."""

    bps: list[float]
    """What the line carried in each half second."""
    wait_ms: float
    p95_ms: float
    path_ms: float
    """What the agent takes for the way to the client and back without the queue, at the end."""


def back(
    slow: str, changes: Sequence[tuple[float, float, float]], ports: Sequence[int], take_s: float
) -> Back:
    """Downloads over 10 Mbit/s, after 5 s of start; changes are (at [s], further, held [ms])."""
    with house(slow=slow, distances=True) as built:
        built.helper("server", "serve", "cubic")
        attach(built, "proxy", 1, 10)
        with ThreadPoolExecutor() as pool:
            load = pool.submit(built.taken, ports, 5, take_s)
            pings = pool.submit(built.pings, int((5 + take_s) / PING_S), PING_S)
            begin, due, marks = time.time() + 5, list(changes), []
            for half in range(int(2 * take_s) + 1):
                at_s = half / 2
                time.sleep(max(0.0, begin + at_s - time.time()))
                while due and due[0][0] <= at_s:
                    built.way_back(*due.pop(0)[1:])
                marks.append((time.time(), built.carried()))
                if half == int(2 * take_s) - 1:
                    flow, *_ = built.status()["flows"]
            _, from_s, to_s = load.result()
            waits = [
                ms for at_s, ms in pings.result() if from_s <= at_s - ms / 1e3 and at_s <= to_s
            ]
    rates = [8 * (b - a) / (to - at) for (at, a), (to, b) in itertools.pairwise(marks)]
    return Back(rates, statistics.mean(waits), part(waits, 0.95), 1e3 * flow["client_rtt_s"])


def crowd(slow: str, count: int, size: int, at_once: int, forget_s: float = 0.0) -> dict[str, Any]:
    """Short connections through the proxy at 100 Mbit/s, and what the agent is after them."""
    with house("100mbit", slow=slow) as built:
        agent = built.agent("--target", f"{TARGET_MS:g} ms")
        built.run("server", "sysctl", "-qw", "net.core.somaxconn=4096")
        before = memory_bytes(agent.pid)
        server = built.start("server", sys.executable, CROWD, "serve", size)
        built.helpers.append(server)
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n", server.communicate()
        out = built.run("client", sys.executable, CROWD, "fetch", SERVER, count, at_once)
        found: dict[str, Any] = json.loads(out)
        found["status"], after = built.status(), memory_bytes(agent.pid)
        found["more_bytes"] = tuple(b - a for a, b in zip(before, after, strict=True))
        with built.download(4, flows=4) as load:
            time.sleep(2)
            found["waits_ms"] = built.ping_ms(50, 0.02)
        found["bps"], found["each"] = load["bps"], load["each"]
        # What has ended is forgotten after ten seconds.
        time.sleep(forget_s)
        found["later"] = built.status()
    return found


def memory_bytes(pid: int) -> tuple[int, int]:
    """What a process has in memory, and what its maps and programs take in the kernel."""
    resident = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert resident
    locked = 0
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        locked += sum(map(int, re.findall(r"^memlock:\s+(\d+)", info.read_text(), re.MULTILINE)))
    return int(resident[1]) * 1024, locked


def main() -> None:
    for way, slow in WAYS:
        for phase in steps(way, slow):
            told(way, slow, *phase[:-1], "back after [s]", phase.back_s)
            told(*phase.halves_ms)
    for loss in (0.005, 0.02):
        for congestion in ("cubic", "bbr"):
            for ports in ((20_040,), FOUR):
                for way, slow in WAYS:
                    row = lossy(way, slow, congestion, loss, ports, 20)
                    told(loss, congestion, len(ports), way, slow, *row)
    for slow in ("router", "modem"):
        for changes, ports in (
            *((changes, (20_040,)) for changes in WAYS_BACK),
            (WAYS_BACK[2], EIGHT),
        ):
            found_back = back(slow, changes, ports, 30)
            told(slow, len(ports), *changes, *found_back[1:])
            told(*found_back.bps)
    for slow in ("router", "modem"):
        found = crowd(slow, 10_000, 7000, 64, 12)
        took_s, known = found["took_s"], found["status"]["flow_count"]
        told(slow, len(took_s), found["all_s"], statistics.median(took_s), took_s[-1], known,
             found["later"]["flow_count"], *found["more_bytes"], found["bps"],
             statistics.mean(found["waits_ms"]))  # fmt: skip
        told(found["status"]["counts"])


def told(*values: object) -> None:
    """A line of what was measured."""
    print(*(f"{v:.4g}" if isinstance(v, float) else v for v in values), sep=", ", flush=True)


if __name__ == "__main__":
    main()
