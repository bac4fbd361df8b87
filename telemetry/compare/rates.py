"""A share and its uncertainty, and the difference of two shares: closed forms and one test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from scipy.stats import fisher_exact

CONFIDENCE: Final = 0.95
"""Of every interval shown."""
_FEW: Final = 5.0
"""Expected counts below which the score test is replaced by Fisher's. Source: Cochran, Some methods
for strengthening the common chi-square tests, Biometrics 10 (1954)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Rate:
    """`hits` of `total` did something."""

    hits: int
    total: int

    @property
    def share(self) -> float:
        """Share of hits, 0 to 1; NaN of nothing."""
        return self.hits / self.total if self.total else math.nan


def critical(confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of the normal distribution, 1.96 for 95 %."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def two_sided(deviations: float) -> float:
    """Return the chance of a normal number at least so many standard deviations from its mean."""
    return math.erfc(deviations / math.sqrt(2))


def wilson(rate: Rate, confidence: float = CONFIDENCE) -> Interval:
    """Return the score interval of a share; 0 to 1 when nothing was seen.

    Source:
        Wilson, Probable inference, the law of succession, and statistical inference, JASA 22
        (1927). scipy has the same number behind an exact test that costs a thousand times more.
    """
    if not rate.total:
        return Interval(0.0, 1.0)
    z, n, p = critical(confidence), rate.total, rate.share
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At none and all the bound is exact; floats would leave 1e-17.
    low = 0.0 if rate.hits == 0 else middle - half
    high = 1.0 if rate.hits == n else middle + half
    return Interval(low, high)


def newcombe(before: Rate, after: Rate, confidence: float = CONFIDENCE) -> Interval:
    """Return the hybrid score interval of `after` minus `before`, within -1 to 1.

    Source:
        Newcombe, Interval estimation for the difference between independent proportions,
        Statistics in Medicine 17 (1998), method 10.
    """
    if not before.total or not after.total:
        return Interval(-1.0, 1.0)
    first, second = wilson(before, confidence), wilson(after, confidence)
    difference = after.share - before.share
    down = math.hypot(after.share - second.low, first.high - before.share)
    up = math.hypot(second.high - after.share, before.share - first.low)
    return Interval(difference - down, difference + up)


def p_value(before: Rate, after: Rate) -> float:
    """Return the two-sided p-value of "both shares are the same"; 1 when nothing can be told.

    The score test (chi-square without correction), which the interval above inverts nearly;
    Fisher's exact test where a count below 5 would be expected.
    """
    if not before.total or not after.total:
        return 1.0
    hits, total = before.hits + after.hits, before.total + after.total
    if hits in (0, total):
        return 1.0
    fewest = min(before.total, after.total) * min(hits, total - hits) / total
    if fewest < _FEW:
        table = [[rate.hits, rate.total - rate.hits] for rate in (before, after)]
        return float(min(1.0, fisher_exact(table).pvalue))
    pooled = hits / total
    variance = pooled * (1 - pooled) * (1 / before.total + 1 / after.total)
    return two_sided(abs(after.share - before.share) / math.sqrt(variance))
