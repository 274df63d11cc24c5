# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the agent refuses, mode by mode: one line says what is wrong."""

from collections.abc import Iterator

import pytest
from house import AGENT, House, house


@pytest.fixture(scope="module")
def one() -> Iterator[House]:
    with house() as built:
        yield built


@pytest.mark.parametrize(
    ("mode", "options", "parts"),
    [
        ("proxy", ["--dev", "nothing"], ["nothing: no such device\n"]),
        ("proxy", ["--dev", "lan", "--a", "20 kB"], ["--a", "wanted --law clamp"]),
        ("proxy", ["--dev", "lan", "--target", "20"], ["--target 20", "wanted"]),
        ("proxy", ["--dev", "lan", "--target", "0 ms"], ["target", "wanted more than 0"]),
        ("proxy", ["--dev", "lan", "--config", "/nowhere.toml"], ["/nowhere.toml"]),
        ("proxy", ["--dev", "lan", "--queue", "modem"], ["--queue modem", '"qdisc"']),
        ("proxy", ["--dev", "lan", "--set", "law.g=1.5"],
         ["--set law.g = 1.5", "wanted from 0"]),
        ("proxy", [], ["no device"]),
        ("ap", ["--dev", "nothing"], ["nothing", "no such device"]),
        ("ap", ["--dev", "lan", "--a", "20"], ["--a 20", "wanted"]),
        ("ap", ["--dev", "lan", "--set", "queue=outstanding"],
         ["queue", "an access point prices"]),
        ("client", [], ["no device"]),
        ("client", ["--dev", "lan", "--tau", "0 B"], ["--tau 0 B", "wanted more than 0"]),
        ("client", ["--dev", "lan", "--set", "law.kind=share"], ['"share"', '"clamp"']),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_line(
    one: House, mode: str, options: list[str], parts: list[str]
) -> None:
    done = one.ask("router", AGENT, mode, *options)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert all(part in done.stderr for part in parts), done.stderr
