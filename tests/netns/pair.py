# SPDX-License-Identifier: MIT OR Apache-2.0
"""CLAMP's two agents in the house: `ap` at the router's `lan`, `client` at the client's `eth`."""

import subprocess
from pathlib import Path
from typing import Any

from house import House

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


def fields(capture: Path, names: list[str], only: str = "") -> list[list[str]]:
    """Fields of a capture's packets by tshark."""
    words = ["tshark", "-r", str(capture)]
    words += ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    words += ["-Y", only] if only else []
    words += ["-T", "fields", *(word for name in names for word in ("-e", name))]
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in out.splitlines()]
