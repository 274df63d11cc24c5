# SPDX-License-Identifier: MIT OR Apache-2.0
"""The WLANs that lasthop and ns-2 are both put to, and how each is told of them.

A base station behind 1 Gbit/s, and a station for each flow: 1340-byte packets (1300 of payload), an
ACK a packet, 100 packets in each interface's queue, RTO_min 0.2 s, initial window 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class WlanCase:
    """One WLAN. Times in ms or s as named, the buffer in packets."""

    name: str
    down: int = 0
    """Flows to stations."""
    up: int = 0
    """Flows from stations."""
    rts: bool = False
    rate_mbps: float = 11
    rtt_ms: float = 40
    buffer: int = 100
    duration_s: float = 200
    warmup_s: float = 20
    script: ClassVar[str] = "wlan.tcl"

    def stagger_ms(self, factor: float = 1) -> float:
        """Start of each further flow."""
        return 100 * factor

    def ns2_arguments(self, seed: int, stagger: float) -> list[str]:
        """Arguments of wlan.tcl."""
        settings: dict[str, object] = {
            "down": self.down,
            "up": self.up,
            "rts": int(self.rts),
            "rate_mbps": f"{self.rate_mbps:g}",
            "rtt_ms": f"{self.rtt_ms:g}",
            "buffer": self.buffer,
            "packet": 1340,
            "duration": f"{self.duration_s:g}",
            "warmup": f"{self.warmup_s:g}",
            "stagger_ms": f"{self.stagger_ms(stagger):g}",
            "seed": seed,
        }
        return [str(word) for pair in settings.items() for word in pair]

    def scenario(self, seed: int, stagger: float) -> str:
        """The same as a scenario of lasthop."""
        text = (
            f'title = "{self.name}"\n'
            f'duration = "{self.duration_s:g} s"\nwarmup = "{self.warmup_s:g} s"\nseed = {seed}\n'
            f'[[wlan]]\nname = "wlan"\nrate = "{self.rate_mbps:g} Mbit/s"\n'
            f'queue = {{ limit = "{self.buffer} packets" }}\n'
        )
        if self.rts:
            text += 'rts_threshold = "0 B"\n'
        for flow in range(self.down + self.up):
            end = "station" if flow < self.down else "source"
            text += (
                f'[[flow]]\nname = "flow{flow}"\n{end} = "m{flow}"\nrtt = "{self.rtt_ms:g} ms"\n'
                'packet = "1340 B"\nreceiver = "plain"\napp = "bulk"\n'
                'sender = { kind = "newreno", initial_window = 2, '
                'rto_min = "200 ms", rto_initial = "3 s" }\n'
                f'start = "{1000 + flow * self.stagger_ms(stagger):g} ms"\n'
            )
        return text


WLAN_VARIANTS = tuple((seed, 1 + seed / 17) for seed in range(1, 6))
"""Seed, and factor of the stagger: which of several uploads starves hangs on both."""

WLAN_CASES = (
    WlanCase("down-1", down=1),
    WlanCase("down-1-rts", down=1, rts=True),
    WlanCase("down-1-5.5", down=1, rate_mbps=5.5),
    WlanCase("down-1-2", down=1, rate_mbps=2),
    WlanCase("down-4", down=4),
    WlanCase("down-4-rts", down=4, rts=True),
    WlanCase("up-1", up=1),
    WlanCase("up-1-rts", up=1, rts=True),
    WlanCase("up-4", up=4),
    WlanCase("up-4-rts", up=4, rts=True),
)
