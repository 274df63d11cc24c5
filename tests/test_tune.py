# SPDX-License-Identifier: MIT OR Apache-2.0
"""A value is found where it is, and said where there is none."""

import json
from pathlib import Path

import lasthop
import pytest
from conftest import Command, assert_one_line
from lasthop.totals import mean_delay

LINE = {
    "title": "One flow on a constant line",
    "duration": "40 s",
    "warmup": "20 s",
    "link": [
        {
            "name": "line", "from": "a", "to": "b", "rate": "100 Mbit/s", "duplex": False,
            "queue": {"limit": "6 MB"},
            "price": {"kind": "linear", "a": "50 kB", "average": "raw"},
        }
    ],
    "flow": [
        {
            "name": "flow", "path": ["a", "b"], "rtt": "30 ms", "access": "1 Gbit/s",
            "receiver": {"kind": "clamp", "tau": "5 kB"},
        }
    ],
}  # fmt: skip


def test_clamps_a_is_where_the_equilibrium_says() -> None:
    found = lasthop.tune(LINE, delay_s=0.02, seed=2)
    # τ + a = 12.5 MB/s · 20 ms.
    assert found.by == "link[0].price.a"
    assert found.number == pytest.approx(250e3 - 5e3, rel=0.02)
    assert found.delay_s == pytest.approx(0.02, rel=0.01)
    alone = lasthop.run(LINE, set={found.by: found.value}, seed=2)
    assert mean_delay(alone.summary) == found.delay_s
    assert found.curve["number"].is_monotonic_increasing
    assert found.value in set(found.curve["value"])


def test_the_knee_of_a_buffer(short: Path) -> None:
    plain = {"flow[*].receiver": "plain", "ap[0].price": {"kind": "linear", "a": "1 GB"}}
    found = lasthop.tune(
        str(short), by="ap[0].queue.limit", knee=0.8, low="3 kB", high="300 kB", set=plain
    )
    most = found.curve["goodput_bps"].iloc[[0, -1]].max()
    assert 3e3 < found.number < 300e3
    assert found.goodput_bps == pytest.approx(0.8 * found.curve["goodput_bps"].max(), rel=0.1)
    assert found.goodput_bps < most


def test_times_and_shares_are_searched_too(short: Path) -> None:
    found = lasthop.tune(str(short), by="flow[far].rtt", knee=0.99, low="10 ms", high="20 ms",
                         set={"ap[0].radio.doppler": "6 Hz"})  # fmt: skip
    assert found.value.endswith(" s")
    assert 0.01 <= found.number <= 0.02


def test_what_is_found_is_printed_and_drawn(command: Command, short: Path, tmp_path: Path) -> None:
    done = command("tune", short, "--delay", "20 ms", "--seeds", 2, "--plot", "t.png", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["by"] == "ap[0].price.a"
    assert found["delay_s"] == pytest.approx(0.02, rel=0.05)
    assert all(
        row["low_delay_s"] <= row["delay_s"] <= row["high_delay_s"] for row in found["curve"]
    )
    assert (tmp_path / "t.png").stat().st_size > 10_000
    text = command("tune", short, "--delay", "20 ms", "--seeds", 2)
    assert f'--set "ap[0].price.a={found["value"]}": ' in text.stdout
    assert text.stdout.count("←") == 1


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((), ("--delay", "--knee")),
        (("--delay", "50"), ("--delay", "50: wanted a time with its unit")),
        (("--delay", "0 s"), ("--delay 0 s: wanted more than 0 s",)),
        (("--knee", "1.5"), ("1.5: wanted a share between 0 and 1",)),
        (("--delay", "1 h"), ("ap[0].price.a from 203 B to 208000 B", "nowhere", "--from")),
        (("--delay", "50 ms", "--by", "ap[0].price.aa"), ("no value to start from",)),
        (("--delay", "50 ms", "--by", "ap[0].price.aa", "--from", "1", "--to", "2"), ("aa",)),
        (("--delay", "50 ms", "--from", "9 kB", "--to", "3 kB"), ("the greater one last",)),
        (("--delay", "50 ms", "--from", "9 ms"), ("wanted values like ap[0].price.a = 6.5 kB",)),
        (("--delay", "50 ms", "--from", "few"), ("--from = few: wanted a number",)),
        (("--delay", "50 ms", "--plot", "t.doc"), ("t.doc: wanted a picture's ending",)),
    ],
)
def test_what_cannot_be_found_is_said(
    command: Command, short: Path, arguments: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    assert_one_line(command("tune", short, *arguments), *parts)


def test_a_scenario_without_price_and_buffer_wants_a_key() -> None:
    bare = {**LINE, "link": [{k: v for k, v in LINE["link"][0].items() if k != "price"}]}
    del bare["link"][0]["queue"]
    bare["flow"] = [{**LINE["flow"][0], "receiver": "plain"}]
    with pytest.raises(lasthop.UserError, match="wanted --by PATH"):
        lasthop.tune(bare, delay_s=0.02)
    with pytest.raises(lasthop.UserError, match="one of them"):
        lasthop.tune(LINE, delay_s=0.02, knee=0.9)
