# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run and what it left behind."""

from __future__ import annotations

import html
import json
import os
import time
from typing import TYPE_CHECKING, Any

from . import _lasthop
from .errors import UserError
from .record import Record, Summary, Tables, record_of
from .scenario import Scenario, Settings, Source, of, overrides_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    import pyarrow as pa
    import xarray
    from matplotlib.figure import Figure


def run(
    scenario: Source | Scenario,
    *,
    set: Settings = None,
    seed: int | None = None,
    on_progress: Callable[[float], object] | None = None,
    threads: int | None = None,
) -> Result:
    """Runs a scenario, given as a path, as TOML text or as dicts, and returns its result.

    ``set`` overrides values by their path, ``{"ap[0].price.a": "5 kB"}``; ``seed`` overrides
    the scenario's own; ``on_progress`` hears now and then how far the run has come, from 0 to 1.
    Parts of the network that share nothing go to ``threads``, by default one a core; the numbers
    are the same whatever there are.
    Raises :class:`lasthop.ScenarioError` where the scenario is wrong.
    """
    if threads is not None and threads < 1:
        raise UserError(f"threads = {threads}: wanted a positive number")
    text, directory, label = of(scenario)
    begun = time.perf_counter()
    native = _lasthop.run(text, directory, overrides_of(set), seed, on_progress, threads)
    wall_s = time.perf_counter() - begun
    return Result(record_of(native), directory=directory, label=label, wall_s=wall_s, native=native)


def emulate(
    scenario: Source | Scenario,
    command: Sequence[str] | None = None,
    *,
    set: Settings = None,
    seed: int | None = None,
    serve: Sequence[str] = (),
    station: str | None = None,
    flows: bool = False,
    proxy: bool = False,
    cc: str | None = None,
    ipv6: bool = False,
    offload: bool = False,
    log: str | os.PathLike[str] | None = None,
    user: str | None = None,
    privileged: bool = False,
    apart: bool = False,
    internet: bool = False,
    watch: str | None = None,
) -> Result:
    """Runs a scenario in real time, between real kernels, and returns its result.

    The ``command`` runs behind the network, at ``station``, until it ends; without one the
    scenario's flows run. ``serve`` names commands that run on the other side, ``flows`` has the
    flows run beside the command, ``proxy`` puts one agent in front of access points in the
    place of prices and receivers' laws, ``cc`` names the kernel's congestion control, ``log`` is
    the prefix of two files in mm-link's format. Commands run as ``user``, by default as the caller
    (also through ``sudo``), without root's capabilities unless ``privileged``; ``apart`` has them
    print on standard error, ``internet`` has the machine forward what comes from inside. ``watch``
    is where a page shows what runs, an address of this machine alone: ``"127.0.0.1:9470"``.
    ``result.status`` is the command's exit status, ``result.signal`` what ended the run,
    ``result.complaints`` what failed besides, and ``result.summary["emulation"]`` says how well
    time was kept: it is to be believed if ``faults`` in it is empty.
    Raises :class:`lasthop.ScenarioError` where the scenario or an option is wrong and
    :class:`lasthop.EmulationError` where the system does not give what it takes.
    """
    text, directory, label = of(scenario)
    begun = time.perf_counter()
    options = {
        "seed": seed,
        "command": None if command is None else list(command),
        "serve": list(serve),
        "station": station,
        "flows": flows,
        "proxy": proxy,
        "cc": cc,
        "ipv6": ipv6,
        "offload": offload,
        "log": log,
        "user": user,
        "privileged": privileged,
        "apart": apart,
        "internet": internet,
        "watch": watch,
    }
    native, end = _lasthop.emulate(text, directory, overrides_of(set), options)
    wall_s = time.perf_counter() - begun
    result = Result(record_of(native), directory=directory, label=label, wall_s=wall_s)
    result.status, result.signal, result.complaints = end
    return result


class Result:
    """What a run left behind; it can be looked at, drawn, written and run again."""

    def __init__(
        self,
        record: Record,
        *,
        directory: str,
        label: str,
        wall_s: float | None = None,
        native: _lasthop.RunResult | None = None,
        files: dict[str, bytes] | None = None,
    ) -> None:
        self._record = record
        self._files = files
        self._native = native
        self.directory = directory
        """Where trace files are looked up."""
        self.label = label
        """The name of the scenario's file."""
        self.wall_s = wall_s
        """Time that the run took, in seconds; None for a result read from a file."""
        self.status: int | None = None
        """Exit status of the command that an emulation ran; None without one."""
        self.signal: int | None = None
        """The signal that ended an emulation; None if none did."""
        self.complaints: list[str] = []
        """What failed besides: servers, and logs that could not be written."""

    @property
    def scenario(self) -> str:
        """The scenario that was run, overrides included, as TOML."""
        return self._record.scenario

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self._record.summary["seed"])

    @property
    def is_random(self) -> bool:
        """Whether anything hangs on the seed; true where that is not known, as after a read."""
        return self._native is None or self._native.is_random

    @property
    def summary(self) -> Summary:
        """The figures of the run, as ``lasthop run --json`` prints them."""
        return {**self._record.summary, "wall_s": self.wall_s}

    @property
    def flows(self) -> pd.DataFrame:
        """One row a flow: goodput, round-trip time, time-outs and so on."""
        from .tables import figures

        return _frame_of(figures(self._record.summary, "flows"), "flows")

    @property
    def queues(self) -> pd.DataFrame:
        """One row a queue: mean length and delay, losses, utilisation and so on."""
        return _frame_of(self._record.summary["queues"], "queues")

    @property
    def raw_tables(self) -> Tables:
        """The sampled tables as they came: table, column, (NumPy type, bytes)."""
        return self._record.tables

    @property
    def names(self) -> dict[str, list[str]]:
        """The names of flows and queues by their index in the tables."""
        return self._record.names

    @property
    def arrow(self) -> dict[str, pa.Table]:
        """The tables in Arrow, each column of numbers with its unit, null where nothing applies.

        ``flow`` and ``queue`` are the figures, the others the samples.
        """
        from .tables import fields, figures, sampled, table_of

        summary = self._record.summary
        return {
            "flow": table_of(figures(summary, "flows"), fields("flows")),
            "queue": table_of(summary["queues"], fields("queues")),
            **{name: sampled(columns, self.names) for name, columns in self.raw_tables.items()},
        }

    def to_arrow(self) -> pa.Table:
        """All tables as one long one, as it stands in a result's file."""
        from .tables import joined

        return joined(self.arrow)

    def to_xarray(self) -> xarray.Dataset:
        """The samples of flows and queues over ``time_s`` and their names (needs xarray)."""
        from .errors import UserError

        try:
            import xarray
        except ImportError as error:
            raise UserError("to_xarray: wanted xarray: pip install 'lasthop[xarray]'") from error
        from .tables import unit_of

        parts = []
        for group, index in (("flows", "flow"), ("queues", "queue")):
            if group in self.raw_tables:
                frame = self.table(group).drop(columns="time_ns").set_index(["time_s", index])
                parts.append(xarray.Dataset.from_dataframe(frame))
        if not parts:
            raise UserError(f'{self.label}: probe.every: wanted samples, e.g. "100 ms"')
        found = xarray.merge(parts)
        for name, variable in found.variables.items():
            variable.attrs["units"] = unit_of(str(name)) or "1"
        summary = self.summary
        found.attrs = {key: summary[key] for key in ("scenario", "seed", "version", "duration_s")}
        return found

    def files(self) -> dict[str, bytes]:
        """The trace files that the scenario reads, by the keys that name them."""
        from .bundle import pack

        return self._files if self._files is not None else pack(self.scenario, self.directory)

    def table(self, name: str) -> pd.DataFrame:
        """The sampled table ``flows`` or ``queues`` (needs ``[probe]``), or ``packets``.

        A window that nobody bounds is not a number.
        """
        return tables_of(self._record)[name]

    @property
    def table_names(self) -> list[str]:
        """The sampled tables that there are."""
        return sorted(self._record.tables)

    @property
    def title(self) -> str:
        """The title that the scenario gives itself, else its file's name."""
        return str(self.summary["scenario"] or self.label)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws throughput, queues and windows against time (needs ``[probe]``)."""
        from .overview import draw_results
        from .plot import save

        figure = draw_results([self])
        if path is not None:
            save(figure, path)
        return figure

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the result to a file that describes itself and can be run again."""
        from .archive import write_result

        write_result(self, path)

    def to_pcapng(self, path: str | os.PathLike[str], end: str = "sender") -> None:
        """Writes the packets at one ``end`` of the flows, ``sender`` or ``receiver``.

        A run without ``probe.packets = true``, or read from a file, is run once more for them.
        """
        from .archive import repeat
        from .atomic import replacing
        from .errors import UserError
        from .tables import honest

        if end not in ("sender", "receiver"):
            raise UserError(f"{end}: wanted sender or receiver")
        if self._record.summary.get("emulation"):
            raise UserError(f"{self.label}: an emulation keeps no packets: wanted a simulation")
        if self._native is None or "packets" not in self.raw_tables:
            self._native = repeat(self, (("probe.packets", "true"),))
            again = honest(json.loads(self._native.summary_json))
            if again["flows"] != self._record.summary["flows"]:
                raise UserError(f"{self.label}: another build gives other packets: wanted that of "
                                f"lasthop {self._record.summary['version']}")  # fmt: skip
        with replacing(path) as temporary:
            self._native.write_pcapng(temporary, end)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled and copied without the simulator's own part, which is made again if needed."""
        return {**self.__dict__, "_native": None}

    def _repr_html_(self) -> str:
        """For notebooks: the figures, and the picture where there are samples."""
        parts = [f"<p><b>{html.escape(self.title)}</b></p>"]
        parts += [
            frame.dropna(axis="columns", how="all").to_html(index=False, max_rows=40)
            for frame in (self.flows, self.queues)
        ]
        parts += [f"<p>note: {html.escape(note)}</p>" for note in self.summary.get("notes", ())]
        if "flows" in self.raw_tables:
            from .plot import svg_of

            parts.append(svg_of(self.plot()))
        return "\n".join(parts)

    def __repr__(self) -> str:
        flows, queues = self._record.summary["flows"], self._record.summary["queues"]
        return f"<lasthop.Result {self.label}: {len(flows)} flows, {len(queues)} queues>"


def tables_of(record: Record) -> dict[str, pd.DataFrame]:
    """The sampled tables of a record as data frames, with names for indices and time in s."""
    import numpy as np
    import pandas as pd

    from .tables import MAY_BE_UNBOUNDED, UNBOUNDED

    frames = {}
    for table, columns in record.tables.items():
        frame = pd.DataFrame(
            {name: np.frombuffer(raw, dtype=kind) for name, (kind, raw) in columns.items()}
        )
        for window in frame.columns.intersection(list(MAY_BE_UNBOUNDED)):
            frame[window] = frame[window].astype(float).where(frame[window] != UNBOUNDED)
        for index, group in (("flow", "flows"), ("queue", "queues")):
            if index in frame and record.names.get(group):
                frame[index] = pd.Categorical.from_codes(
                    frame[index].to_numpy().astype("int64"),
                    categories=pd.Index(record.names[group]),
                )
        if "time_ns" in frame:
            frame.insert(0, "time_s", frame["time_ns"] / 1e9)
        frames[table] = frame
    return frames


def _frame_of(rows: list[dict[str, Any]], group: str) -> pd.DataFrame:

    import pandas as pd

    frame = pd.DataFrame(rows)
    frame.index.name = group
    return frame
