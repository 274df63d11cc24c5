# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files that appear whole or not at all, and what is no file to read."""

import glob
import os
import platform
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from .errors import UserError

LARGEST = 1 << 28
"""Bytes of the largest file that is read."""


def regular(name: str) -> None:
    """Refuses what is no regular file of a bearable size: it may never end."""
    try:
        about = os.stat(name)
    except OSError as error:
        raise UserError(f"{name}: cannot read: {error.strerror}") from error
    if not stat.S_ISREG(about.st_mode):
        raise UserError(f"{name}: cannot read: wanted a regular file")
    if about.st_size > LARGEST:
        raise UserError(f"{name}: {about.st_size} B: wanted at most {LARGEST}")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yields a temporary name beside ``path`` that takes its place on success.

    The temporary name keeps the ending, because Matplotlib chooses its format by it. What a
    process of this machine left of it when it was killed is removed.
    Raises :class:`UserError` where the file cannot be written.
    """
    target = os.fspath(path)
    folder, name = os.path.split(target)
    place = f".lasthop-{platform.node()[:32]}-"
    temporary = os.path.join(
        folder, f"{place}{os.getpid()}-{secrets.token_hex(4)}-{name[-64:].lstrip('.')}"
    )
    _remove_left(folder, place)
    try:
        try:
            yield temporary
            os.replace(temporary, target)
        except OSError as error:
            raise UserError(f"{target}: cannot write: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _remove_left(folder: str, place: str) -> None:
    """Removes temporary files of processes that are no more."""
    for left in glob.glob(f"{glob.escape(os.path.join(folder, place))}*"):
        owner = os.path.basename(left)[len(place) :].partition("-")[0]
        try:
            os.kill(int(owner), 0)
        except (ProcessLookupError, ValueError):
            with suppress(OSError):
                os.unlink(left)
        except OSError:
            continue  # it lives, and is another user's


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes ``text`` to ``path``, whole or not at all."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(text)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuses an output file early, before time is spent on what it should hold."""
    target = os.fspath(path)
    if not target:
        raise UserError('"": cannot write: wanted the name of a file')
    folder = os.path.dirname(target) or "."
    if not os.path.isdir(folder):
        raise UserError(f"{target}: cannot write: no folder {folder}")
    if os.path.isdir(target):
        raise UserError(f"{target}: cannot write: it is a folder")
    if os.path.exists(target) and not os.path.isfile(target):
        raise UserError(f"{target}: cannot write: it is no regular file")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{target}: cannot write: no permission in {folder}")


def check_ending(option: str, path: str, *endings: str) -> None:
    """Refuses an output file whose name says that something else is in it."""
    if not path.lower().endswith(endings):
        raise UserError(f"{option} {path}: wanted a name that ends in {' or '.join(endings)}")


def check_apart(outputs: Iterable[str], inputs: Iterable[str]) -> None:
    """Refuses an output that would overwrite an input or another output."""
    seen = {os.path.realpath(path): path for path in inputs}
    for path in outputs:
        other = seen.setdefault(os.path.realpath(path), path)
        if other is not path:
            raise UserError(f"{path}: cannot write: wanted a file of its own, not that of {other}")


def make_folder(path: str | os.PathLike[str]) -> None:
    """Makes an output folder with its parents."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise UserError(f"{os.fspath(path)}: cannot make folder: {error.strerror}") from error
