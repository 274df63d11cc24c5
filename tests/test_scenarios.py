# SPDX-License-Identifier: MIT OR Apache-2.0
"""The shipped scenarios are right, say what they show, and run."""

import json
import tomllib
from pathlib import Path

import jsonschema
import lasthop
import pytest
from lasthop.paper import load_paper
from lasthop.scenario import dump_toml, load, overrides_of, shipped, shipped_path


def test_there_are_scenarios() -> None:
    assert len(shipped()) >= 12


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_scenario_is_right(name: str) -> None:
    scenario = load(name)
    lasthop.check(scenario.label)
    jsonschema.validate(tomllib.loads(scenario.text), lasthop.schema())
    comments = [line for line in scenario.text.splitlines() if line.startswith("#")]
    assert comments[0] == "# SPDX-License-Identifier: MIT OR Apache-2.0"
    assert any("What it shows" in line for line in comments)
    assert tomllib.loads(scenario.text)["title"]


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_scenario_runs(name: str) -> None:
    result = lasthop.run(name, set={"duration": "12 s", "warmup": "6 s"}, seed=11)
    started = [flow for flow in result.summary["flows"] if flow["delivered_bytes"]]
    assert started
    for queue in result.summary["queues"]:
        if queue["utilisation"] is not None:
            assert 0 <= queue["utilisation"] <= 1.001
        assert queue["throughput_bps"] >= 0


def test_the_schema_refuses_what_the_simulator_refuses() -> None:
    document = tomllib.loads(load("four-flows-fast-clamp").text)
    document["ap"][0]["radio"]["dopler"] = "60 Hz"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, lasthop.schema())
    with pytest.raises(lasthop.ScenarioError, match="dopler"):
        lasthop.check(document)


def test_what_lies_about_hides_no_shipped_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gamma").mkdir()
    assert load("gamma").label == "gamma"
    assert "title" in load("gamma").text
    # A file comes first for whoever names it, but a paper means the shipped one.
    (tmp_path / "lte-clamp").write_text("duration = 1")
    assert load("lte-clamp").text == "duration = 1"
    (tmp_path / "gamma-handoff").write_text("duration = 1")
    sweeps = load_paper("gamma").sweeps.values()
    scenarios = [sweep.scenario for sweep in sweeps if isinstance(sweep, lasthop.lab.Sweep)]
    assert shipped_path("gamma-handoff") in scenarios


def test_toml_is_written_as_it_is_read() -> None:
    document = {
        "title": 'a "quoted" back\\slash — dash\n',
        "n": 3,
        "x": 1e-3,
        "yes": True,
        "list": [{"name": "a b", "inner": {"k.v": "2 ms"}}, {"name": "c"}],
    }
    assert tomllib.loads(dump_toml(document)) == document
    assert json.loads(json.dumps(document)) == document


def test_overrides_in_all_their_forms() -> None:
    expected = (("a.b", "5 kB"), ("c", "3"))
    assert overrides_of({"a.b": "5 kB", "c": 3}) == expected
    assert overrides_of([("a.b", "5 kB"), ("c", 3)]) == expected
    assert overrides_of(["a.b = 5 kB", "c=3"]) == expected
    assert overrides_of(None) == ()
    assert overrides_of({"x": {"kind": "fixed", "on": False}}) == (
        ("x", '{ kind = "fixed", on = false }'),
    )
    with pytest.raises(lasthop.UserError, match="path=value"):
        overrides_of("nonsense")


def test_lte_clamp_has_a_fraction_of_cubics_delay() -> None:
    cubic, clamp = (lasthop.run(f"lte-{kind}").summary for kind in ("cubic", "clamp"))
    delays = [summary["queues"][0]["mean_delay_s"] for summary in (cubic, clamp)]
    rates = [summary["flows"][0]["goodput_bps"] for summary in (cubic, clamp)]
    assert delays[1] < delays[0] / 5
    assert rates[1] > 0.9 * rates[0]


def test_recorded_traces() -> None:
    import os

    folder = os.environ.get("LASTHOP_TRACES")
    if not folder:
        pytest.skip("SKIPPED: LASTHOP_TRACES names no folder of recorded traces")
    traces = sorted(Path(folder).glob("*.down"))
    assert traces
    for trace in traces:
        summary = lasthop.run(
            "lte-cubic", set={"ap[0].radio.file": str(trace), "duration": "20 s"}
        ).summary
        assert summary["flows"][0]["goodput_bps"] > 0
