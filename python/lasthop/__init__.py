# SPDX-License-Identifier: MIT OR Apache-2.0
"""lasthop: TCP over a fading access link, simulated packet by packet.

    >>> import lasthop
    >>> result = lasthop.run("scenarios/four-flows-fast-clamp.toml", seed=1)
    >>> result.summary["fairness"]["jain"]
    >>> result.flows[["name", "goodput_bps", "timeouts"]]
    >>> result.table("queues")

The verbs are those of the command line: :func:`run`, :func:`emulate`, :func:`sweep`,
:func:`tune`, :func:`check`, :func:`read`, :func:`rerun`. Everything heavy is imported
when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._lasthop import EmulationError, ScenarioError, TraceError
    from .errors import UserError
    from .reading import read, rerun
    from .result import Result, emulate, run
    from .scenario import check, schema
    from .sweeps import Sweep, sweep
    from .tuning import Tuned, tune

    __version__: str

__all__ = [
    "EmulationError",
    "Result",
    "ScenarioError",
    "Sweep",
    "TraceError",
    "Tuned",
    "UserError",
    "__version__",
    "check",
    "emulate",
    "read",
    "rerun",
    "run",
    "schema",
    "sweep",
    "tune",
]

_HOMES = {
    "EmulationError": "_lasthop",
    "Result": "result",
    "ScenarioError": "_lasthop",
    "Sweep": "sweeps",
    "TraceError": "_lasthop",
    "Tuned": "tuning",
    "UserError": "errors",
    "check": "scenario",
    "emulate": "result",
    "read": "reading",
    "rerun": "reading",
    "run": "result",
    "schema": "scenario",
    "sweep": "sweeps",
    "tune": "tuning",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._lasthop import version

        return version()
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
