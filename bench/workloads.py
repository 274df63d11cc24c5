# SPDX-License-Identifier: MIT OR Apache-2.0
"""The workloads, as the peers need them told; lasthop reads `scenarios/bench/NAME.toml`.

The two descriptions say the same: NewReno, 1500-byte packets, an ACK a packet, no traces,
drop-tail. The round trip is the propagation alone. Flow i starts at i times the stagger, one RTT
spread over the flows, because flows that start together stay together.
"""

from __future__ import annotations

from dataclasses import dataclass

PAYLOAD_BYTES = 1460


@dataclass(frozen=True)
class Dumbbell:
    """A dumbbell's settings, in the units of the peers' scripts."""

    flows: int
    rate_mbps: float
    one_way_ms: float
    rtts_ms: tuple[float, ...]
    buffer_packets: int

    def arguments(self) -> dict[str, str]:
        """Key and value of each setting; the list of RTTs separated by commas."""
        return {
            "flows": str(self.flows),
            "rate_mbps": f"{self.rate_mbps:g}",
            "one_way_ms": f"{self.one_way_ms:g}",
            "rtts_ms": ",".join(f"{rtt:g}" for rtt in self.rtts_ms),
            "buffer": str(self.buffer_packets),
        }


@dataclass(frozen=True)
class Workload:
    """One piece of work for all simulators, or (without a dumbbell) for lasthop alone."""

    name: str
    title: str
    duration_s: float
    """Simulated time: so much that starting lasthop is under a twentieth of its run."""
    part_s: float
    """Simulated time of ns-3, whose cost a packet is taken from that part."""
    dumbbell: Dumbbell | None


WORKLOADS = (
    Workload(
        "w1",
        "10 flows, 100 Mbit/s, RTT 40 ms, buffer 334 packets",
        4000,
        10,
        Dumbbell(10, 100, 10, (40,), 334),
    ),
    Workload(
        "w2",
        "100 flows, 1 Gbit/s, RTT 40 ms, buffer 3334 packets",
        240,
        2,
        Dumbbell(100, 1000, 10, (40,), 3334),
    ),
    Workload(
        "w3",
        "RTTs 30, 130, 10, 180 ms, 10 Mbit/s, buffer 60 packets",
        20_000,
        150,
        Dumbbell(4, 10, 1, (30, 130, 10, 180), 60),
    ),
    Workload(
        "w4",
        "1000 flows, 10 Gbit/s, RTT 40 ms, buffer 33334 packets",
        24,
        0.4,
        Dumbbell(1000, 10_000, 10, (40,), 33334),
    ),
    Workload("f", "clamp:4c, four flows to three fading mobiles under CLAMP", 8000, 0, None),
)
