# SPDX-License-Identifier: MIT OR Apache-2.0
"""Many runs at once: on threads of this machine or on a Dask cluster.

The simulator releases the GIL, so threads use every core. A run's numbers depend on its
scenario and seed alone, and :meth:`Runner.run` returns records in the order they were
asked for: neither the number of jobs nor the place of work can change a bit.
"""

import hashlib
import json
import os
import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from . import _lasthop
from .errors import UserError
from .scenario import Overrides, Scenario

Summary = dict[str, Any]
Tables = dict[str, dict[str, tuple[str, bytes]]]


@dataclass(frozen=True)
class Request:
    """One run that is wanted."""

    scenario: Scenario
    overrides: Overrides
    seed: int
    tables: bool = False
    """Whether the sampled tables are wanted too, not only the summary."""

    def key(self) -> str:
        """Names the run by all that decides its numbers, and nothing else.

        Raises :class:`lasthop.ScenarioError` where the scenario is wrong.
        """
        text, directory, _ = self.scenario
        effective = _lasthop.check(text, directory, self.overrides)
        digest = hashlib.sha256()
        for part in (_lasthop.version(), str(self.seed), effective):
            digest.update(part.encode() + b"\0")
        if "file" in effective:
            from .bundle import referenced_files

            for _, path in referenced_files(effective, directory):
                with open(path, "rb") as file:
                    digest.update(hashlib.sha256(file.read()).digest())
        return digest.hexdigest()


@dataclass(frozen=True)
class Record:
    """What one run left behind, in plain Python, so that it can cross the wire."""

    scenario: str
    summary: Summary
    tables: Tables = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)


def simulate(request: Request) -> Record:
    """Carries out one run."""
    text, directory, _ = request.scenario
    return record_of(
        _lasthop.run(text, directory, request.overrides, request.seed), tables=request.tables
    )


def record_of(result: _lasthop.RunResult, *, tables: bool = True) -> Record:
    """What a run of the simulator left behind, taken over into plain Python."""
    flows, queues = result.names
    return Record(
        result.scenario,
        json.loads(result.summary_json),
        result.tables if tables else {},
        {"flows": flows, "queues": queues},
    )


class Journal:
    """Finished runs, one JSON line each: an interrupted sweep goes on where it stopped."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.records = dict(self._read())

    def _read(self) -> Iterator[tuple[str, Record]]:
        try:
            with open(self.path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    try:
                        entry = json.loads(line)
                        yield entry["key"], Record(entry["scenario"], entry["summary"])
                    except (ValueError, KeyError, TypeError):
                        continue  # the line that was being written when the power went
        except FileNotFoundError:
            return
        except OSError as error:
            raise UserError(f"{self.path}: cannot read journal: {error.strerror}") from error

    def add(self, key: str, record: Record) -> None:
        """Notes a finished run, on disk before this returns."""
        self.records[key] = record
        entry = {"key": key, "scenario": record.scenario, "summary": record.summary}
        try:
            with open(self.path, "a", encoding="utf-8") as file:
                # The first break ends a line that was cut short; empty lines are skipped.
                file.write("\n" + json.dumps(entry) + "\n")
        except OSError as error:
            raise UserError(f"{self.path}: cannot write journal: {error.strerror}") from error

    def remove(self) -> None:
        """Removes the journal when all it was kept for is done."""
        if os.path.exists(self.path):
            os.unlink(self.path)


class Runner:
    """Runs requests and remembers what they gave.

    ``jobs`` is the number of threads, by default one a core; ``dask`` the address of a
    scheduler to use instead. A ``journal`` makes the memory outlast an interruption.
    """

    def __init__(
        self, *, jobs: int | None = None, dask: str | None = None, journal: str | None = None
    ) -> None:
        if jobs is not None and jobs < 1:
            raise UserError(f"--jobs {jobs}: wanted a positive number")
        self.jobs = jobs or cores()
        self.dask = dask
        self.journal = Journal(journal) if journal else None
        self._memory: dict[tuple[str, bool], Record] = {}

    def run(self, requests: Sequence[Request], label: str = "runs") -> list[Record]:
        """Carries out what is not known yet; returns the records in the order of ``requests``.

        Raises :class:`lasthop.ScenarioError` for a wrong scenario before anything is run.
        An interruption loses only the runs that were under way.
        """
        keys = [(request.key(), request.tables) for request in requests]
        missing = {
            key: request
            for key, request in zip(keys, requests, strict=True)
            if self._known(key) is None
        }
        if missing:
            work = self._on_dask if self.dask else self._on_threads
            bar = Progress(len(keys), len(set(keys)) - len(missing), label)
            try:
                for key, record in work(missing):
                    self._memory[key] = record
                    if self.journal and not key[1]:
                        self.journal.add(key[0], record)
                    bar.step()
            finally:
                bar.close()
        found = [self._known(key) for key in keys]
        return [record for record in found if record is not None]

    def _known(self, key: tuple[str, bool]) -> Record | None:
        record = self._memory.get(key)
        if record is None and not key[1]:
            record = self._memory.get((key[0], True))
            if record is None and self.journal:
                record = self.journal.records.get(key[0])
        return record

    def _on_threads(
        self, missing: dict[tuple[str, bool], Request]
    ) -> Iterator[tuple[tuple[str, bool], Record]]:
        """Daemon threads: an interruption need not wait for runs that are under way."""
        waiting = list(reversed(missing.items()))
        done: queue.SimpleQueue[tuple[tuple[str, bool], Record | BaseException]] = (
            queue.SimpleQueue()
        )

        def work() -> None:
            while True:
                try:
                    key, request = waiting.pop()
                except IndexError:
                    return
                try:
                    done.put((key, simulate(request)))
                except BaseException as error:
                    done.put((key, error))

        for _ in range(min(self.jobs, len(missing))):
            threading.Thread(target=work, daemon=True).start()
        try:
            for _ in range(len(missing)):
                key, outcome = done.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                yield key, outcome
        finally:
            waiting.clear()

    def _on_dask(
        self, missing: dict[tuple[str, bool], Request]
    ) -> Iterator[tuple[tuple[str, bool], Record]]:
        from .cluster import run_on_cluster

        assert self.dask is not None
        yield from run_on_cluster(self.dask, missing)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Removes the journal of work that is complete, keeps that of work that is not."""
        if self.journal and kind is None:
            self.journal.remove()


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Progress:
    """A progress bar on a terminal, for work of more than a second; silent elsewhere."""

    def __init__(self, total: int, done: int, label: str) -> None:
        self._bar: Any = None
        if sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                total=total, initial=done, desc=label, unit="run", delay=1.0, leave=False
            )

    def step(self) -> None:
        """One more run is done."""
        if self._bar is not None:
            self._bar.update()

    def close(self) -> None:
        """Takes the bar off the screen."""
        if self._bar is not None:
            self._bar.close()
