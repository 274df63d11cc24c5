# SPDX-License-Identifier: MIT OR Apache-2.0
"""Large networks as scenario texts: what grows with the network shows in these."""

from __future__ import annotations

from collections.abc import Callable

RADIO = (
    '{ kind = "jakes", doppler = "60 Hz", generators = 20, snr = 4.0, bandwidth = "4.3 MHz", '
    'max_rate = "10 Mbit/s", slot = "3 ms", attempts = 15, packet_error_rate = 1e-3 }'
)
SCHEDULER = '{ kind = "proportional-fair", memory = 0.97 }'


def _head(title: str) -> str:
    return f'title = "{title}"\nduration = "1 s"\nwarmup = "0 s"\nseed = 1\n'


def _access_point(name: str) -> str:
    return (
        f'[[ap]]\nname = "{name}"\ndelay = "1 ms"\nscheduler = {SCHEDULER}\nradio = {RADIO}\n'
        'queue = { limit = "100 kB" }\n'
    )


def access_points(points: int = 1000, flows: int = 3) -> str:
    """A city: so many access points, each with so many flows to stations of their own."""
    text = [_head(f"{points} access points with {flows} flows each")]
    text += [_access_point(f"ap{point}") for point in range(points)]
    for point in range(points):
        for flow in range(flows):
            text.append(
                f'[[flow]]\nname = "f{point}-{flow}"\npath = ["ap{point}"]\nstation = "m{flow}"\n'
                f'rtt = "{20 + 40 * flow} ms"\nstart = "{point / 10:g} ms"\n'
            )
    return "".join(text)


def stations(count: int = 3000) -> str:
    """One access point that schedules so many fading stations."""
    text = [_head(f"An access point with {count} stations"), _access_point("ap")]
    for station in range(count):
        text.append(
            f'[[flow]]\nname = "f{station}"\nstation = "m{station}"\nrtt = "40 ms"\n'
            f'start = "{station / 10:g} ms"\n'
        )
    return "".join(text)


def flows(count: int = 100_000) -> str:
    """So many flows through one fast link."""
    return _head(f"{count} flows over a very fast wire") + (
        '[[link]]\nname = "bottleneck"\nfrom = "r1"\nto = "r2"\nrate = "100 Gbit/s"\n'
        'delay = "10 ms"\nqueue = { limit = "333334 packets" }\nduplex = true\n'
        f'[[flow]]\nname = "bulk"\ncount = {count}\npath = ["r1", "r2"]\nrtt = "20 ms"\n'
        'access = "1 Gbit/s"\nstagger = "400 ns"\n'
    )


NETWORKS: dict[str, Callable[[], str]] = {
    "1000-aps": access_points,
    "3000-stations": stations,
    "100000-flows": flows,
}
