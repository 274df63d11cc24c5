# SPDX-License-Identifier: MIT OR Apache-2.0
"""What surrounds the code does what it says: workflows, hooks, the manual page, the counts kept."""

import importlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from lasthop.cli import _parser
from test_docs import subparsers

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def steps(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def called(text: str) -> set[str]:
    return set(re.findall(r"\bmake ([a-z][a-z-]*)", text))


def test_there_are_workflows() -> None:
    assert {path.stem for path in WORKFLOWS} == {"check", "pages", "test", "wheels"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_targets_that_exist(workflow: Path) -> None:
    targets = set().union(*(called(step.get("run", "")) for step in steps(workflow)))
    assert targets
    assert targets <= TARGETS, targets - TARGETS


def test_what_is_told_to_be_typed_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
    pages += [ROOT / ".pre-commit-config.yaml", ROOT / "bench" / "README.md"]
    for page in pages:
        quoted = " ".join(re.findall(r"`[^`\n]+`|entry: .*", page.read_text()))
        assert called(quoted) <= TARGETS, page


def test_each_type_name_means_one_thing() -> None:
    declared = re.compile(r"^\s*pub(?:\([a-z]+\))? (?:struct|enum|trait|type) (\w+)", re.MULTILINE)
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "crates").rglob("src/**/*.rs")):
        if "tests" not in (*path.parts, path.stem):
            for name in declared.findall(path.read_text()):
                places.setdefault(name, []).append(path.relative_to(ROOT / "crates").parts[0])
    shared = {name: crates for name, crates in places.items() if len(crates) > 1}
    # Each crate's error; and the twins in integers, which have the name of what they are twins of.
    errors = shared.pop("Error")
    assert len(set(errors)) == len(errors)
    assert all(crates == ["core", "fixed"] for crates in shared.values()), shared


def test_one_compiler_is_pinned_and_the_promised_one_is_older() -> None:
    pinned = tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"]["channel"]
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    oldest = cargo["workspace"]["package"]["rust-version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", pinned)
    assert tuple(map(int, oldest.split("."))) < tuple(map(int, pinned.split(".")))


@pytest.mark.parametrize(
    ("subject", "complaint"),
    [
        ("ap: serve the head in parts", ""),
        ("core, sim: split files by meaning", ""),
        ('Revert "ap: serve the head in parts"', ""),
        ("ap: " + "x" * 69, "73 characters"),
        ("ap: " + "é" * 68, ""),
        ("Serve the head in parts", "wanted"),
        ("ap: serve the head in parts.", "full stop"),
    ],
)
def test_subjects_of_commits(tmp_path: Path, subject: str, complaint: str) -> None:
    message = tmp_path / "message"
    message.write_text(f"# a comment\n{subject}\n\nWhy: because.\n")
    done = subprocess.run(
        [ROOT / ".github" / "check-subjects", message],
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert done.returncode == bool(complaint), done.stderr
    assert complaint in done.stderr


def test_subjects_of_a_range(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for subject in ("a: begin", "a: go on", "Went on"):
        git("commit", "--allow-empty", "--no-verify", "-m", subject)
    for span, status in (("HEAD~2..HEAD~1", 0), ("HEAD~1..HEAD", 1)):
        check = [ROOT / ".github" / "check-subjects", span]
        done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr


def test_manual_and_completion_know_every_command_and_option(tmp_path: Path) -> None:
    make = [sys.executable, ROOT / "packaging" / "make_manual.py", tmp_path]
    subprocess.run(make, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    texts = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert set(texts) == {"lasthop", "_lasthop", "lasthop.fish", "lasthop.1"}
    commands = subparsers(_parser())
    assert len(commands) >= 8
    for name, text in texts.items():
        # The manual page has marks of its own in its text: \\- is a minus, \\fB begins bold.
        words = set(
            re.findall(r"[\w-]+", re.sub(r"\\f[A-Z]|\\,|\\/", "", text).replace("\\-", "-"))
        )
        for command, parser in commands.items():
            assert command in words, (name, command)
            options = {o for action in parser._actions for o in action.option_strings}
            options -= {"-h", "--help"}
            missing = {o for o in options if o not in words and o.lstrip("-") not in words}
            assert not missing, (name, command, missing)
    page = texts["lasthop.1"]
    assert page.count("\n.nf\nusage: ") == page.count("\nusage: ") >= len(commands), "refilled"
    done = subprocess.run(["bash", "-n", *tmp_path.rglob("lasthop")], check=False)
    assert done.returncode == 0
    (tmp_path / "mine.toml").touch()
    asked = "complete -C 'lasthop run mi'; complete -C 'lasthop run --out mi'"
    if shutil.which("fish"):
        (written,) = tmp_path.rglob("lasthop.fish")
        words = ["fish", "--no-config", "-c", f"source {written}; {asked}"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert [line.split()[0] for line in done.stdout.splitlines()] == ["mine.toml"] * 2
    if shutil.which("zsh"):
        (written,) = tmp_path.rglob("_lasthop")
        done = subprocess.run(["zsh", "-n", written], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert "_files" in texts["_lasthop"]


def test_the_command_is_found_without_the_callers_path(tmp_path: Path) -> None:
    """As in ``sudo "$(command -v lasthop)"``: sudo has a PATH of its own."""
    command = Path(sys.executable).with_name("lasthop")
    if not command.exists():
        pytest.skip("SKIPPED: lasthop is not installed beside this Python")
    done = subprocess.run(
        [command, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("lasthop ")


def test_counts_are_kept_for_the_pinned_compiler() -> None:
    pinned = tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"]["channel"]
    entries = json.loads((ROOT / "bench" / "history" / "instructions.json").read_text())
    fitting = [entry for entry in entries if entry["rustc"].startswith(f"rustc {pinned} ")]
    assert fitting, "make bench-keep"
    cases = {name: case for entry in fitting for name, case in entry["cases"].items()}
    assert {"w1-short", "f-short", "w4-short"} <= cases.keys()
    for name, case in cases.items():
        assert case["instructions"] > case["setup_instructions"] > 0, name
        assert case["packets"] > 1000, name
        # Instructions miss the last level, too: it may count more than the first level of data.
        assert all(case["instructions"] > case[f"{level}_misses"] > 0 for level in ("d1", "ll")), (
            name
        )


@pytest.mark.parametrize(("growth", "status"), [(0.031, 1), (0.029, 0), (-0.5, 0), (None, None)])
def test_three_per_cent_more_instructions_fail(
    growth: float | None, status: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    counts = importlib.import_module("instructions")
    entry = json.loads(counts.HISTORY.read_text())[-1]
    entry |= {"rustc": counts.toolchain(), "machine": platform.machine()}
    if growth is None:
        entry["rustc"] = "rustc 1.0.0"
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps([entry]))
    monkeypatch.setattr(counts, "HISTORY", kept)
    cases = [case for case in counts.CASES if case.is_short]
    assert len(cases) == 3
    before = {case.name: entry["cases"][case.name]["instructions"] for case in cases}
    found = iter(before.values())
    factor = 1 + (growth or 0)
    monkeypatch.setattr(counts, "cachegrind", lambda *_, **__: {"Ir": int(next(found) * factor)})
    if status is None:
        with pytest.raises(counts.UnavailableError, match="none are kept for rustc"):
            counts.check(cases, Path("run"))
        return
    assert counts.check(cases, Path("run")) == status
    assert ("w1-short" in capsys.readouterr().err) == bool(status)


def test_what_stands_behind_an_option_that_may_stand_alone() -> None:
    from lasthop.commands.emulation import split

    for words, own in (
        ("emu --watch s.toml", ["emu", "--watch=127.0.0.1:9470", "s.toml"]),
        ("emu s.toml --watch 127.0.0.1:80", ["emu", "s.toml", "--watch=127.0.0.1:80"]),
        ("emu --watch [::1]:9470 s.toml", ["emu", "--watch=[::1]:9470", "s.toml"]),
        ("emu --json s.toml --watch", ["emu", "--json=-", "s.toml", "--watch=127.0.0.1:9470"]),
        ("emu --json r.json s.toml", ["emu", "--json=r.json", "s.toml"]),
    ):
        assert split([*words.split(), "--", "--watch"]) == (own, ["--watch"])
