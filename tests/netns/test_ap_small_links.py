# SPDX-License-Identifier: MIT OR Apache-2.0
"""The access point where a link behind it is too small for a price in a full packet."""

import time
from typing import Any

import pytest
from house import SERVER, SERVER6, House, house
from pair import heard, obey, stamp

LINE_BPS = 9.3e6
"""What 10 Mbit/s carry of payload in packets of 1400 B, with the option, by IPv4 or IPv6."""
BOTH = pytest.mark.parametrize("host", [SERVER, SERVER6])


def counts(built: House) -> dict[str, int]:
    """Packets that the access point has counted."""
    return {name: n["packets"] for name, n in built.status()["counts"].items()}


def steered(built: House) -> dict[str, Any]:
    """What the client tells of the download."""
    flow: dict[str, Any] = max(heard(built)["flows"], key=lambda f: f["forwarded_bytes"])
    return flow


@pytest.mark.parametrize("host", [SERVER, pytest.param(SERVER6, marks=pytest.mark.measured)])
def test_a_router_behind_it_whose_next_link_is_smaller(host: str) -> None:
    with house(limit=300_000) as built:
        stamp(built, "--a", "10 kB")
        obey(built)
        built.run("modem", "ip", "link", "set", "lan", "mtu", 1400)
        with built.download(2, host=host) as found:
            time.sleep(2)
            flow = steered(built)
        told = counts(built)
    # It stood still for as long as anybody watched.
    assert found["bps"] >= 0.9 * LINE_BPS
    # The server was told of a smaller one, in which there is room for a price.
    assert told["mtu_lowered"] > 0
    assert told["stamped"] > 10 * told["unstamped"]
    assert (flow["state"], flow["price_s"] is None) == ("limited", False)


@BOTH
def test_a_link_behind_it_that_becomes_smaller(host: str) -> None:
    with house(limit=300_000) as built:
        stamp(built, "--a", "10 kB")
        obey(built)
        with built.download(4, host=host) as found:
            time.sleep(2)
            built.run("modem", "ip", "link", "set", "lan", "mtu", 1400)
            time.sleep(2)
            flow = steered(built)
        told = counts(built)
    assert found["bps"] >= 0.8 * LINE_BPS
    assert told["mtu_lowered"] > 0
    assert (flow["state"], flow["price_s"] is None) == ("limited", False)


@BOTH
def test_a_station_whose_own_link_is_smaller(host: str) -> None:
    with house(limit=300_000) as built:
        built.run("client", "ip", "link", "set", "eth", "mtu", 1400)
        stamp(built, "--a", "10 kB")
        obey(built)
        with built.download(2, host=host) as found:
            time.sleep(2)
            flow = steered(built)
        told = counts(built)
    assert found["bps"] >= 0.9 * LINE_BPS
    # Its MSS tells; with a time stamp there are 12 B less.
    assert flow["mss_bytes"] == (1360 - 8 - 12 if host == SERVER else 1340 - 40 - 12)
    assert told["mss_lowered"] >= 2
    # What is sent again bears none.
    assert (flow["state"], told["mtu_lowered"]) == ("limited", 0)
    assert told["stamped"] > 10 * told["unstamped"]


@pytest.mark.parametrize(("host", "begins"), [(SERVER6, "before"), (SERVER, "meanwhile")])
def test_what_drops_full_packets_with_a_price_and_says_nothing(host: str, begins: str) -> None:
    # A device takes 4 B more than its MTU. Without a price full packets have 1492 or 1460 B.
    mtu = 1490 if host == SERVER else 1458
    with house(limit=300_000) as built:
        stamp(built, "--a", "10 kB")
        obey(built)
        if begins == "before":
            built.run("client", "ip", "link", "set", "eth", "mtu", mtu)
            # It does not say so in its MSS.
            route = ("change", "default", "via", "fd00:1::1", "advmss", 1440)
            built.run("client", "ip", "-6", "route", *route)
        with built.download(5, host=host) as found:
            time.sleep(1.5)
            if begins == "meanwhile":
                built.run("client", "ip", "link", "set", "eth", "mtu", mtu)
            time.sleep(2.5)
            first = counts(built), heard(built)["counts"]["lowered"]["packets"]
            time.sleep(1)
            last = counts(built), heard(built)["counts"]["lowered"]["packets"]
    assert found["bps"] >= 0.6 * LINE_BPS
    # It is plain TCP: without prices, and let go.
    assert last[0]["unstamped"] - first[0]["unstamped"] > 100
    assert last[0]["stamped"] - first[0]["stamped"] <= 5
    assert last[1] == first[1]
