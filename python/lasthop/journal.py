# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finished runs on disk: an interrupted sweep goes on where it stopped.

A journal is text, a line a run: its key, a checksum, and the record, compressed. Lines stand
for themselves, so journals are merged by putting one behind the other. A line that is damaged
or was cut short is not believed.
"""

import base64
import glob
import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress

from .errors import UserError
from .record import Record

SYNC_S = 1.0
"""At most this much work is lost when the power goes."""

LARGEST = 1 << 30
"""More bytes than any record has, unpacked: a line that holds more is damaged."""


class Journal:
    """The records of finished runs by their keys, kept in ``path``.

    What stands in ``others``, journals of shards of the same work, is known too.
    """

    def __init__(self, path: str, others: Sequence[str] = ()) -> None:
        self.path = path
        self.others = [other for other in others if other != path]
        self._lines: dict[str, bytes] = {}
        self._asked: set[str] = set()
        self._file: int | None = None
        self._synced = time.monotonic()
        for name in (path, *self.others):
            self._lines.update(_read(name))

    def get(self, key: str) -> Record | None:
        """The record of a finished run; None if there is none that can be believed."""
        self._asked.add(key)
        line = self._lines.get(key)
        return _record(line) if line is not None else None

    def add(self, key: str, record: Record) -> None:
        """Notes a finished run: handed to the system at once, on disk within :data:`SYNC_S`."""
        self._asked.add(key)
        line = _line(key, record)
        self._lines[key] = line
        try:
            if self._file is None:
                self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            # The first break ends a line that was cut short; empty lines are skipped.
            whole = b"\n" + line + b"\n"
            while whole:
                whole = whole[os.write(self._file, whole) :]
            if time.monotonic() - self._synced > SYNC_S:
                self._sync()
        except OSError as error:
            raise UserError(f"{self.path}: cannot write journal: {error.strerror}") from error

    def _sync(self) -> None:
        if self._file is not None:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def close(self) -> None:
        """Brings everything to the disk."""
        if self._file is not None:
            with suppress(OSError):
                self._sync()
            os.close(self._file)
            self._file = None

    def remove(self) -> list[str]:
        """Removes the journals when all they were kept for is done.

        Returns those that stay: they hold runs that nobody has asked for, those of another grid,
        or nothing that can be believed.
        """
        self.close()
        kept = [path for path in (self.path, *self.others) if self._holds_other_work(path)]
        for path in {self.path, *self.others}.difference(kept):
            with suppress(FileNotFoundError):
                os.unlink(path)
        return kept

    def _holds_other_work(self, path: str) -> bool:
        lines = list(_read(path))
        own = [line for key, line in lines if key in self._asked]
        others = [line for key, line in lines if key not in self._asked]
        # To unpack them all would take as long as to write them: the first believed one decides.
        return bool(lines) and (any(map(_record, others)) or not any(map(_record, own)))


def shards_of(path: str) -> list[str]:
    """The journals that shards of the work of ``path`` have left."""
    return sorted(glob.glob(f"{glob.escape(path)}.shard-*"))


def _read(path: str) -> Iterator[tuple[str, bytes]]:
    try:
        with open(path, "rb") as file:
            for line in file:
                key, _, rest = line.rstrip(b"\n").partition(b" ")
                if rest:
                    yield key.decode("ascii", errors="replace"), line.rstrip(b"\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{path}: cannot read journal: {error.strerror}") from error


def _line(key: str, record: Record) -> bytes:
    tables = {
        name: {column: [kind, base64.b64encode(raw).decode()] for column, (kind, raw) in t.items()}
        for name, t in record.tables.items()
    }
    entry = json.dumps({**vars(record), "tables": tables}).encode()
    packed = base64.b64encode(zlib.compress(entry, 1))
    return b" ".join((key.encode(), _checksum(key.encode(), packed), packed))


def _record(line: bytes) -> Record | None:
    try:
        key, checksum, packed = line.split(b" ")
        if checksum != _checksum(key, packed):
            return None
        entry = json.loads(zlib.decompressobj().decompress(base64.b64decode(packed), LARGEST))
        entry["tables"] = {
            name: {column: (kind, base64.b64decode(raw)) for column, (kind, raw) in t.items()}
            for name, t in entry["tables"].items()
        }
        return Record(**entry)
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error):
        return None


def _checksum(key: bytes, packed: bytes) -> bytes:
    return hashlib.sha256(key + b" " + packed).hexdigest()[:16].encode()
