# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs on a Dask cluster. Workers need lasthop alone: the scenario and its files travel, once.

Short runs go in batches of about a second. Only a few tasks a worker are handed over at a
time; what a lost worker had is handed over again.
"""

import hashlib
import logging
import os
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from . import _lasthop
from .bundle import pack, unpack
from .errors import UserError, tell
from .record import Record
from .request import Key, Outcome, Request, simulate
from .scenario import Overrides, Scenario

BATCH_S = 1.0
"""How long a task should take."""

LARGEST_BATCH = 256
"""Runs of a task, however short they are."""

TASKS_A_THREAD = 3
"""Tasks under way for each thread of the workers: one runs while others come and go."""

MOST_LOSSES = 5
"""How often a task may be lost with its worker."""


@dataclass(frozen=True)
class _Errand:
    """A run as a worker takes it; files stand by their digests among the blobs of the task."""

    overrides: Overrides
    seed: int
    tables: bool
    files: dict[str, str]


def run_on_cluster(
    address: str, missing: Mapping[Key, Request], *, label: str, patience_s: float
) -> Iterator[tuple[Key, Outcome]]:
    """Carries out the requests on the cluster at ``address``; yields them as they finish.

    Without any worker it waits for ``patience_s``, then raises :class:`lasthop.UserError`.
    """
    with _connected(address) as client:
        work = _Work(client, address, label, deque(missing.items()), patience_s)
        try:
            yield from work.outcomes()
        finally:
            work.cancel()


@dataclass
class _Work:
    client: Any
    address: str
    label: str
    waiting: deque[tuple[Key, Request]]
    patience_s: float
    running: dict[Any, list[tuple[Key, Request]]] = field(default_factory=dict)
    blobs: dict[str, Any] = field(default_factory=dict)
    """What has been sent to the workers, by its digest."""
    contents: dict[str, bytes] = field(default_factory=dict)
    """All files by their digests."""
    points: dict[tuple[Scenario, Overrides], tuple[str, dict[str, str]]] = field(
        default_factory=dict
    )
    """The effective text of each point, and the digests of its files by their keys."""
    losses: dict[Key, int] = field(default_factory=dict)
    seconds_a_run: float = BATCH_S

    def outcomes(self) -> Iterator[tuple[Key, Outcome]]:
        """Hands tasks over and takes what they gave, until nothing is left."""
        threads, asked, idle_since, told = self._threads(), time.monotonic(), 0.0, False
        while self.waiting or self.running:
            now = time.monotonic()
            if now - asked > 1.0:
                threads, asked = self._threads(), now
            if threads:
                idle_since, told = 0.0, False
            else:
                idle_since = idle_since or now
                if now - idle_since > self.patience_s:
                    raise UserError(
                        f"--dask {self.address}: no worker for {self.patience_s:g} s (--patience)"
                    )
                if not told and now - idle_since > min(2.0, self.patience_s / 2):
                    told = True
                    tell(f"--dask {self.address}: no worker is there: waiting "
                         f"{self.patience_s:g} s for one")  # fmt: skip
            while self.waiting and len(self.running) < TASKS_A_THREAD * threads:
                self._submit(threads)
            yield from self._finished()

    def _threads(self) -> int:
        """Threads of all workers there are."""
        try:
            return sum(self.client.nthreads().values())
        except Exception as error:  # whatever a client says whose scheduler has gone
            raise self._gone() from error

    def _gone(self) -> UserError:
        return UserError(f"--dask {self.address}: the scheduler has gone")

    def _submit(self, threads: int) -> None:
        """Hands over a batch: runs of one scenario, as many as take about a second."""
        fair = -(-len(self.waiting) // (2 * threads))
        most = max(1, min(int(BATCH_S / max(self.seconds_a_run, 1e-6)), LARGEST_BATCH, fair))
        scenario = self.waiting[0][1].scenario
        batch = [self.waiting.popleft()]
        while self.waiting and len(batch) < most and self.waiting[0][1].scenario == scenario:
            batch.append(self.waiting.popleft())
        points = [self._point(request) for _, request in batch]
        errands = [
            _Errand(request.overrides, request.seed, request.tables, files)
            for (_, request), (_, files) in zip(batch, points, strict=True)
        ]
        text = self._digest(scenario.text.encode())
        digests = sorted({text}.union(*(files.values() for _, files in points)))
        stem = os.path.basename(self.label).removesuffix(".toml")
        future = self.client.submit(
            _simulate_there, errands, text, digests, *map(self._blob, digests),
            version=_lasthop.version(), key=f"{stem}-{uuid.uuid4().hex}", pure=False,
        )  # fmt: skip
        self.running[future] = batch

    def _point(self, request: Request) -> tuple[str, dict[str, str]]:
        point = (request.scenario, request.overrides)
        if point not in self.points:
            text, directory, _ = request.scenario
            effective = _lasthop.check(text, directory, request.overrides)
            files = pack(effective, directory)
            self.points[point] = (effective, {key: self._digest(raw) for key, raw in files.items()})
        return self.points[point]

    def _digest(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self.contents.setdefault(digest, content)
        return digest

    def _blob(self, digest: str) -> Any:
        """What has been sent to all workers, once."""
        if digest not in self.blobs:
            name = f"lasthop-file-{digest}"
            sent = self.client.scatter({name: self.contents[digest]}, broadcast=True)
            self.blobs[digest] = sent[name]
        return self.blobs[digest]

    def _finished(self) -> Iterator[tuple[Key, Outcome]]:
        """What has finished within a second."""
        from distributed import wait
        from distributed.client import FutureCancelledError, FuturesCancelledError

        try:
            if self.running:
                with self.client.as_current():
                    wait(list(self.running), timeout=1.0, return_when="FIRST_COMPLETED")
            else:
                time.sleep(0.2)
        except TimeoutError:
            pass
        except (FutureCancelledError, FuturesCancelledError):
            if self.client.status != "running":
                raise self._gone() from None
        for future in [f for f in self.running if f.status != "pending"]:
            batch = self.running.pop(future)
            if future.status in ("cancelled", "lost"):
                self._again(batch)
                continue
            version, elapsed_s, results = self._result(future)
            if version != _lasthop.version():
                raise UserError(f"--dask {self.address}: a worker has lasthop {version}: wanted "
                                f"{_lasthop.version()}")  # fmt: skip
            self.seconds_a_run = 0.5 * self.seconds_a_run + 0.5 * elapsed_s / len(batch)
            for (key, request), outcome in zip(batch, results, strict=True):
                if isinstance(outcome, str):
                    yield key, _lasthop.ScenarioError(outcome)
                else:
                    # It speaks of the scenario as asked for, not of files where a worker had them.
                    yield key, replace(outcome, scenario=self._point(request)[0])

    def _result(self, future: Any) -> tuple[str, float, list[Record | str]]:
        from distributed.scheduler import KilledWorker

        try:
            found: tuple[str, float, list[Record | str]] = future.result()
        except KilledWorker as error:
            raise UserError(
                f"--dask {self.address}: workers die of a run: out of memory?"
            ) from error
        except ModuleNotFoundError as error:
            raise UserError(f"--dask {self.address}: a worker lacks {error.name}") from error
        return found

    def _again(self, batch: Sequence[tuple[Key, Request]]) -> None:
        """Puts back what was lost; files may be lost too, so they are sent anew."""
        self.blobs.clear()
        for key, request in batch:
            self.losses[key] = self.losses.get(key, 0) + 1
            if self.losses[key] > MOST_LOSSES:
                raise UserError(f"--dask {self.address}: a run was lost {MOST_LOSSES} times with "
                                "its worker")  # fmt: skip
            self.waiting.append((key, request))

    def cancel(self) -> None:
        """Gives up what is under way."""
        if self.running and self.client.status == "running":
            with suppress(Exception):  # the scheduler may go at any time
                self.client.cancel(list(self.running))


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError("--dask: wanted dask[distributed]: pip install 'lasthop[dask]'") from error
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"--dask {address}: no Dask scheduler answers there") from error
    # What they have to say of a scheduler that has gone are tracebacks; we say it in a line.
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        here = _lasthop.version()
        for worker, version in client.run(_version_there).items():
            if version != here:
                raise UserError(
                    f"--dask {address}: worker {worker} has lasthop {version or 'not installed'}:"
                    f" wanted {here}"
                )
        yield client
    finally:
        with suppress(Exception):  # the scheduler may go at any time
            client.close(timeout=2)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _version_there() -> str | None:
    try:
        return _lasthop.version()
    except ImportError:
        return None


def _simulate_there(
    errands: Sequence[_Errand], text: str, digests: Sequence[str], *blobs: bytes, version: str
) -> tuple[str, float, list[Record | str]]:
    """Runs on a worker: its version, the seconds it took, and records or what was refused."""
    here = _lasthop.version()
    if here != version:
        return here, 0.0, []
    begun = time.perf_counter()
    content = dict(zip(digests, blobs, strict=True))
    results: list[Record | str] = []
    with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:
        scenario = Scenario(content[text].decode(), folder, "scenario")
        for errand in errands:
            moved = unpack({key: content[name] for key, name in errand.files.items()}, folder)
            overrides = errand.overrides + moved
            try:
                results.append(simulate(Request(scenario, overrides, errand.seed, errand.tables)))
            except _lasthop.ScenarioError as error:
                results.append(str(error))
    return here, time.perf_counter() - begun, results
