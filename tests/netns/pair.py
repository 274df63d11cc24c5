# SPDX-License-Identifier: MIT OR Apache-2.0
"""CLAMP's two agents in the house: `ap` at the router's `lan`, `client` at the client's `eth`."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from demands import demand_program
from house import House, until

FORGE = Path(__file__).with_name("forge.py")
PRICE = bytes([158, 8, 0x4C, 0x50])
"""How the option of IPv4 begins: kind, length, tag."""


def stamp(built: House, *options: object) -> subprocess.Popen[str]:
    """`ap` at the router."""
    return built.agent(*options, mode="ap")


def obey(built: House, *options: object, dev: str = "eth") -> subprocess.Popen[str]:
    """`client` at the client."""
    return built.agent(*options, mode="client", where="client", dev=dev)


def heard(built: House, dev: str = "eth") -> dict[str, Any]:
    """What the client tells."""
    return built.status(dev, where="client")


@contextmanager
def captured(built: House, name: str, device: str, file: Path) -> Iterator[None]:
    """What passes a device meanwhile."""
    demand_program("tshark")
    tshark = built.start(name, "tshark", "-i", device, "-w", file, "-f", "ip or ip6")
    until(lambda: (file.exists() and file.stat().st_size) or tshark.poll() is not None)
    assert tshark.poll() is None, tshark.communicate()
    try:
        yield
    finally:
        time.sleep(0.5)
        tshark.terminate()
        tshark.communicate()


def fields(capture: Path, names: list[str], only: str = "") -> list[list[str]]:
    """Fields of a capture's packets by tshark."""
    words = ["tshark", "-r", str(capture)]
    words += ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    words += ["-Y", only] if only else []
    words += ["-T", "fields", *(word for name in names for word in ("-e", name))]
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in out.splitlines()]
