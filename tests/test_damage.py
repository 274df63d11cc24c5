# SPDX-License-Identifier: MIT OR Apache-2.0
"""Result files that are damaged, foreign or hostile are refused in one line."""

import base64
import copy
import json
import pickle
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lasthop
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import SHORT
from lasthop.cli import main

TRACED = {"ap[0].radio": '{ kind = "trace", file = "steady.down" }', "probe.every": "500 ms"}


@pytest.fixture(params=["run", "sweep"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file of a run or sweep that reads a trace."""
    (tmp_path / "steady.down").write_text("".join(f"{ms}\n" for ms in range(1, 101)))
    scenario, path = tmp_path / "traced.toml", tmp_path / "r.parquet"
    scenario.write_text(SHORT)
    if request.param == "run":
        lasthop.run(scenario, set=TRACED).to_parquet(path)
    else:
        lasthop.sweep(scenario, set=TRACED, seeds=2, out=path)
    return path


def altered(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Writes the file again with other metadata."""
    table = pq.read_table(path)
    document = json.loads(table.schema.metadata[b"lasthop"])
    change(document)
    metadata = {**table.schema.metadata, b"lasthop": json.dumps(document).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


def assert_refused(path: Path, capsys: pytest.CaptureFixture[str], *parts: str) -> None:
    capsys.readouterr()
    assert main(["rerun", str(path)]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith(f"lasthop: {path}: "), told
    assert len(told.err.splitlines()) == 1
    for part in parts:
        assert part in told.err


def test_an_untouched_file_is_repeated(written: Path) -> None:
    assert main(["rerun", str(written)]) == 0


def test_a_row_that_says_something_else_is_told(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pq.read_table(written)
    for column in ("goodput_bps", "mean_bytes"):
        place = table.column_names.index(column)
        kept = table.schema.field(place)
        more = table.set_column(place, kept, pc.multiply(table[column], 2.0))
        pq.write_table(more, written)
        assert main(["rerun", str(written)]) == 1
        told = capsys.readouterr().out
        assert "differs" in told and column in told


@pytest.mark.parametrize("key", ["label", "grid", "seed", "seeds", "set", "command", "host"])
def test_what_is_missing_in_a_sweep_is_missed_when_it_is_read(tmp_path: Path, key: str) -> None:
    path = tmp_path / "s.parquet"
    scenario = tmp_path / "short.toml"
    scenario.write_text(SHORT)
    lasthop.sweep(scenario, seeds=2, out=path)
    altered(path, lambda document: document.pop(key))
    wanted = rf"damaged: wanted a result of lasthop \('{key}' is missing\)$"
    with pytest.raises(lasthop.UserError, match=wanted):
        lasthop.read(path)


def test_what_is_missing_in_a_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    scenario = tmp_path / "short.toml"
    scenario.write_text(SHORT)
    lasthop.run(scenario).to_parquet(path)
    altered(path, lambda document: document.pop("files"))
    with pytest.raises(lasthop.UserError, match=r"damaged: .* \('files' is missing\)$"):
        lasthop.read(path)


def test_bytes_that_were_hit_are_no_traceback(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = written.read_bytes()
    draw = random.Random(1)
    for _ in range(40):
        broken = bytearray(whole)
        if draw.random() < 0.3:
            del broken[draw.randrange(len(broken)) :]
        else:
            for _ in range(draw.choice((1, 3, 30))):
                broken[draw.randrange(len(broken))] = draw.randrange(256)
        written.write_bytes(bytes(broken))
        status = main(["rerun", str(written)])
        told = capsys.readouterr()
        # A hit in a column may leave a sound file with another number: then it differs.
        assert status in (0, 1, 2)
        assert len(told.err.splitlines()) == (1 if status == 2 else 0), told.err


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.clear(),
        lambda d: d.pop("scenario"),
        lambda d: d.pop("files"),
        lambda d: d.pop("columns"),
        lambda d: d.update(format="x"),
        lambda d: d.update(kind="other"),
        lambda d: d.update(scenario=7),
        lambda d: d.update(columns={"flows": {"nothing": "<f8"}}, kind="run", summary={}),
        lambda d: d.update(files={"ap[0].radio.file": "%%"}),
        lambda d: d.update(files=[]),
        lambda d: d.update(summary=[], set=[1], grid=[[]]),
        lambda d: d.update(summary={"flows": 1, "queues": 2}, points=[{"a": "b"}]),
    ],
)
def test_metadata_of_another_shape_are_refused(
    written: Path, capsys: pytest.CaptureFixture[str], change: Callable[[dict[str, Any]], object]
) -> None:
    altered(written, change)
    if json.loads(pq.read_schema(written).metadata[b"lasthop"]).get("kind") == "run":
        assert main(["rerun", str(written)]) == 2
    else:
        assert main(["rerun", str(written)]) in (0, 2), "a sweep's file has no summary"
    told = capsys.readouterr()
    assert len(told.err.splitlines()) <= 1


def test_a_value_that_arrow_cannot_take_is_told_in_a_line() -> None:
    import pyarrow as pa
    from lasthop.archive import sound

    with (
        pytest.raises(lasthop.UserError, match="x: damaged: wanted a result of lasthop"),
        sound("x"),
    ):
        pa.array([1 << 53 | 1]).cast(pa.int8())


def test_a_newer_file_says_so(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    altered(written, lambda d: d.update(format=99))
    assert_refused(written, capsys, "newer lasthop")


def test_what_unpacks_to_a_gigabyte_is_refused(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pump = zlib.compressobj(9)
    packed = b"".join(pump.compress(bytes(1 << 20)) for _ in range(300)) + pump.flush()

    def bomb(document: dict[str, Any]) -> None:
        document["files"] = {key: base64.b64encode(packed).decode() for key in document["files"]}

    altered(written, bomb)
    capsys.readouterr()
    assert main(["rerun", str(written)]) == 2
    assert "a file of over 268435456 B" in capsys.readouterr().err


def test_a_missing_trace_is_not_read_from_this_machine(
    written: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = str(written.parent / "steady.down")

    def without(document: dict[str, Any]) -> None:
        document["files"] = {}
        document["points"] = [{}]
        for key in ("scenario", "set"):
            if key in document:
                text = json.dumps(document[key]).replace("steady.down", here)
                document[key] = json.loads(text)

    altered(written, without)
    capsys.readouterr()
    assert main(["rerun", str(written)]) == 2
    assert "missing in the result's file" in capsys.readouterr().err


def test_a_result_pickles_copies_and_gives_its_packets(tmp_path: Path) -> None:
    result = lasthop.run(SHORT, set={"probe.packets": True}, seed=2)
    result.to_pcapng(tmp_path / "whole.pcapng")
    result.to_parquet(tmp_path / "r.parquet")
    plain = lasthop.run(SHORT, seed=2)
    read = lasthop.read(tmp_path / "r.parquet")
    assert isinstance(read, lasthop.Result)
    for name, other in (
        ("pickled", pickle.loads(pickle.dumps(result))), ("copied", copy.deepcopy(result)),
        ("read", read), ("plain", plain),
    ):  # fmt: skip
        assert other.summary["flows"] == result.summary["flows"]
        other.to_pcapng(tmp_path / f"{name}.pcapng")
        packets = (tmp_path / f"{name}.pcapng").read_bytes()
        assert packets == (tmp_path / "whole.pcapng").read_bytes(), name
    result.to_pcapng(tmp_path / "there.pcapng", end="receiver")
    assert (tmp_path / "there.pcapng").read_bytes() != (tmp_path / "whole.pcapng").read_bytes()
    with pytest.raises(lasthop.UserError, match="wanted sender or receiver"):
        result.to_pcapng(tmp_path / "x.pcapng", end="middle")


def test_what_does_not_apply_is_null(tmp_path: Path) -> None:
    plain = {"flow[0].receiver": "plain", "probe.every": "500 ms"}
    result = lasthop.run(SHORT, set=plain)
    awnd = result.arrow["flows"].to_pandas().groupby("name")["awnd_bytes"].count()
    assert awnd["near"] == 0 and awnd["far"] > 0, "nobody bounds the window of the first flow"
    result.to_parquet(tmp_path / "r.parquet")
    assert lasthop.rerun(tmp_path / "r.parquet") == [], "and comes back as it was"
    alone = lasthop.sweep(
        SHORT, set={"flow[1].start": "1 ms"}, grid={"flow[0].receiver": ["plain"]}
    )
    assert alone.flows["mean_awnd_bytes"].isna().tolist() == [True, False]
    one = lasthop.sweep("lte-cubic", set={"duration": "6 s"})
    assert one.runs["jain"].isna().all(), "a flow alone is neither fair nor unfair"
    for table in result.arrow.values():
        for column in table.schema:
            assert str(column.type) == "string" or column.metadata[b"unit"]
