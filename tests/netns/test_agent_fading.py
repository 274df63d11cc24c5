# SPDX-License-Identifier: MIT OR Apache-2.0
"""The proxy over rates that fade, in the emulator, beside the same flows without it and FQ-CoDel.

Of the radio of clamp §5, at 10 m/s, and of a recorded trace. Buffers are deep, as where a proxy is
wanted.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from box import Box
from house import AGENT, demand_agent
from lasthop._lasthop import jain

SCENARIOS = Path(__file__).parent.parent.parent / "scenarios"
DEEP = ("--set", "ap[0].queue.limit=1.5 MB", "--set", "duration=30 s")


class Ran(NamedTuple):
    """What the flows of a run got, and what waits they had."""

    rates_bps: list[float]
    wait_s: float
    p95_s: float
    drops: int


def ran(box: Box, name: str, *options: str) -> Ran:
    """A shipped scenario's flows over the kernel's TCP."""
    text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
    text = text.replace('file = "', f'file = "{SCENARIOS}/')
    summary: dict[str, Any] = box.summary(text, *DEEP, *options)
    queues = summary["queues"]
    return Ran(
        [flow["goodput_bps"] for flow in summary["flows"]],
        max(queue["mean_delay_s"] for queue in queues),
        max(queue["p95_delay_s"] for queue in queues),
        sum(queue["drops"] for queue in queues),
    )


@pytest.mark.measured
@pytest.mark.parametrize(("name", "flows"), [("reality-fast", 4), ("lte-cubic", 1)])
def test_a_fading_rate_is_used_with_short_waits(
    box: Box, name: str, flows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_agent()
    monkeypatch.setenv("LASTHOP_AGENT", AGENT)
    law = ["--set", 'ap[0].price={ kind = "share", target = "25 ms" }', "--proxy"]
    for flow in range(flows):
        law += ["--set", f'flow[{flow}].receiver="share"']
    plain = ran(box, name)
    queued = ran(box, name, "--set", "ap[0].queue.aqm=fq-codel")
    steered = ran(box, name, *law)
    # Without it the buffers stand for seconds.
    assert steered.wait_s <= 0.1 * plain.wait_s
    assert steered.drops == 0
    assert sum(steered.rates_bps) >= 0.85 * sum(plain.rates_bps)
    # It drops nothing, and loses no more of the rate than what does.
    assert sum(steered.rates_bps) >= 0.97 * sum(queued.rates_bps)
    assert jain(steered.rates_bps) >= jain(plain.rates_bps) - 0.03
