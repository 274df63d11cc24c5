# SPDX-License-Identifier: MIT OR Apache-2.0
"""One flow of XCP over a wire, in ns-2 and in lasthop.

`python tests/peers/xcp_cases.py` runs ns-2 over all cases and writes `ns2_xcp.csv`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tables import run_script, spread, write

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "xcp.tcl"
TABLE = HERE / "ns2_xcp.csv"
QUANTITIES = ("goodput_bps", "drops", "retransmits", "timeouts")
CROSSINGS_NS = round(1e9 * (2 * 1352 * 8 / 1e9 + 40 * 8 / 5e6 + 2 * 40 * 8 / 1e9))
"""What packets and ACKs take to cross all of xcp.tcl's links but the bottleneck, in ns."""


@dataclass(frozen=True)
class XcpCase:
    """A wire of 5 Mbit/s, and what its router is told."""

    name: str
    told_mbps: float
    rtt_ms: float
    buffer: int
    """Packets, the one in transmission among them."""
    loss: float = 0
    duration_s: float = 600
    seeds: int = 3
    offsets_us: tuple[int, ...] = (0,)
    """What the round trip is longer by, in runs of their own."""

    def runs(self) -> list[tuple[int, int]]:
        """Seed and offset of each run. In ns-2 a seed also says when the intervals begin."""
        return [(seed, offset) for offset in self.offsets_us for seed in range(1, self.seeds + 1)]

    def ns2(self, seed: int, offset_us: int) -> dict[str, float]:
        """One run of ns-2."""
        rtt_ms = round(self.rtt_ms + offset_us / 1000, 3)
        arguments = ["told_mbps", self.told_mbps, "rtt_ms", rtt_ms, "buffer", self.buffer]
        arguments += ["loss", self.loss, "duration", self.duration_s, "seed", seed]
        return run_script(SCRIPT, arguments)

    def scenario(self, seed: int, offset_us: int) -> str:
        """The same as a scenario of lasthop."""
        loss = f'loss = {{ kind = "bernoulli", p = {self.loss:g} }}\n' if self.loss else ""
        rtt_ns = round(self.rtt_ms * 1e6) + 1000 * offset_us + CROSSINGS_NS
        return (
            f'title = "{self.name}"\nduration = "{self.duration_s:g} s"\nwarmup = "10 s"\n'
            f'seed = {seed}\n[[link]]\nname = "wire"\nfrom = "r1"\nto = "r2"\nrate = "5 Mbit/s"\n'
            f'queue = {{ limit = "{self.buffer - 1} packets" }}\nduplex = false\n'
            f'feedback = {{ kind = "xcp", capacity = "{self.told_mbps:g} Mbit/s" }}\n{loss}'
            f'[[flow]]\nname = "flow"\npath = ["r1", "r2"]\nrtt = "{rtt_ns} ns"\n'
            f'start = "{7 * seed} ms"\npacket = "1340 B"\n'
            'sender = { kind = "xcp", rules = "ns-2", rtt_tick = "1 ms", timestamps = true }\n'
        )


NEAR = tuple(
    XcpCase(f"overload-{rtt_ms}", told_mbps=10, rtt_ms=rtt_ms, buffer=100)
    for rtt_ms in range(36, 52, 2)
)
"""At some round-trip times the flow's cycle falls into step with the router's intervals."""

PERTURBED = tuple(
    XcpCase(
        f"perturbed-{rtt_ms}",
        told_mbps=10,
        rtt_ms=rtt_ms,
        buffer=100,
        offsets_us=(0, 1, -1, 2, -2, 5, -5, 10, -10),
    )
    for rtt_ms in (40, 46)
)
"""Two where goodput hangs on the phase, and a little beside, so that no single one decides."""

CASES = (
    XcpCase("right", told_mbps=5, rtt_ms=80, buffer=50, duration_s=60),
    XcpCase("overload-80", told_mbps=10, rtt_ms=80, buffer=50),
    *NEAR,
    *PERTURBED,
    XcpCase("overload-120", told_mbps=7.5, rtt_ms=120, buffer=60),
    XcpCase("loss-0.01", told_mbps=5, rtt_ms=200, buffer=200, loss=0.01, duration_s=1500),
    XcpCase("loss-0.03", told_mbps=5, rtt_ms=80, buffer=100, loss=0.03, duration_s=1500),
    # Time-outs back off to a minute: it takes many runs to say how often.
    XcpCase("loss-0.1", 5, rtt_ms=200, buffer=200, loss=0.1, duration_s=3000, seeds=12),
)


def main() -> int:
    """Write the table."""
    rows = []
    for case in CASES:
        runs = [case.ns2(*run) for run in case.runs()]
        rows.append({"name": case.name, **spread(runs, QUANTITIES)})
    write(TABLE, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
