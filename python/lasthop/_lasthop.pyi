# SPDX-License-Identifier: MIT OR Apache-2.0
"""The compiled half of lasthop (``crates/py``)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

class ScenarioError(ValueError):
    """The scenario is wrong; the message names key, value and what is wanted."""

class TraceError(ValueError):
    """A trace file is wrong; the message names file, line and what is wanted."""

class RunResult:
    """What one run left behind."""

    @property
    def summary_json(self) -> str:
        """The summary as one JSON object."""
    @property
    def tables(self) -> dict[str, dict[str, tuple[str, bytes]]]:
        """Sampled columns: table, column, (NumPy type, little-endian bytes)."""
    @property
    def names(self) -> tuple[list[str], list[str]]:
        """Names of the flows and of the queues by their index in the tables."""
    @property
    def scenario(self) -> str:
        """The scenario that was run, overrides included, as TOML."""
    @property
    def is_random(self) -> bool:
        """Whether anything depends on the seed."""
    def write_pcapng(self, path: str, end: str) -> None:
        """Writes the packets of one end of the flows, ``sender`` or ``receiver``."""

def run(
    text: str,
    directory: str,
    overrides: Sequence[tuple[str, str]],
    seed: int | None = None,
    on_progress: Callable[[float], object] | None = None,
    threads: int | None = None,
) -> RunResult:
    """Runs a scenario to its end without the GIL; ``on_progress`` hears how far it is, 0 to 1.

    Parts of the network that share nothing go to ``threads``, by default one a core.
    """

class EmulationError(RuntimeError):
    """The system does not give what an emulation takes; the message says what."""

def emulate(
    text: str, directory: str, overrides: Sequence[tuple[str, str]], options: Mapping[str, object]
) -> tuple[RunResult, tuple[int | None, int | None, list[str]]]:
    """Emulates; with the command's exit status, the signal that ended it, and complaints."""

def check(text: str, directory: str, overrides: Sequence[tuple[str, str]]) -> str:
    """Validates a scenario and returns it with the overrides applied."""

def schema() -> str:
    """The JSON Schema of scenario files."""

def summary_schema() -> str:
    """The JSON Schema of a run's summary."""

def quantity(text: str) -> tuple[float, str] | None:
    """A value as a number in plain units, and the ending of a column of such values."""

def version() -> str:
    """The version of the simulator."""

def trace(path: str) -> tuple[str, bytes, float | None]:
    """Reads a trace: its opportunities in ms, as (NumPy type, bytes).

    Of rows ``time_s,rate_bps`` also the time in s that became 0.
    """

def throughput(
    loss: float,
    rtt_s: float,
    timeout_s: float,
    *,
    alpha: float = 1.0,
    beta: float = 0.5,
    packets_per_ack: float = 1.0,
) -> float:
    """The throughput of TCP(alpha, beta) in packets/s at a loss rate (gamma eq. 1)."""

def friendly_alpha(beta: float) -> float:
    """The alpha that makes TCP(alpha, beta) as fast as TCP (gamma eq. 3)."""

def gamma(threshold: float, min_rtt_s: float, max_rtt_s: float) -> float:
    """Gamma as a share of the window (gamma eq. 16)."""

def congestion_epoch(alpha: float, beta: float, window: float) -> float:
    """Round trips from one decrease of a window to the next (gamma eq. 4)."""

def recovery_epoch(alpha: float, window: float) -> float:
    """Round trips from the least window to ``window`` (gamma eq. 14)."""

def knee_cliff_beta(rate: float, rtt_s: float, buffer: float) -> tuple[float, float, float]:
    """Knee and cliff in packets, and the beta between them (gamma eq. 8, 12, 13)."""

def dumbbell_state(rate: float, rtt_s: float, buffer: float, cwnd: float) -> tuple[float, float]:
    """Throughput in packets/s and queueing delay in s of windows in all (gamma eq. 7, 10, 11)."""

def settling_time(alpha: float, beta: float) -> float | None:
    """Seconds to QFCP's steady state in the model of qfcp Table I; none: for ever."""

def clamp_equilibrium(a_bytes: float, b: float, tau_bytes: float, flows: float) -> float:
    """Bytes at which CLAMP's queue rests with so many flows, or a sum of weights (clamp eq. 11)."""

SHARE_TARGET_S: float
"""T, g and θ of the share window, where nothing else is said."""
SHARE_G: float
SHARE_THETA_S: float

def share_wait(target_s: float, g: float, kappa: float, delay_s: float) -> float:
    """Seconds that the share window's queue takes at rest (beyond eq. 15)."""

def jain(values: Sequence[float]) -> float | None:
    """Jain's index (qfcp eq. 12); none without a positive value."""

def frame_error(snr: float, worst: float, lower_snr: float, upper_snr: float) -> float:
    """Probability of a frame error at a signal-to-noise ratio (clamp-report §V, Fig. 2)."""

def square_root_window(loss: float) -> float:
    """TCP's mean window in packets at a loss rate, by the square-root law."""

def xcp_standing_queue(
    told_bps: float, carried_bps: float, rtt_s: float, *, alpha: float = 0.4, beta: float = 0.226
) -> float | None:
    """Bytes that stand at an XCP router told too high a capacity; none: they have no end."""

class Loop:
    """CLAMP's loop near its rest."""

    def __init__(
        self,
        delays_s: Sequence[float],
        weights: Sequence[float],
        scale: str,
        mixing: str,
        queueing_s: float,
        price_s: float,
        average: float | None,
    ) -> None: ...
    def critical_b(self, upto: float) -> float | None:
        """The least b up to ``upto`` with which it swings for ever; none: it returns with all."""
    def critical_b_by_integration(self, upto: float, tolerance: float) -> float | None:
        """The same by integration of the fluid."""
    def unstable_roots(self, b: float) -> int:
        """Roots of the characteristic equation to the right of the imaginary axis."""

def fluid_trajectory(
    wanted: Mapping[str, object],
    start: float | Sequence[float],
    duration_s: float,
    step_s: float,
    every: int,
) -> dict[str, Any]:
    """The fluid over time: columns, those of flows a list a flow."""

def averaged_critical_b(delay_s: float, scale_s: float, gain: float) -> float:
    """The critical b of one flow behind the router's average, in closed form."""

def two_flows_critical_b(one_s: float, other_s: float) -> float:
    """The critical b of the older law with two flows, in closed form (clamp-report eq. 27)."""
