# SPDX-License-Identifier: MIT OR Apache-2.0
"""Control groups: by these a host's programs know whose connections are theirs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from house import until


def own_group() -> Path:
    """The control group that we are in; :class:`OSError` without cgroup2."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    roots = [Path(words[1]) for words in map(str.split, mounts) if words[2] == "cgroup2"]
    if not roots:
        raise OSError("no cgroup2 is mounted")
    own = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    (at,) = (line.removeprefix("0::/") for line in own if line.startswith("0::/"))
    return roots[0] / at


@contextmanager
def joined(name: str) -> Iterator[Path]:
    """A group of this name below ours, with us in it; :class:`OSError` if none can be made."""
    before = own_group()
    made = before / f"{name}-{os.getpid()}"
    made.mkdir()
    try:
        _join(made)
        yield made
    finally:
        _join(before)
        # What was started in it goes a little later.
        until(lambda: not (made / "cgroup.procs").read_text(encoding="ascii"))
        made.rmdir()


def _join(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
