# SPDX-License-Identifier: MIT OR Apache-2.0
"""The cases that lasthop and ns-2 are both put to, and how each is told of them.

Everything is one dumbbell: flows with private access links through one bottleneck, 1500-byte
packets (1460 of payload), an ACK a packet, RTO_min 0.2 s, initial window 2.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import ClassVar

PAYLOAD_BYTES = 1460
WIRE_BYTES = 1500
ACCESS_MBPS = 1000
NS2_RED = {
    "min_threshold": "red_thresh",
    "max_threshold": "red_maxthresh",
    "queue_weight": "red_weight",
    "max_p": "red_max_p",
    "wait": "red_wait",
    "gentle": "red_gentle",
    "unit": "red_bytes",
}
"""Arguments of dumbbell.tcl by the keys of a scenario."""


@dataclass(frozen=True)
class Sender:
    """How a sender is told to each simulator."""

    ns2: str
    """ns-2's agent, and for Linux' the law."""
    lasthop: str
    """Keys of a lasthop sender."""
    alpha: float = 1
    beta: float = 0.5
    """TCP(alpha, beta) in ns-2."""
    limited_transmit: bool = False


LIMITED = 'rules = "ns-2", rtt_tick = "1 ms"'
"""All of ns-2's rules, with the clock that dumbbell.tcl gives its senders."""
RULES = f"{LIMITED}, limited_transmit = false"
SMOOTH = 'kind = "aimd", alpha = 0.31, beta = 0.875'
SENDERS = {
    "newreno": Sender("Newreno", f'kind = "newreno", {RULES}'),
    "reno": Sender("Reno", f'kind = "reno", {RULES}'),
    "newreno-limited": Sender("Newreno", f'kind = "newreno", {LIMITED}', limited_transmit=True),
    "smooth": Sender("Reno", f"{SMOOTH}, {RULES}", 0.31, 0.875),
    "smooth-newreno": Sender("Newreno", f'{SMOOTH}, recovery = "newreno", {RULES}', 0.31, 0.875),
    "smooth-limited": Sender(
        "Newreno", f'{SMOOTH}, recovery = "newreno", {LIMITED}', 0.31, 0.875, limited_transmit=True
    ),
    "responsive": Sender("Reno", f'kind = "aimd", alpha = 1.25, beta = 0.25, {RULES}', 1.25, 0.25),
    "sack": Sender("Sack1", f'kind = "newreno", sack = true, {LIMITED}', limited_transmit=True),
    # ns-2 rounds what is in the queue to whole segments: its bounds of 1, 3 and 1 are these.
    "vegas": Sender("Vegas", 'kind = "vegas", alpha = 0.5, beta = 3.5, gamma = 1.5'),
    # Linux never learns the least round-trip time anew.
    "veno": Sender("Linux/veno", 'kind = "veno", sack = true, reset_base_rtt = false'),
    "westwood": Sender("Linux/westwood", 'kind = "westwood", sack = true'),
}


@dataclass(frozen=True)
class Case:
    """One dumbbell. Times in ms or s as named, the buffer in packets."""

    name: str
    duration_s: float
    warmup_s: float = 0
    sender: str = "newreno"
    flows: int = 1
    rate_mbps: float = 10
    one_way_ms: float = 1
    rtts_ms: tuple[float, ...] = (100,)
    buffer: int = 84
    loss: float = 0
    dark_every_s: float = 0
    """After each such time the bottleneck loses all data packets for `dark_s`; 0: never."""
    dark_s: float = 0
    transfer: int = 0
    """Packets that each flow sends; 0: no end."""
    overhead_ms: float = 0
    """The most that a packet waits at its sender, with all that the sender may send by then."""
    red: str = ""
    """RED at the bottleneck, as keys of a scenario; its mean packet is that of the flows."""
    script: ClassVar[str] = "dumbbell.tcl"

    def stagger_ms(self, factor: float = 1) -> float:
        """Start of each further flow: one RTT spread over the flows, times `factor`."""
        return self.rtts_ms[0] / self.flows * factor

    def ns2_arguments(self, seed: int, stagger: float) -> list[str]:
        """Arguments of dumbbell.tcl, with the queue monitored."""
        settings: dict[str, object] = {
            "flows": self.flows,
            "rate_mbps": f"{self.rate_mbps:g}",
            "access_mbps": ACCESS_MBPS,
            "one_way_ms": f"{self.one_way_ms:g}",
            "rtts_ms": " ".join(f"{rtt:g}" for rtt in self.rtts_ms),
            "buffer": self.buffer,
            "duration": f"{self.duration_s:g}",
            "warmup": f"{self.warmup_s:g}",
            "sender": SENDERS[self.sender].ns2,
            "alpha": f"{SENDERS[self.sender].alpha:g}",
            "beta": f"{SENDERS[self.sender].beta:g}",
            "loss": f"{self.loss:g}",
            "dark_every": f"{self.dark_every_s:g}",
            "dark": f"{self.dark_s:g}",
            "transfer": self.transfer,
            "limited_transmit": SENDERS[self.sender].limited_transmit,
            "overhead_ms": f"{self.overhead_ms:g}",
            "stagger_ms": f"{self.stagger_ms(stagger):g}",
            "seed": seed,
            "monitor": 1,
        }
        if self.red:
            settings["queue"] = "RED"
            for key, value in tomllib.loads(f"red = {{ {self.red} }}")["red"].items():
                settings[NS2_RED[key]] = int(value == "bytes") if key == "unit" else value
        return [_tcl(word) for pair in settings.items() for word in pair]

    def scenario(self, seed: int, stagger: float) -> str:
        """The same as a scenario of lasthop."""
        loss = ""
        if self.loss or self.dark_every_s:
            kind = f'kind = "bernoulli", p = {self.loss:g}'
            if self.dark_every_s:
                count = int(self.duration_s / self.dark_every_s)
                starts = [f"{self.dark_every_s * (i + 1):g} s" for i in range(count)]
                kind = f'kind = "handoff", at = {starts}, length = "{self.dark_s:g} s"'
            # Data alone is lost, so the way back is a link of its own.
            loss = (
                f"duplex = false\nloss = {{ {kind} }}\n"
                f'[[link]]\nname = "back"\nfrom = "r2"\nto = "r1"\n'
                f'rate = "{self.rate_mbps:g} Mbit/s"\ndelay = "{self.one_way_ms:g} ms"\n'
                "duplex = false\n"
            )
        # ns-2's drop-tail counts the packet in transmission, its RED and lasthop those that wait.
        limit = self.buffer if self.red else self.buffer - 1
        aqm = ""
        if self.red:
            aqm = f', aqm = {{ kind = "red", mean_packet = "{WIRE_BYTES} B", {self.red} }}'
        text = (
            f'title = "{self.name}"\n'
            f'duration = "{self.duration_s:g} s"\nwarmup = "{self.warmup_s:g} s"\nseed = {seed}\n'
            f'[[link]]\nname = "bottleneck"\nfrom = "r1"\nto = "r2"\n'
            f'rate = "{self.rate_mbps:g} Mbit/s"\ndelay = "{self.one_way_ms:g} ms"\n'
            f'queue = {{ limit = "{limit} packets"{aqm} }}\n{loss}'
        )
        app = "bulk"
        if self.transfer:
            app = f'{{ kind = "fixed", size = "{self.transfer * PAYLOAD_BYTES} B" }}'
        for flow in range(self.flows):
            rtt_ms = self.rtts_ms[flow % len(self.rtts_ms)] - 2 * self.one_way_ms
            overhead = f'overhead = "{self.overhead_ms:g} ms"\n' if self.overhead_ms else ""
            text += (
                f'[[flow]]\nname = "flow{flow}"\npath = ["r1", "r2"]\nrtt = "{rtt_ms:g} ms"\n'
                f'access = "{ACCESS_MBPS} Mbit/s"\npacket = "1500 B"\n{overhead}'
                f"sender = {{ {SENDERS[self.sender].lasthop}, initial_window = 2, "
                'rto_min = "200 ms", rto_initial = "3 s" }\n'
                f'receiver = "plain"\napp = {app if self.transfer else chr(34) + app + chr(34)}\n'
                f'start = "{flow * self.stagger_ms(stagger):g} ms"\n'
            )
        return text


def _random_loss() -> list[Case]:
    return [
        Case(f"loss-{p:g}", 3000, 50, rate_mbps=100, buffer=2000, loss=p)
        for p in (1e-3, 1e-2, 3e-2, 5e-2)
    ]


def _sharing() -> list[Case]:
    return [
        Case(f"share-{flows}-buffer-{buffer}", 300, 50, flows=flows, buffer=buffer)
        for flows in (1, 2, 4, 10)
        for buffer in (42, 84)
    ]


def _other_laws() -> list[Case]:
    random = [
        Case(f"{sender}-loss-{p:g}", 3000, 50, sender, rate_mbps=100, buffer=2000, loss=p)
        for sender in ("smooth", "responsive")
        for p in (1e-3, 1e-2)
    ]
    many = [
        Case("newreno-limited-40", 100, 20, "newreno-limited", 40),
        Case("smooth-newreno-35", 100, 20, "smooth-newreno", 35),
        Case("smooth-limited-35", 100, 20, "smooth-limited", 35),
        Case("smooth-jitter-35", 100, 20, "smooth-newreno", 35, overhead_ms=3),
        Case("smooth-jitter-50", 100, 20, "smooth-newreno", 50, overhead_ms=3),
        Case("sack-20", 100, 20, "sack", 20, buffer=30),
    ] + [
        Case(f"{sender}-jitter-{flows}", 100, 20, sender, flows, rtts_ms=rtts_ms, overhead_ms=1)
        for sender, flows, rtts_ms in (
            ("smooth-limited", 50, (100,)),
            ("smooth-limited", 20, (40, 70, 100)),
            ("newreno", 20, (40, 70, 100)),
            ("newreno-limited", 20, (40, 70, 100)),
        )
    ]
    # Each flow has a path of its own: nothing falls into step, whatever the simulator's ties.
    spread = [
        Case(f"{name}-spread-{n}", 100, 20, sender, n, rtts_ms=_own_paths(n), overhead_ms=1)
        for name, sender, n in (
            ("smooth", "smooth-newreno", 35),
            ("smooth", "smooth-newreno", 50),
            ("newreno", "newreno", 40),
        )
    ]
    handoffs = [
        Case(name, 200, 20, sender, flows, dark_every_s=every_s, dark_s=dark_s, overhead_ms=1)
        for name, sender, flows, every_s, dark_s in (
            ("handoff-alone", "smooth-newreno", 1, 5, 0.2),
            ("handoff-short", "smooth-newreno", 4, 2, 0.05),
            ("handoff-long", "smooth-newreno", 10, 5, 1),
            ("handoff-reno", "smooth", 10, 5, 0.2),
            ("handoff-limited", "smooth-limited", 10, 5, 0.2),
        )
    ]
    sharing = [
        Case(f"{sender}-share-{flows}", 60, 15, sender, flows)
        for sender in ("vegas", "veno", "westwood")
        for flows in (4, 10)
    ]
    return random + many + spread + handoffs + sharing


def _stepped(sender: str, flows: int, overhead_ms: float) -> tuple[Case, ...]:
    """One round-trip time for all flows, and others about it."""
    return tuple(
        Case(
            f"stepped-{sender}-{rtt}-{overhead_ms:g}",
            100,
            20,
            sender,
            flows,
            rtts_ms=(rtt,),
            overhead_ms=overhead_ms,
        )
        for rtt in range(96, 106, 2)
    )


def _own_paths(flows: int) -> tuple[float, ...]:
    """Round-trip times of 90 to 110 ms, by the golden section."""
    return tuple(round(90 + 20 * (0.6180339887 * (i + 1) % 1), 3) for i in range(flows))


def _red() -> list[Case]:
    thresholds = "min_threshold = 20, max_threshold = 60"
    kinds = {
        "": thresholds,
        "-abrupt": f"{thresholds}, gentle = false, wait = false",
        "-bytes": f'{thresholds}, unit = "bytes", queue_weight = 0.01, max_p = 0.05',
        "-auto": "queue_weight = 0",
    }
    return [
        Case(f"red-{flows}{kind}", 300, 50, flows=flows, red=red)
        for kind, red in kinds.items()
        for flows in (10, 40)
    ] + [Case("droptail-40", 300, 50, flows=40)]


def _tcl(word: object) -> str:
    return str(int(word) if isinstance(word, bool) else word)


STEPPED = (
    _stepped("newreno", 40, 1),
    _stepped("newreno", 40, 2),
    _stepped("smooth-newreno", 35, 1),
)
"""Where all flows have one round-trip time, how many time out hangs on what step they fall into."""

CASES = (
    *_random_loss(),
    *_sharing(),
    *(
        Case(f"reno-loss-{p:g}", 3000, 50, sender="reno", rate_mbps=100, buffer=2000, loss=p)
        for p in (1e-2, 5e-2)
    ),
    Case("reno-share-4-buffer-84", 300, 50, sender="reno", flows=4),
    Case("two-rtts", 3000, 50, flows=2, rtts_ms=(30, 100)),
    Case("short-transfer", 10, transfer=100),
    Case("w1", 100, flows=10, rate_mbps=100, one_way_ms=10, rtts_ms=(40,), buffer=334),
    *_red(),
    Case("w3", 3000, flows=4, rtts_ms=(30, 130, 10, 180), buffer=60),
    *_other_laws(),
    *(case for cases in STEPPED for case in cases),
)
