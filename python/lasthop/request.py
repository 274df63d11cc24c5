# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run that is wanted, and how it is carried out."""

import hashlib
from dataclasses import dataclass
from functools import cache

from . import _lasthop
from .bundle import referenced_files
from .record import Record, record_of
from .scenario import Overrides, Scenario

Key = tuple[str, bool]
"""Names a run, and says whether its samples are wanted."""

Outcome = Record | _lasthop.ScenarioError
"""What became of a run: its record, or why it was refused."""


@dataclass(frozen=True)
class Request:
    """One run that is wanted."""

    scenario: Scenario
    overrides: Overrides
    seed: int
    tables: bool = False
    """Whether the sampled tables are wanted too, not only the summary."""

    def fingerprint(self) -> bytes:
        """Stands for all but the seed that decides the run's numbers, the build included.

        Raises :class:`lasthop.ScenarioError` where the scenario is wrong.
        """
        text, directory, _ = self.scenario
        effective = _lasthop.check(text, directory, self.overrides)
        digest = hashlib.sha256(build() + effective.encode() + b"\0")
        if "file" in effective:
            for _, path in referenced_files(effective, directory):
                with open(path, "rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.digest()

    def key(self, fingerprint: bytes | None = None) -> str:
        """Names the run by all that decides its numbers, and nothing else."""
        known = self.fingerprint() if fingerprint is None else fingerprint
        return hashlib.sha256(known + str(self.seed).encode()).hexdigest()


@cache
def build() -> bytes:
    """A fingerprint of the simulator: what another build has noted is not taken for its own."""
    with open(_lasthop.__file__, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def simulate(request: Request) -> Record:
    """Carries out one run, on one thread: the others have runs of their own."""
    text, directory, _ = request.scenario
    native = _lasthop.run(text, directory, request.overrides, request.seed, threads=1)
    return record_of(native, tables=request.tables)
