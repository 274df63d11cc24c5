# SPDX-License-Identifier: MIT OR Apache-2.0
"""Many runs at once: on threads of this machine or on a Dask cluster.

The simulator releases the GIL, so threads use every core. A run's numbers depend on its
scenario and seed alone, and :meth:`Runner.run` returns records in the order they were
asked for: neither the number of jobs nor the place of work can change a bit.
"""

import os
import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Self

from . import _lasthop
from .errors import UserError, tell
from .journal import Journal
from .progress import Progress
from .record import Record
from .request import Key, Outcome, Request, simulate
from .scenario import Overrides, Scenario

__all__ = ["Record", "Request", "Runner", "cores", "simulate"]


class Runner:
    """Runs requests and remembers what they gave.

    ``jobs`` is the number of threads, by default one a core; ``dask`` the address of a
    scheduler to use instead, which may be without workers for ``patience_s``. A ``journal``
    makes the memory outlast an interruption; what the journals of ``shards`` hold is known too.
    """

    def __init__(
        self,
        *,
        jobs: int | None = None,
        dask: str | None = None,
        journal: str | None = None,
        shards: Sequence[str] = (),
        patience_s: float = 60.0,
    ) -> None:
        if jobs is not None and jobs < 1:
            raise UserError(f"--jobs {jobs}: wanted a positive number")
        self.jobs = jobs or cores()
        self.dask = dask
        self.patience_s = patience_s
        self.journal = Journal(journal, shards) if journal else None
        self._memory: dict[Key, Record] = {}

    def run(self, requests: Sequence[Request], label: str = "runs") -> list[Record]:
        """Carries out what is not known yet; returns the records in the order of ``requests``.

        Raises :class:`lasthop.ScenarioError` for a wrong scenario, before anything is run
        where its text shows it. An interruption loses only the runs that were under way.
        """
        records = []
        for outcome in self.outcomes(requests, label):
            if isinstance(outcome, _lasthop.ScenarioError):
                raise outcome
            records.append(outcome)
        return records

    def outcomes(self, requests: Sequence[Request], label: str = "runs") -> list[Outcome]:
        """As :meth:`run`, but a run that is refused on its way stands for itself alone."""
        keys = _keys(requests)
        missing = {
            key: request
            for key, request in zip(keys, requests, strict=True)
            if self._known(key) is None
        }
        refused: dict[Key, _lasthop.ScenarioError] = {}
        if missing:
            bar = Progress(len(set(keys)), len(set(keys)) - len(missing), label)
            try:
                for key, outcome in self._carry_out(missing, label):
                    if isinstance(outcome, Record):
                        self._remember(key, outcome)
                    else:
                        refused[key] = outcome
                    bar.step()
            finally:
                bar.close()
        found: list[Outcome] = []
        for key in keys:
            record = self._known(key)
            found.append(refused[key] if record is None else record)
        return found

    def noted(self, key: str, *, tables: bool = False) -> Record | None:
        """What :meth:`note` was told under ``key``, now or before an interruption.

        With ``tables`` only a record that has samples will do.
        """
        return self._known((key, tables))

    def note(self, key: str, record: Record) -> None:
        """Remembers work that is not the simulator's, by a key of the caller's own."""
        self._remember((key, bool(record.tables)), record)

    def _remember(self, key: Key, record: Record) -> None:
        self._memory[key] = record
        if self.journal:
            self.journal.add(_noted(key), record)

    def _carry_out(
        self, missing: dict[Key, Request], label: str
    ) -> Iterator[tuple[Key, Outcome]]:  # fmt: skip
        if not self.dask:
            return self._on_threads(missing)
        from .cluster import run_on_cluster

        return run_on_cluster(self.dask, missing, label=label, patience_s=self.patience_s)

    def _known(self, key: Key) -> Record | None:
        """What is known of a run; samples that nobody wants do no harm."""
        for candidate in (key,) if key[1] else (key, (key[0], True)):
            record = self._memory.get(candidate)
            if record is None and self.journal:
                record = self.journal.get(_noted(candidate))
                if record is not None:
                    self._memory[candidate] = record
            if record is not None:
                return record
        return None

    def _on_threads(self, missing: dict[Key, Request]) -> Iterator[tuple[Key, Outcome]]:
        """Daemon threads: an interruption need not wait for runs that are under way."""
        waiting = list(reversed(missing.items()))
        done: queue.SimpleQueue[tuple[Key, Record | BaseException]] = queue.SimpleQueue()

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
                if not isinstance(outcome, Record | _lasthop.ScenarioError):
                    raise outcome
                yield key, outcome
        finally:
            waiting.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Removes the journal of work that is complete, keeps that of work that is not."""
        if self.journal and kind is None:
            for path in self.journal.remove():
                tell(f"{path}: kept: it holds what is not of this sweep")
        elif self.journal:
            self.journal.close()


def _keys(requests: Sequence[Request]) -> list[Key]:
    """The requests' keys; each point is checked and its files are read once for all its seeds."""
    points: dict[tuple[Scenario, Overrides], bytes] = {}
    keys = []
    for request in requests:
        point = (request.scenario, request.overrides)
        if point not in points:
            points[point] = request.fingerprint()
        keys.append((request.key(points[point]), request.tables))
    return keys


def _noted(key: Key) -> str:
    """How a journal calls a run: a record with samples is another than one without."""
    return f"{key[0]}{'+' if key[1] else ''}"


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
