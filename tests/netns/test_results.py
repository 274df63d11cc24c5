# SPDX-License-Identifier: MIT OR Apache-2.0
"""What comes out of an emulation: figures, files, logs, and refusals."""

import json
import subprocess
import sys
from pathlib import Path

import lasthop
import pytest
from box import TWO, Box, link, slack_s
from conftest import assert_one_line

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def test_the_result_is_that_of_a_run_with_a_table_more(box: Box) -> None:
    text = link(duration="3 s")
    emulated = box.summary(text, "--out", "e.parquet", "--plot", "e.png")
    simulated = lasthop.run(text).summary
    assert set(emulated) == {*simulated, "emulation"}
    for rows in ("flows", "queues"):
        assert set(emulated[rows][0]) == set(simulated[rows][0])
    assert (box.folder / "e.png").stat().st_size > 1000
    read = lasthop.read(box.folder / "e.parquet")
    assert isinstance(read, lasthop.Result)
    assert read.summary["emulation"]["packets"] == emulated["emulation"]["packets"]
    assert len(read.table("queues")) > 100
    done = subprocess.run(
        [sys.executable, "-m", "lasthop", "rerun", "e.parquet"],
        cwd=box.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert_one_line(done, "e.parquet", "emulation")


def test_a_run_that_its_command_ends_is_drawn(box: Box) -> None:
    # Nobody knows how long it will be: what is sampled so often has room for an hour and a half.
    options = ("--flows", "--set", "probe.every=1 ms", "--out", "e.parquet", "--plot", "e.png")
    summary = box.summary(link(), *options, inner=["sleep", "2"])
    assert (box.folder / "e.png").stat().st_size > 1000
    read = lasthop.read(box.folder / "e.parquet")
    assert isinstance(read, lasthop.Result)
    length_s = summary["duration_s"]
    assert 1.9 <= length_s < 20
    for table in ("queues", "flows"):
        times = read.table(table)["time_ns"] / 1e9
        assert times.is_monotonic_increasing and times.max() <= length_s + 1e-6
        # A sample each millisecond, or as many as a busy machine lets be.
        assert 0.3 * length_s * 1000 <= times.nunique() <= length_s * 1000 + 2


def test_the_python_twin(box: Box) -> None:
    program = (
        "import lasthop, sys\n"
        f"result = lasthop.emulate({link()!r}, ['sh', '-c', 'exit 3'], set={{'duration': '1 s'}})\n"
        "assert result.status == 3 and result.signal is None, result.status\n"
        "assert 'emulation' in result.summary\n"
        "try:\n"
        f"    lasthop.emulate({link()!r}, cc='warp')\n"
        "except lasthop.ScenarioError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=box.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "warp" in done.stdout


def test_a_fading_radio_is_as_fast_as_in_the_simulator(box: Box) -> None:
    text = """
duration = "5 s"
warmup = "1 s"
seed = 3
[[ap]]
name = "ap"
queue = { limit = "200 kB" }
[ap.radio]
kind = "jakes"
doppler = "60 Hz"
bandwidth = "4.3 MHz"
max_rate = "10 Mbit/s"
attempts = 15
[[flow]]
name = "f"
station = "s"
rtt = "20 ms"
sender = "cubic"
"""
    summary = box.summary(text)
    emulated, simulated = summary["queues"][0], lasthop.run(text).summary["queues"][0]
    # The radio is the same; in which slots there was something to send is not quite.
    assert emulated["capacity_bps"] == pytest.approx(simulated["capacity_bps"], rel=0.05)
    if not slack_s(summary):
        assert emulated["throughput_bps"] == pytest.approx(simulated["throughput_bps"], rel=0.1)


def test_every_congestion_control_of_the_kernel(box: Box) -> None:
    names = AVAILABLE.read_text().split()
    flows = "".join(
        f'[[flow]]\nname = "{name}"\nstation = "{name}"\nrtt = "10 ms"\n'
        f'sender = {{ kind = "kernel", congestion_control = "{name}" }}\n'
        for name in names
    )
    radio = '[[ap]]\nname = "ap"\nradio = { kind = "constant", rate = "20 Mbit/s" }\n'
    text = f'duration = "3 s"\nwarmup = "1 s"\n{radio}queue = {{ limit = "60 kB" }}\n{flows}'
    summary = box.summary(text)
    assert [flow["sender"] for flow in summary["flows"]] == names
    assert summary["emulation"]["congestion_control"] == names
    assert all(flow["goodput_bps"] > 1e6 for flow in summary["flows"])
    done = box.run(text, "--cc", names[-1], "--set", "duration=1500 ms", "--json")
    assert {flow["sender"] for flow in json.loads(done.stdout)["flows"]} == {names[-1]}
    run = subprocess.run(
        [sys.executable, "-m", "lasthop", "run", "s.toml"],
        cwd=box.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert_one_line(run, "sender", "lasthop emu")


@pytest.mark.parametrize(
    ("change", "options", "parts"),
    [
        ('sender = { kind = "kernel", congestion_control = "warp" }', [], ["warp", "reno"]),
        ('sender = { kind = "tfrc" }', [], ["sender", "--cc"]),
        ('receiver = { kind = "clamp", tau = "500 B" }', [], ["receiver", "lasthop-agent"]),
        ("", ["--cc", "warp"], ["--cc", "warp", "reno"]),
        ("", ["--serve", "'"], ["--serve", "quoted"]),
        ("", ["--log", "x"], ["--log", "[[ap]]"]),
    ],
)
def test_what_cannot_be_emulated_is_one_clear_line(
    box: Box, change: str, options: list[str], parts: list[str]
) -> None:
    text = link(duration="2 s")
    if change:
        text = text.replace('sender = "cubic"', change)
    assert_one_line(box.run(text, *options), *parts)


def test_a_law_that_the_agent_does_not_have_is_refused(box: Box) -> None:
    ap = '[[ap]]\nname = "ap"\nradio = { kind = "constant", rate = "10 Mbit/s" }\n'
    flow = '[[flow]]\nname = "f"\nstation = "m"\nrtt = "20 ms"\nsender = "cubic"\n'
    text = f'duration = "2 s"\n{ap}proxy = "station"\n{flow}'
    assert_one_line(box.run(text), "ap[0].proxy", "lasthop-agent", "station-kernel")


def test_applications_do_what_the_scenario_says(box: Box) -> None:
    def flow(name: str, app: str) -> str:
        return f'[[flow]]\nname = "{name}"\npath = ["a", "b"]\nsender = "cubic"\napp = {app}\n'

    wire = link(duration="4 s", limit="300 kB").partition("[[flow]]")[0]
    text = wire + flow("fixed", '{ kind = "fixed", size = "500 kB" }')
    text += flow("cbr", '{ kind = "cbr", rate = "400 kbit/s" }')
    summary = box.summary(text)
    rows = {row["name"]: row for row in summary["flows"]}
    simulated = {row["name"]: row for row in lasthop.run(text).summary["flows"]}
    assert rows["fixed"]["delivered_bytes"] == 500_000
    # At 10 Mbit/s 500 kB take 0.43 s and slow start a few round trips of 20 ms.
    assert 0.4 < rows["fixed"]["finish_s"] < 1.0 + slack_s(summary)
    cbr, same = rows["cbr"]["delivered_bytes"], simulated["cbr"]["delivered_bytes"]
    assert cbr == pytest.approx(same, rel=0.05 + slack_s(summary) / 2)


def test_no_clamp_under_another_name(box: Box) -> None:
    clamp = TWO.replace('receiver = "plain"', 'receiver = { kind = "clamp", tau = "500 B" }')
    done = box.run(clamp, "--cc", "reno")
    assert done.returncode == 2
    assert "flow[0].receiver" in done.stderr


def test_a_command_shorter_than_the_warm_up_is_measured(box: Box) -> None:
    done = box.run(TWO, "--set", "warmup=1 s", "--json", "--flows", inner=["sleep", "0.2"])
    assert all(row["capacity_bps"] in (None, 20e6) for row in json.loads(done.stdout)["queues"])


def test_the_log_is_one_of_mm_link(box: Box) -> None:
    line = "sleep 0.5; ping -q -c 40 -i 0.05 -s 1400 $LASTHOP_SERVER"
    done = subprocess.run(
        [sys.executable, "-m", "lasthop", "emu", "mahimahi", "--allow-lag", "--log", "log",
         "--", "sh", "-c", line],
        cwd=box.folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

    def call(*arguments: str) -> str:
        words = [sys.executable, "-m", "lasthop", "trace", *arguments]
        result = subprocess.run(words, cwd=box.folder, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    assert ": valid" in call("check", "log.down")
    down, up = (json.loads(call("stat", f"log.{way}", "--json")) for way in ("down", "up"))
    assert (down["departures"], up["departures"]) == (40, 40)
    assert down["drops"] == up["drops"] == 0
    assert 0 < down["utilisation"] < 1
    call("convert", "log.down", "--out", "back.down")
    back = (box.folder / "back.down").read_text().splitlines()
    shipped = Path(lasthop.__file__).parent / "scenarios" / "traces" / "lte-driving.down"
    assert back == shipped.read_text().splitlines()[: len(back)]
    assert len(back) > 500
