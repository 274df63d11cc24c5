# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results: data frames, files that describe themselves, runs that repeat."""

import json
from pathlib import Path

import lasthop
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import SHORT, Command
from lasthop.archive import summary_differences
from lasthop.tables import unit_of

PROBED = {"probe.every": "10 ms"}


def test_frames_have_names_and_seconds() -> None:
    result = lasthop.run(SHORT, set=PROBED, seed=3)
    assert list(result.flows["name"]) == ["near", "far"]
    assert list(result.queues["name"]) == ["ap/m1", "ap/m2"]
    samples = result.table("flows")
    assert {"time_s", "flow", "cwnd_bytes", "awnd_bytes", "acknowledged_bytes"} <= set(samples)
    assert set(samples["flow"]) == {"near", "far"}
    assert samples["time_s"].max() == pytest.approx(3.0, abs=0.011)
    near = samples[samples["flow"] == "near"]["acknowledged_bytes"]
    assert near.is_monotonic_increasing
    assert set(result.table("queues")["queue"]) == {"ap/m1", "ap/m2"}


def test_queues_stay_within_their_limit() -> None:
    result = lasthop.run(SHORT, set=PROBED, seed=3)
    assert result.table("queues")["bytes"].max() <= 20_000


def test_a_scenario_may_be_a_path_text_or_dicts(short: Path) -> None:
    import tomllib

    summaries = [lasthop.run(scenario).summary for scenario in (short, SHORT, tomllib.loads(SHORT))]
    assert summaries[0]["flows"] == summaries[1]["flows"] == summaries[2]["flows"]


def test_the_seed_decides() -> None:
    a, b, c = (lasthop.run(SHORT, seed=seed).summary["flows"] for seed in (1, 1, 2))
    assert a == b
    assert a != c


def test_sampling_changes_nothing() -> None:
    plain, probed = lasthop.run(SHORT), lasthop.run(SHORT, set=PROBED)
    assert plain.summary["flows"] == probed.summary["flows"]
    assert plain.summary["queues"] == probed.summary["queues"]


def test_threads_change_nothing() -> None:
    cell = """
        [[ap]]
        name = "NAME"
        radio = { kind = "constant", rate = "3 Mbit/s" }
        [[flow]]
        name = "to-NAME"
        path = ["NAME"]
        station = "phone"
        rtt = "30 ms"
    """
    text = 'duration = "2 s"\n' + "".join(cell.replace("NAME", f"ap{i}") for i in range(5))
    runs = [lasthop.run(text, threads=threads).summary for threads in (1, 2, 8, None)]
    assert all(summary | {"wall_s": 0} == runs[0] | {"wall_s": 0} for summary in runs)
    assert runs[0]["packets"] > 1000
    together = lasthop.run(text, set=PROBED, threads=8).summary
    assert together["flows"] == runs[0]["flows"]
    with pytest.raises(lasthop.UserError, match="threads = 0: wanted a positive number"):
        lasthop.run(text, threads=0)


def test_the_file_describes_itself(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    result = lasthop.run(SHORT, set=PROBED, seed=3)
    result.to_parquet(path)
    schema = pq.read_schema(path)
    document = json.loads(schema.metadata[b"lasthop"])
    assert document["seed"] == 3
    assert document["version"] == lasthop.__version__
    assert 'name = "near"' in document["scenario"]
    assert schema.field("goodput_bps").metadata == {b"unit": b"bit/s"}
    assert schema.field("cwnd_bytes").metadata == {b"unit": b"byte"}
    frame = pd.read_parquet(path)
    assert set(frame["table"]) == {"flow", "queue", "flows", "queues", "system"}
    assert list(frame[frame["table"] == "flow"]["name"]) == ["near", "far"]


def test_a_result_survives_the_file(tmp_path: Path) -> None:
    result = lasthop.run(SHORT, set=PROBED, seed=3)
    result.to_parquet(tmp_path / "r.parquet")
    read = lasthop.read(tmp_path / "r.parquet")
    assert isinstance(read, lasthop.Result)
    assert read.raw_tables == result.raw_tables
    assert read.summary["flows"] == result.summary["flows"]
    pd.testing.assert_frame_equal(read.table("queues"), result.table("queues"), check_exact=True)


def test_rerun_repeats_every_bit(command: Command, short: Path) -> None:
    assert command("run", short, "--seed", 4, "--set", "probe.every=20 ms", "--out", "r.parquet")
    done = command("rerun", "r.parquet")
    assert (done.returncode, done.stdout) == (0, "r.parquet: reproduced bit for bit\n")


def test_rerun_needs_neither_scenario_nor_trace(tmp_path: Path) -> None:
    (tmp_path / "steady.down").write_text("".join(f"{ms}\n" for ms in range(1, 101)))
    path = tmp_path / "traced.toml"
    path.write_text(SHORT)
    radio = {"ap[0].radio": '{ kind = "trace", file = "steady.down" }'}
    lasthop.run(path, set=radio).to_parquet(tmp_path / "r.parquet")
    path.unlink()
    (tmp_path / "steady.down").unlink()
    assert lasthop.rerun(tmp_path / "r.parquet") == []


def test_rerun_tells_where_results_differ(command: Command, short: Path) -> None:
    from lasthop import archive
    from lasthop.result import Result
    from lasthop.runs import Record

    result = lasthop.run(short, set=PROBED, seed=4)
    record = Record(result.scenario, json.loads(json.dumps(result.summary)), result.raw_tables,
                    result.names)  # fmt: skip
    record.summary["flows"][1]["goodput_bps"] += 1.0
    kind, raw = record.tables["queues"]["bytes"]
    record.tables["queues"]["bytes"] = (kind, raw[:-1] + bytes([raw[-1] ^ 1]))
    forged = Result(record, directory=str(short.parent), label="short.toml", wall_s=0.0)
    archive.write_result(forged, short.parent / "forged.parquet")
    done = command("rerun", "forged.parquet")
    assert done.returncode == 1
    assert "differs in 2 places" in done.stdout
    assert "flows[1].goodput_bps" in done.stdout
    assert "table queues, column bytes" in done.stdout


def test_differences_of_summaries() -> None:
    assert summary_differences({"a": 1, "wall_s": 1}, {"a": 1, "wall_s": 2}) == []
    assert summary_differences({"a": [1, 2]}, {"a": [1, 3]}) == ["a[1]: 2 was recorded, 3 came out"]
    assert summary_differences({"a": 1}, {"b": 1}) != []


def test_units_are_read_off_the_names() -> None:
    assert [unit_of(name) for name in ("cwnd_bytes", "time_ns", "goodput_bps", "seed", "jain")] == [
        "byte", "ns", "bit/s", "", "",
    ]  # fmt: skip


def test_notebooks_show_tables_and_the_picture() -> None:
    page = lasthop.run(SHORT, set={**PROBED, "title": "a < b"})._repr_html_()
    assert "a &lt; b" in page and page.count("<table") == 2 and page.count("<svg") == 1
    assert "<svg" not in lasthop.run(SHORT)._repr_html_()
    sweep = lasthop.sweep(SHORT, seeds=2)
    assert "&lt;lasthop.Sweep" in sweep._repr_html_() and "<table" in sweep._repr_html_()


def test_the_goodput_of_no_flow_at_all_is_zero() -> None:
    none = {"kind": "poisson", "rate": "0.0001 /s", "size": {"kind": "constant", "value": "1 kB"}}
    flow = {"name": "rare", "station": "phone", "rtt": "30 ms", "app": none}
    ap = {"name": "ap", "radio": {"kind": "constant", "rate": "1 Mbit/s"}}
    result = lasthop.run({"duration": "1 s", "ap": [ap], "flow": [flow]})
    assert result.summary["flows"] == []
    assert str(result.summary["system"]["goodput_bps"]) == "0.0"


def test_samples_in_xarray() -> None:
    pytest.importorskip("xarray")
    result = lasthop.run(SHORT, set=PROBED)
    found = result.to_xarray()
    assert set(found.dims) == {"time_s", "flow", "queue"}
    frame = result.table("flows")
    far = frame[frame["flow"] == "far"]
    assert (found["cwnd_bytes"].sel(flow="far").to_numpy() == far["cwnd_bytes"].to_numpy()).all()
    assert found["cwnd_bytes"].attrs["units"] == "byte"
    # Only at the start has nothing bounded the slow start.
    unbounded = far["ssthresh_bytes"].isna().to_numpy()
    assert unbounded[0] and not unbounded.all()
    assert (np.isnan(found["ssthresh_bytes"].sel(flow="far").to_numpy()) == unbounded).all()
    with pytest.raises(lasthop.UserError, match="probe"):
        lasthop.run(SHORT).to_xarray()


def test_pictures_show_something(tmp_path: Path) -> None:
    from matplotlib.image import imread

    result = lasthop.run(SHORT, set=PROBED)
    figure = result.plot(tmp_path / "r.png")
    assert len(figure.axes) == 3
    assert all(axes.lines and axes.get_ylabel() for axes in figure.axes)
    picture = imread(tmp_path / "r.png")
    assert picture[..., :3].std() > 0.02, "not one colour all over"


def test_the_picture_shows_the_window_in_force() -> None:
    """The congestion window has nothing to say of a sender that its receiver holds back."""
    result = lasthop.run(SHORT, set={"probe.every": "20 ms"}, seed=3)
    axes = result.plot().axes[2]
    shown = {line.get_label(): line for line in axes.lines if line.get_label() in ("near", "far")}
    samples = result.table("flows")
    for name, line in shown.items():
        rows = samples[samples["flow"] == name]
        bound = rows[["cwnd_bytes", "awnd_bytes"]].min(axis=1).to_numpy() / 1e3
        drawn = line.get_ydata()
        assert len(drawn) == len(bound)
        assert all(a == b or a != a for a, b in zip(drawn, bound, strict=True))
    assert len(shown) == 2
    held = samples[samples["cwnd_bytes"] > samples["awnd_bytes"]]
    assert len(held) > 10, "CLAMP holds these flows"
    assert axes.get_ylim()[1] < 2 * held["awnd_bytes"].max() / 1e3, "the scale is not that of cwnd"
    assert "thin: cwnd" in axes.get_title("right")


def test_a_window_is_drawn_while_its_flow_is_at_work() -> None:
    late = {"flow[1].start": "1500 ms", "flow[1].stop": "2 s", "probe.every": "20 ms"}
    from lasthop.overview import windows

    samples = lasthop.run(SHORT, set=late).table("flows")
    far = samples[samples["flow"] == "far"]
    at_work = far[windows(far)["in_force"].notna()]["time_s"]
    assert 1.5 <= at_work.min() < 1.5 + 0.13 + 0.04, "data follow the SYN by a round trip"
    assert 2.0 <= at_work.max() < 2.5


def test_the_warm_up_is_shaded_and_legends_stand_beside_the_curves() -> None:
    figure = lasthop.run(SHORT, set=PROBED).plot()
    figure.canvas.draw()
    for axes in figure.axes:
        shade = axes.patches[0].get_extents().transformed(axes.transData.inverted())
        assert (shade.x0, shade.x1) == pytest.approx((0.0, 1.0))
        legend = axes.get_legend()
        assert legend is not None
        assert legend.get_window_extent().x0 >= axes.get_window_extent().x1


def test_dense_traces_become_a_median_in_a_band() -> None:
    from lasthop.overview import BINS, condensed

    times = [i / 1000 for i in range(10 * BINS)]
    found = condensed(times, [float(i % 10) for i in range(10 * BINS)])
    assert len(found) == BINS
    # Each bin holds about one round of 0, 1 … 9.
    assert found["middle"].mean() == pytest.approx(4.5, abs=0.1)
    assert (found["low"].median(), found["high"].median()) == (0.0, 9.0)
    axes = lasthop.run(SHORT, set={"probe.every": "2 ms"}).plot().axes[1]
    assert axes.collections and all(len(line.get_xdata()) <= BINS for line in axes.lines)


def test_pictures_name_what_they_leave_out_and_take_any_name() -> None:
    wild = {"flow[0].name": "_a$b$\u202e", "flow[1].count": 9}
    figure = lasthop.run(SHORT, set={**PROBED, **wild}).plot()
    figure.canvas.draw()
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "7 of 10"
    assert " _a$b$\N{REPLACEMENT CHARACTER}" in [text.get_text() for text in legend.get_texts()]


def test_a_picture_leaves_out_queues_in_which_nothing_waits(tmp_path: Path) -> None:
    from lasthop.overview import draw_results

    links = [("fast", "s", "a", "100 Mbit/s"), ("slow", "a", "b", "5 Mbit/s")]
    text = (
        'duration = "3 s"\n[probe]\nevery = "10 ms"\n[[flow]]\nname = "f"\npath = ["s", "a", "b"]\n'
        + "".join(
            f'[[link]]\nname = "{name}"\nfrom = "{start}"\nto = "{end}"\nrate = "{rate}"\n'
            'delay = "5 ms"\nqueue = { limit = "50 packets" }\n'
            for name, start, end, rate in links
        )
    )
    (tmp_path / "x.toml").write_text(text)
    waits = draw_results([lasthop.run(tmp_path / "x.toml")]).axes[1]
    assert [line.get_label() for line in waits.lines] == ["slow"]
    legend = waits.get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "1 of 4"
