# SPDX-License-Identifier: MIT OR Apache-2.0
"""Claims of a paper, checked over several seeds.

Each seed gives one value. Their mean stands with a 95 % confidence interval (Student's t). A
claim holds if the whole interval lies in its band, fails if it lies wholly outside, and is open
otherwise: then the seeds do not tell, and more of them may. Where they hardly would
(:func:`chance_to_decide`) none are run, and the claim says so and stays open. The band of an
``order`` is one side of a threshold: "less" must be less for certain.

Values that do not depend on the seed have no interval and are called deterministic. One seed tells
nothing of that, so it leaves any claim open, and so does a scale (the length of the runs) at
which the claim cannot be checked. No verdict depends on what was expected.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

Verdict = Literal["holds", "fails", "open"]


ONE_SEED = "one seed gives no confidence interval"
FEW_SEEDS = "the interval reaches over the edge of the band"
"""Why a claim is open that more seeds may decide."""
HOPELESS = 0.2
"""With a smaller chance to be decided by all seeds that may be run, a claim is left open."""


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

    def left_open(self, chance: float, most: int) -> "Checked":
        """The same with the reason for which no more seeds are run."""
        return replace(
            self, why=f"{FEW_SEEDS}, and {most} seeds would decide it with a chance of {chance:.0%}"
        )

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


def chance_to_decide(claim: Claim, values: Sequence[float], most: int) -> float:
    """The chance that ``most`` values decide a claim of which these are the first.

    That is that their interval lies within the band, or wholly outside. It is foreseen from the
    deviation s of these n values alone: the mean of all N is off theirs by s √(1/n - 1/N) times
    Student's t with n - 1 degrees of freedom, and the interval is as wide as N values of this
    deviation make it. (The predictive power of Spiegelhalter, Freedman and Blackburn,
    Controlled Clinical Trials 7, 1986, with a flat prior. What the looks between would decide
    is left out.) 1 where fewer than two values say nothing of s.
    """
    count = len(values)
    if count < 2 or count >= most:
        return 1.0
    mean = math.fsum(values) / count
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    half = student_t(most - 1) * deviation / math.sqrt(most)
    spread = deviation * math.sqrt(1 / count - 1 / most)
    if not spread > 0:
        return 1.0
    low, high = claim.band

    def below(value: float) -> float:
        """The chance of a mean below this."""
        t = (value - mean) / spread
        return 0.5 + math.copysign(_two_sided(abs(t), count - 1) / 2, t)

    holds = max(0.0, below(high - half) - below(low + half))
    return holds + below(low - half) + 1 - below(high + half)


def mean_interval(values: Sequence[float]) -> Estimate:
    """The mean and its 95 % confidence interval by Student's t; NaN limits for one value."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Estimate(mean, math.nan, math.nan)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = student_t(count - 1) * math.sqrt(variance / count)
    return Estimate(mean, mean - half, mean + half)


def foreseen(values: Sequence[float]) -> Estimate:
    """The mean and the interval in which one more value lies with 95 %; NaN limits for one value.

    By Student's t as :func:`mean_interval`, with √(1 + 1/n) in the place of √(1/n) (Hahn and
    Meeker, Statistical Intervals, 1991, section 4.7).
    """
    mean, low, _ = mean_interval(values)
    half = (mean - low) * math.sqrt(len(values) + 1)
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
