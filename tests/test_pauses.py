# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is repeated of the tests in real time, and what is not."""

import pauses
import pytest

pytest_plugins = ["pytester"]

TESTS = """
import os, subprocess, time

runs = []

def stand_still():
    subprocess.Popen(["sh", "-c", f"kill -STOP {os.getpid()}; sleep .3; kill -CONT {os.getpid()}"])
    time.sleep(.6)

def test_spoilt_once():
    runs.append(1)
    if len(runs) == 1:
        stand_still()
    assert len(runs) == 2

def test_spoilt_always():
    stand_still()
    assert False

def test_holds_all_the_same():
    stand_still()

def test_wrong():
    assert False
"""


def test_a_test_is_run_again_if_the_machine_stood_still_and_only_then(
    pytester: pytest.Pytester,
) -> None:
    path = pytester.makepyfile(TESTS)
    pytester.makeconftest(
        f"import pathlib, pauses\npauses.FOLDER = pathlib.Path({str(path.parent)!r})"
    )
    pytester.makeini(f"[pytest]\npythonpath = {pauses.FOLDER}")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "pauses")
    assert done.parseoutcomes() == {"passed": 2, "failed": 2, "rerun": 2}
    done.stdout.fnmatch_lines(["repeated: *test_spoilt_once: the machine stood still for 0.[2-9]*"])
    done.stdout.no_fnmatch_line("repeated: *test_wrong*")


def test_elsewhere_nothing_is(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.makeini(f"[pytest]\npythonpath = {pauses.FOLDER}")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "pauses")
    assert done.parseoutcomes() == {"passed": 1, "failed": 3}
