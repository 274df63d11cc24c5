# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command: what it prints, what it writes, how it refuses."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import lasthop as package
import lasthop.scenario
import pytest
from conftest import SHORT, Command, assert_one_line
from lasthop.paper import load_paper, stems

FLOW_KEYS = {
    "name", "sender", "receiver", "goodput_bps", "delivered_bytes", "mean_rtt_s", "p95_rtt_s",
    "retransmits", "timeouts", "finish_s", "mean_cwnd_bytes", "mean_awnd_bytes",
    "awnd_limited_fraction", "cov", "overhead",
}  # fmt: skip
QUEUE_KEYS = {
    "name", "mean_bytes", "mean_delay_s", "p95_delay_s", "drops", "loss_rate", "empty_fraction",
    "throughput_bps", "utilisation", "capacity_bps",
}  # fmt: skip
KEYS = {
    "scenario", "seed", "version", "duration_s", "warmup_s", "events", "packets", "wall_s",
    "flows", "queues", "fairness",
}  # fmt: skip


def test_version(command: Command) -> None:
    done = command("--version")
    assert done.returncode == 0
    assert done.stdout == f"lasthop {package.__version__}\n"


def test_run_prints_json_with_the_agreed_keys(command: Command, short: Path) -> None:
    done = command("run", short, "--json", "--seed", 7)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result) >= KEYS
    assert (result["seed"], result["duration_s"], result["warmup_s"]) == (7, 3.0, 1.0)
    assert [flow["name"] for flow in result["flows"]] == ["near", "far"]
    assert [queue["name"] for queue in result["queues"]] == ["ap/m1", "ap/m2"]
    assert all(set(flow) >= FLOW_KEYS for flow in result["flows"])
    assert all(set(queue) >= QUEUE_KEYS for queue in result["queues"])
    assert set(result["fairness"]) >= {"jain", "short_term"}
    goodputs = [flow["goodput_bps"] for flow in result["flows"]]
    # Jain's index of two rates, from its definition.
    jain = sum(goodputs) ** 2 / (2 * sum(rate**2 for rate in goodputs))
    assert result["fairness"]["jain"] == pytest.approx(jain, rel=1e-9)
    assert result["wall_s"] > 0


def test_run_prints_a_table(command: Command, short: Path) -> None:
    done = command("run", short)
    assert done.returncode == 0, done.stderr
    for part in ("goodput", "near", "far", "ap/m1", "Mbit/s", "ms", "Jain"):
        assert part in done.stdout


def test_set_and_seed_reach_the_run(command: Command, short: Path) -> None:
    done = command("run", short, "--json", "--set", "duration=2 s", "--set", "flow[1].name=away")
    result = json.loads(done.stdout)
    assert result["duration_s"] == 2.0
    assert result["flows"][1]["name"] == "away"


def test_a_seed_that_changes_nothing_is_told(command: Command, short: Path) -> None:
    link = '[[link]]\nname = "l"\nfrom = "a"\nto = "b"\nrate = "1 Mbit/s"\n'
    flow = '[[flow]]\nname = "f"\npath = ["a", "b"]\nrtt = "20 ms"\n'
    short.with_name("plain.toml").write_text(f'duration = "3 s"\n{link}{flow}')
    done = command("run", "plain.toml", "--seed", 7)
    assert done.returncode == 0
    assert done.stderr == (
        "lasthop: note: plain.toml: nothing depends on the seed: every --seed gives this result\n"
    )
    assert command("run", "plain.toml").stderr == ""
    drawn = command("run", "plain.toml", "--seed", 7, "--out", "r.parquet")
    assert drawn.stderr == done.stderr
    for random in (
        ("flow[0].jitter=1 ms",),
        ('flow[0].app={ kind = "on-off", rate = "1 Mbit/s", on = "1 s", off = "1 s" }',),
        ("link[0].queue.aqm=red",),
        ('link[0].loss={ kind = "bernoulli", p = 0.01 }',),
    ):
        assert command("run", "plain.toml", "--seed", 7, "--set", *random).stderr == "", random
    assert command("run", short, "--seed", 7).stderr == ""


def test_several_scenarios_stand_side_by_side(command: Command, short: Path) -> None:
    other = short.with_name("other.toml")
    other.write_text(SHORT)
    done = command("run", short, other, "--plot", "both.png")
    assert done.returncode == 0, done.stderr
    heading, *rows = done.stdout.splitlines()
    assert heading.split() == ["short", "other"]
    assert any(row.startswith("queueing delay, mean") for row in rows)
    for row in rows:  # equal scenarios, equal columns
        cells = row[26:].split()
        assert cells[: len(cells) // 2] == cells[len(cells) // 2 :], row
    assert (short.parent / "both.png").stat().st_size > 10_000
    assert len(json.loads(command("run", short, other, "--json").stdout)) == 2


def test_files_are_written(command: Command, short: Path) -> None:
    done = command("run", short, "--out", "r.parquet", "--plot", "r.png", "--pcap", "r.pcapng")
    assert done.returncode == 0, done.stderr
    folder = short.parent
    assert (folder / "r.parquet").read_bytes()[:4] == b"PAR1"
    assert (folder / "r.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (folder / "r.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    assert not [name for name in os.listdir(folder) if name.startswith(".")]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["run", "missing.toml"], ["missing.toml", "No such file"]),
        (["run", "."], ["cannot read"]),
        (["run", "short.toml", "--set", "duration"], ["duration", "path=value"]),
        (["run", "short.toml", "--set", "duration=3 x"], ["short.toml: duration = ", "wanted"]),
        (["run", "short.toml", "--set", "ap[0].radio.slot=-3 ms"], ["ap[0].radio.slot", "wanted"]),
        (["run", "short.toml", "--set", 'flow[0].path=["a", "b"]'], ["short.toml: flow[0].path"]),
        (["run", "short.toml", "--set", "nonsense=1"], ["short.toml: nonsense"]),
        (["run", "short.toml", "--set", "flow[nobody].rtt=1 s"], ['"near" or "far"']),
        (["run", "short.toml", "--set", 'flow[0].sender={ kind = "reno"'], ["last bracket"]),
        (["run", "short.toml", "--pcap-end", "receiver"], ["--pcap-end receiver", "--pcap FILE"]),
        (["run", "short.toml", "--threads", "0"], ["--threads", "0"]),
        (["delay", "20", "--", "true"], ["argument TIME: 20", 'such as "20 ms"']),
        (["delay", "20 ms", "true"], ["unrecognized arguments: true", "wanted -- before"]),
        (["emu", "short.toml", "--flow"], ["unrecognized arguments: --flow:", "mean --flows?"]),
        (["run", "short.toml", "--js"], ["unrecognized arguments: --js"]),
        (["trace", "stat", "x.down", "--jso"], ["unrecognized arguments: --jso"]),
        (["link", "10", "5 Mbit/s", "--", "true"], ['10: wanted a rate, e.g. "10 Mbit/s", or a']),
        (["link", "x.down", "5 Mbit/s", "--", "true"], ["x.down: no such file", "a rate such as"]),
        (["tune", "short.toml", "--delay", "20"], ["--delay: 20: wanted", "e.g. 50 ms"]),
        (["sweep", "short.toml", "--patience", "20"], ["--patience: 20: wanted", "e.g. 10 min"]),
        (["run", "nofile.toml"], ["nofile.toml", "`lasthop list` names those shipped"]),
        (["emu", "nofile.toml"], ["nofile.toml", "`lasthop list` names those shipped"]),
        (["link", "1 Mbit/s", "1 Mbit/s", "--queue", "9", "--", "true"], ["--queue: 9", "100 kB"]),
        (["run", "short.toml", "--set", "flow[9].rtt=1 s"], ["flow[9]"]),
        (["run", "short.toml", "--seed", "-1"], ["--seed", "-1", "wanted"]),
        (["run", "short.toml", "--out", "no/such.parquet"], ["no/such.parquet", "cannot write"]),
        (["run", "short.toml", "--plot", "r.gifx"], ["r.gifx", ".png"]),
        (["run", "short.toml", "--out", "r.csv"], ["--out r.csv", ".parquet"]),
        (["run", "short.toml", "--out", "short.toml"], ["short.toml", "a file of its own"]),
        (["run", "short.toml", "--pcap", "r.txt"], ["--pcap r.txt", ".pcapng"]),
        (["run", "short.toml", "--out", ""], ["--out", '""', "wanted a name"]),
        (["run", "short.toml", "--plot", ""], ["--plot", '""', "wanted a name"]),
        (["sweep", "short.toml", "--out", "r.csv"], ["--out r.csv", ".parquet"]),
        (["emu", "short.toml", "--out", "r.csv"], ["--out r.csv", ".parquet"]),
        (["emu", "short.toml", "--plot", "r.gifx"], ["r.gifx", ".png"]),
        (["emu", "short.toml", "--log", ""], ["--log", '""', "wanted a name"]),
        (["fig", "clamp:2", "--out", ""], ["--out", '""', "wanted a name"]),
        (["trace", "make", "--out", ""], ["--out", '""', "wanted a name"]),
        (["run", "lte-cubik"], ["lte-cubik: cannot read", "did you mean the shipped lte-cubic?"]),
        (["run", "flow-dynamic-clamp.toml"], ["did you mean the shipped flow-dynamics-clamp?"]),
        (["run", "short.toml", "--set", "flow[*].start=4 s"],
         ["short.toml: flow[0].start = 4 s", "the end of the run, 3 s"]),
        (["run", "short.toml", "--set", "flow[1].name=near"],
         ["short.toml: flow[1].name", "no other"]),
        (["run", "short.toml", "short.toml", "--out", "r.parquet"], ["--out r.parquet", "one"]),
        (["sweep", "short.toml", "--grid", "duration"], ["--grid duration", "path=v1,v2"]),
        (["sweep", "short.toml", "--grid", "duration="], ["--grid duration="]),
        (["sweep", "short.toml", "--grid", "duration=1 s,,2 s"], ["--grid duration="]),
        (["sweep", "short.toml", "--grid", "seed=1,2"], ["--grid seed", "--seeds K"]),
        (["sweep", "short.toml", "--grid", "title=1", "--grid", "title=2"], ["given twice"]),
        (["sweep", "short.toml", "--grid", "title=1", "--set", "title=2"], ["also in --set"]),
        (
            ["sweep", "short.toml", "--grid", "ap[0].price.a=9 kB,3 kB,9 kB"],
            ["--grid ap[0].price.a: 9 kB: given twice"],
        ),
        (["sweep", "short.toml", "--grid", "warmup=0 s,x"], ["short.toml: warmup = ", "wanted"]),
        (["sweep", "short.toml", "--seeds", "0"], ["--seeds", "0", "wanted"]),
        (["sweep", "short.toml", "--jobs", "none"], ["--jobs", "none", "wanted"]),
        (["sweep", "short.toml", "--dask", "tcp://127.0.0.1:9"], ["--dask tcp://127.0.0.1:9"]),
        (["fig", "clamp:99"], ["clamp:99", "clamp:4c"]),
        (["fig", "nobody"], ["nobody", "clamp"]),
        (["fig", "clamp:2", "--out", "short.toml"], ["short.toml", "folder"]),
        (["trace", "check", "missing.down"], ["missing.down"]),
        (["trace", "check", "short.toml"], ["short.toml"]),
        (["trace", "convert", "missing.csv", "--out", "x.down"], ["missing.csv"]),
        (["rerun", "missing.parquet"], ["missing.parquet", "No such file"]),
        (["rerun", "short.toml"], ["short.toml", "not a Parquet file"]),
        (["check", "missing.toml"], ["missing.toml"]),
        (["nonsense"], ["nonsense"]),
    ],
)  # fmt: skip
def test_wrong_input_is_one_clear_line(
    command: Command, short: Path, arguments: list[str], parts: list[str]
) -> None:
    before = sorted(os.listdir(short.parent))
    assert_one_line(command(*arguments), *parts)
    after = [name for name in sorted(os.listdir(short.parent)) if name != "mpl"]
    assert after == before, "nothing half-written is left"


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["lsitt"], "did you mean list?"),
        (["run", "short.toml", "--set", 'flow[0].sender={ kind = "cubc" }'], "did you mean cubic?"),
        (["RUN", "short.toml"], "did you mean run?"),
        (
            ["run", "short.toml", "--set", "price.a=9"],
            "did you mean ap[*].price or link[*].price or wlan[*].price?",
        ),
        (["run", "LTE-Clamp"], "did you mean the shipped lte-clamp?"),
        (["run", "short.toml", "--set", "flow[0].sender=Cubic"], "did you mean cubic?"),
        (["run", "short.toml", "--sed", "3"], "did you mean --seed?"),
        (["trace", "sta", "x.down"], "did you mean stat?"),
        (["trace", "make", "--out", "x", "--durration", "3 s"], "did you mean --duration?"),
        (["run", "short.toml", "--set", "flow[0].sender=cubc"], "did you mean cubic?"),
        (["run", "short.toml", "--set", "flow[0].sendr=cubic"], "did you mean sender?"),
        (["sweep", "short.toml", "--plot", "x=delay,y=gooodput"], "did you mean goodput?"),
    ],
)
def test_a_near_miss_is_suggested(
    command: Command, short: Path, arguments: list[str], near: str
) -> None:
    assert_one_line(command(*arguments), near)


def test_an_example_is_not_suggested(command: Command, short: Path) -> None:
    done = command("run", "short.toml", "--set", "flow[0].packet=5 kb/s")
    assert_one_line(done, 'e.g. "')
    assert "did you mean" not in done.stderr


def test_paths_on_the_command_line_start_in_the_working_directory(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "mine.down").write_text("".join(f"{ms}\n" for ms in range(1, 101)))
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "s.toml").write_text(SHORT)
    (other / "beside.down").write_text("".join(f"{ms}\n" for ms in range(2, 101, 2)))
    rates = []
    for radio in (
        '{ kind = "trace", file = "mine.down" }',
        '{ kind = "trace", file = "beside.down" }',
    ):
        done = command("run", "elsewhere/s.toml", "--set", f"ap[0].radio={radio}", "--json")
        assert done.returncode == 0, done.stderr
        rates.append(json.loads(done.stdout)["queues"][0]["capacity_bps"])
    assert rates == pytest.approx([12e6, 6e6], rel=0.02)


def test_an_odd_terminal_is_no_traceback(command: Command, short: Path) -> None:
    wild = ("run", short, "--set", 'flow[0].name="a\\u202e[31m$x$"')
    done = command(*wild)
    assert done.returncode == 0, done.stderr
    assert "\u202e" not in done.stdout and "a\N{REPLACEMENT CHARACTER}[31m$x$" in done.stdout
    environment = {**os.environ, "COLUMNS": "²", "PYTHONIOENCODING": "ascii"}
    for arguments in (["run", "--help"], ["run", str(short)], ["run", "missing.toml"]):
        done = subprocess.run(
            [sys.executable, "-m", "lasthop", *arguments], env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
    closed = subprocess.run(
        f"{sys.executable} -m lasthop run missing.toml 2>&-", shell=True, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (closed.returncode, closed.stdout) == (2, "")
    nowhere = subprocess.run(
        f"{sys.executable} -m lasthop run {short} --json >&-", shell=True, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (nowhere.returncode, nowhere.stderr) == (0, "")


def test_scalars_of_numpy_are_numbers(short: Path) -> None:
    import numpy as np

    values = {"flow[0].sender": {"kind": "aimd", "alpha": np.float64(0.3), "beta": np.float32(0.5)}}
    found = package.run(short, set={**values, "flow[0].count": np.int64(2)}, seed=int(np.int64(3)))
    assert len(found.flows) == 3
    sweep = package.sweep(short, grid={"flow[0].count": np.arange(1, 3)}, seeds=np.int64(2))
    assert list(sweep.runs["flow[0].count_value"]) == [1.0, 1.0, 2.0, 2.0]


def test_a_wrong_ending_costs_no_run(
    short: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lasthop import result
    from lasthop.cli import main

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr(result, "run", never)
    for option, name in (("--plot", "r.gifx"), ("--out", "r.csv"), ("--pcap", "r.txt")):
        assert main(["run", str(short), option, name]) == 2
        assert name in capsys.readouterr().err


def test_a_flow_that_starts_too_late_is_told(command: Command, short: Path) -> None:
    late = ("--set", "flow[1].start=4 s")
    note = 'note: flow "far" (start 4 s): no part in the run, which ends at 3 s'
    assert command("run", short, *late).stdout.splitlines()[-1] == note
    assert json.loads(command("run", short, *late, "--json").stdout)["notes"] == [note[6:]]
    other = short.with_name("other.toml")
    other.write_text(SHORT)
    both = command("run", short, other, *late).stdout.splitlines()
    assert both[-1] == note.replace("note:", "note on other:")


def test_a_scenario_that_is_not_text(command: Command, tmp_path: Path) -> None:
    (tmp_path / "noise.toml").write_bytes(bytes(range(256)))
    assert_one_line(command("run", "noise.toml"), "noise.toml", "not a text file")


def test_a_parquet_file_of_somebody_else(command: Command, tmp_path: Path) -> None:
    import pandas as pd

    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "other.parquet")
    assert_one_line(command("rerun", "other.parquet"), "not written by lasthop")


def test_check(command: Command, short: Path) -> None:
    assert command("check", short).stdout.endswith(": valid\n")
    printed = command("check", short, "--set", "duration=9 s", "--print").stdout
    assert 'duration = "9 s"' in printed


def test_show_draws_the_topology(command: Command, short: Path) -> None:
    done = command("show", short)
    assert (done.returncode, done.stdout) == (0, "short.svg\n"), done.stderr
    picture = (short.parent / "short.svg").read_text()
    for part in ("near", "far", "newreno", "RTT 30 ms", "m1", "m2", "jakes", "20 kB", "1 ms",
                 "Two flows for three seconds"):  # fmt: skip
        assert part in picture, part
    assert_one_line(command("show", short, "--out", "short.txt"), ".png")
    assert_one_line(command("show", short, "--set", "duration=3 x"), "duration = ", "wanted")


@pytest.mark.parametrize("name", lasthop.scenario.shipped())
def test_every_shipped_scenario_can_be_drawn(name: str) -> None:
    from lasthop.topology import draw_topology

    scenario = lasthop.scenario.load(name)
    figure = draw_topology(scenario)
    texts = [text.get_text() for text in figure.axes[0].texts]
    document = tomllib.loads(scenario.text)
    for part in (*document.get("ap", []), *document.get("wlan", [])):
        assert any(text.startswith(part["name"]) for text in texts)
    assert len([text for text in texts if "→" in text]) >= 1
    # No box lies over another.
    figure.canvas.draw()
    boxes = [t.get_window_extent().padded(2) for t in figure.axes[0].texts
             if t.get_bbox_patch() is not None and t.get_fontsize() == 7]  # fmt: skip
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:index])


def test_list_names_papers_figures_scenarios_and_laws(command: Command) -> None:
    done = command("list", "--json")
    found = json.loads(done.stdout)
    assert [paper["stem"] for paper in found["papers"]] == stems()
    for paper in found["papers"]:
        known = load_paper(paper["stem"])
        assert [f["id"] for f in paper["figures"]] == [f"{known.stem}:{f}" for f in known.figures]
        assert paper["claims"] == len(known.claims)
    assert {"name": "lte-cubic", "title": "A download over LTE: CUBIC"} in found["scenarios"]
    assert {"newreno", "reno", "cubic"} <= set(found["laws"]["sender"])
    assert {"linear", "mice", "smooth"} <= set(found["laws"]["price"])
    assert set(found["laws"]["feedback"]) == {"xcp", "xcp-b", "qfcp", "abc"}
    text = command("list").stdout
    assert "clamp:4c" in text and "four-flows-fast-clamp" in text and "cubic" in text


def test_a_reader_that_stops_reading_is_no_error(short: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m lasthop list | head -n 1", shell=True, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr == ""


def test_a_plain_run_imports_nothing_heavy(short: Path) -> None:
    program = (
        "import sys\n"
        "from lasthop.cli import main\n"
        f"main(['run', {str(short)!r}, '--json'])\n"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'matplotlib', 'jinja2', 'tqdm', 'dask'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_without_a_command_the_help_is_shown(command: Command) -> None:
    done = command()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: lasthop ")
    assert "Run a scenario in real time" in done.stderr


@pytest.mark.parametrize("verb", ["delay", "link", "loss"])
def test_help_says_what_a_command_reaches(command: Command, verb: str) -> None:
    said = " ".join(command(verb, "--help").stdout.split())
    for part in ("$LASTHOP_SERVER", "--internet -- ping", "127.0.0.1, is not behind the network"):
        assert part in said


def test_a_command_that_is_missing_is_told_as_by_a_shell(command: Command) -> None:
    for name in ("no-such-command", "./no-such-command"):
        done = command("delay", "20 ms", "--", name)
        assert (done.returncode, done.stdout) == (127, "")
        assert done.stderr == f"lasthop: {name}: not found\n"


def test_a_host_beyond_this_machine_is_seen_where_that_is_certain() -> None:
    from lasthop.commands.emu import outside

    assert outside(["ping", "-c", "1", "example.com"]) == "example.com"
    assert outside(["curl", "https://example.com:8080/x"]) == "example.com"
    for words in (["ping", "127.0.0.1"], ["ping", "100.64.0.1"], ["sh", "x.sh"], ["false"], None):
        assert outside(words) == "", words


def test_an_agent_beside_the_command_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lasthop.agent import find_agent

    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("LASTHOP_AGENT", "")
    agent = tmp_path / "lasthop-agent"
    agent.write_text("")
    agent.chmod(0o755)
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    assert find_agent()
    assert os.environ["LASTHOP_AGENT"] == str(agent)
    monkeypatch.setenv("LASTHOP_AGENT", "/mine")
    assert find_agent()
    assert os.environ["LASTHOP_AGENT"] == "/mine"


def test_without_an_agent_none_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lasthop import agent

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LASTHOP_AGENT", "")
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(agent, "__file__", str(tmp_path / "python" / "lasthop" / "agent.py"))
    assert not agent.find_agent()
    assert not os.environ["LASTHOP_AGENT"]
