# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs on a Dask cluster. Trace files travel with the request; workers need lasthop alone."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from . import _lasthop
from .bundle import pack, unpack
from .errors import UserError
from .runs import Record, Request, simulate

Key = tuple[str, bool]


def run_on_cluster(address: str, missing: Mapping[Key, Request]) -> Iterator[tuple[Key, Record]]:
    """Carries out the requests on the cluster at ``address``; yields them as they finish."""
    with _connected(address) as client:
        from distributed import as_completed

        futures = {}
        for key, request in missing.items():
            text, directory, _ = request.scenario
            files = pack(_lasthop.check(text, directory, request.overrides), directory)
            futures[client.submit(_simulate_there, request, files, pure=False)] = key
        try:
            for future in as_completed(list(futures), loop=client.loop):
                yield futures[future], future.result()
        finally:
            client.cancel(list(futures))


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
    try:
        here = _lasthop.version()
        there = client.run(_version_there)
        if not there:
            raise UserError(f"--dask {address}: the cluster has no workers")
        for worker, version in there.items():
            if version != here:
                raise UserError(
                    f"--dask {address}: worker {worker} has lasthop {version or 'not installed'}:"
                    f" wanted {here}"
                )
        yield client
    finally:
        client.close()


def _version_there() -> str | None:
    try:
        return _lasthop.version()
    except ImportError:
        return None


def _simulate_there(request: Request, files: dict[str, bytes]) -> Record:
    """Runs on a worker. The record tells of the scenario as asked for, not of copied files."""
    if not files:
        return simulate(request)
    with tempfile.TemporaryDirectory(prefix="lasthop-") as folder:
        moved = replace(request, overrides=request.overrides + unpack(files, folder))
        record = simulate(moved)
    text, directory, _ = request.scenario
    return replace(record, scenario=_lasthop.check(text, directory, request.overrides))
