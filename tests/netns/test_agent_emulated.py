# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent beside an emulated access point: what a scenario says of its queue, it makes of it."""

from typing import Any

from box import Box
from house import AGENT, demand_agent

POINT = """
duration = "30 s"

[[ap]]
name = "ap"
delay = "5 ms"
radio = { kind = "constant", rate = "10 Mbit/s" }
queue = { limit = "600 kB" }
price = { kind = "share", target = "25 ms" }

[[flow]]
name = "flow"
station = "phone"
rtt = "30 ms"
receiver = "share"
"""
DOWNLOAD = "iperf3 -c $LASTHOP_SERVER -R -t 6 > /dev/null"


def queue(box: Box, *options: str) -> dict[str, Any]:
    """The access point's queue under a download of six seconds."""
    serve = ("--serve", "iperf3 -s -1")
    summary = box.summary(POINT, "--cc", "reno", *options, *serve, inner=["sh", "-c", DOWNLOAD])
    found: dict[str, Any] = summary["queues"][0]
    return found


def test_the_agent_takes_the_place_of_the_laws_of_a_scenario(box: Box) -> None:
    demand_agent()
    plain = queue(box)
    agent = f"{AGENT} proxy --dev lasthop --target '25 ms' --metrics 127.0.0.1:9469"
    steered = queue(box, "--privileged", "--serve", agent)
    # 600 kB last for 480 ms, and reno fills them.
    assert plain["mean_delay_s"] > 0.12
    # 30 ms away a flow stands below T on average, and overshoots it once in the beginning.
    assert 0.005 < steered["mean_delay_s"] < 0.04
    assert steered["p95_delay_s"] < 0.1
