# SPDX-License-Identifier: MIT OR Apache-2.0
"""Claims of a paper, checked over several seeds.

Each seed gives one value. Their mean stands with a 95 % confidence interval (Student's t). A
claim holds if the whole interval lies in its band, fails if it lies wholly outside, and is open
otherwise: then the seeds do not tell, and more of them may. The band of an ``order`` is one side of
a threshold: "less" must be less for certain.

Values that do not depend on the seed have no interval and are called deterministic. One seed tells
nothing of that, so it leaves any claim open, and so does a scale (the length of the runs) at
which the claim cannot be checked. No verdict depends on what was expected.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Verdict = Literal["holds", "fails", "open"]


ONE_SEED = "one seed gives no confidence interval"
FEW_SEEDS = "the interval reaches over the edge of the band"
"""Why a claim is open that more seeds may decide."""


class Estimate(NamedTuple):
    """A mean with its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Claim:
    """What a paper says, as a number with a tolerance or as an order."""

    id: str
    figure: str
    claim: str
    reference: float | None
    """What the runs gave on which the band was set."""
    band: tuple[float, float]
    kind: Literal["number", "order"] = "number"
    unit: str = ""
    expected: Literal["holds", "fails"] = "holds"
    why: str = ""
    scales: tuple[str, ...] = ("quick", "full")
    """The lengths of runs at which it can be checked."""
    measure: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What is measured (:mod:`lasthop.lab.measures`)."""


@dataclass(frozen=True)
class Checked:
    """A claim with what was measured and the verdict."""

    claim: Claim
    estimate: Estimate | None
    seeds: int
    scale: str
    verdict: Verdict
    why: str

    @property
    def deterministic(self) -> bool:
        """Whether all seeds gave the same value."""
        return self.estimate is not None and self.estimate.low == self.estimate.high

    @property
    def undecided(self) -> bool:
        """Whether more seeds may decide it."""
        return self.verdict == "open" and self.why in (FEW_SEEDS, ONE_SEED)

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one; an open one contradicts nothing."""
        return self.verdict in ("open", self.claim.expected)

    def as_json(self) -> dict[str, Any]:
        """The entry of ``claims.json``; an open side of a band is null."""
        estimate = self.estimate
        return {
            "id": self.claim.id,
            "figure": self.claim.figure,
            "claim": self.claim.claim,
            "reference": self.claim.reference,
            "band": [_finite(edge) for edge in self.claim.band],
            "value": _finite(estimate.value) if estimate else None,
            "ci": [None, None]
            if estimate is None or self.deterministic
            else [_finite(estimate.low), _finite(estimate.high)],
            "deterministic": self.deterministic,
            "seeds": self.seeds,
            "scale": self.scale,
            "verdict": self.verdict,
            "expected": self.claim.expected,
            "why": self.why,
        }


def check(claim: Claim, values: Sequence[float], scale: str) -> Checked:
    """Judges a claim by one value a seed."""
    estimate = mean_interval(values) if values else None
    verdict, why = _judge(claim, estimate, len(values), scale)
    return Checked(claim, estimate, len(values), scale, verdict, why or claim.why)


def _judge(claim: Claim, estimate: Estimate | None, seeds: int, scale: str) -> tuple[Verdict, str]:
    if scale not in claim.scales:
        return "open", f"needs --scale {' or '.join(claim.scales)}"
    if estimate is None or math.isnan(estimate.value):
        return "open", "not measured"
    if seeds < 2:
        return "open", ONE_SEED
    low, high = claim.band
    if low <= estimate.low and estimate.high <= high:
        return "holds", ""
    if estimate.high < low or high < estimate.low:
        return "fails", ""
    return "open", FEW_SEEDS


def mean_interval(values: Sequence[float]) -> Estimate:
    """The mean and its 95 % confidence interval by Student's t; NaN limits for one value."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Estimate(mean, math.nan, math.nan)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = student_t(count - 1) * math.sqrt(variance / count)
    return Estimate(mean, mean - half, mean + half)


def student_t(degrees: int) -> float:
    """The 97.5 % point of Student's t distribution.

    Bisects the distribution function, a finite sum for whole degrees of freedom
    (Abramowitz and Stegun 26.7.3 and 26.7.4).
    """
    low, high = 0.0, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        if _two_sided(middle, degrees) < 0.95:
            low = middle
        else:
            high = middle
    return high


def _two_sided(t: float, degrees: int) -> float:
    """The probability that |T| ≤ t."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine_squared = math.cos(angle) ** 2
    odd = degrees % 2 == 1
    term, total = (math.cos(angle), 0.0) if odd else (1.0, 0.0)
    for step in range(1 + odd, degrees, 2):
        total += term
        term *= cosine_squared * step / (step + 1)
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
