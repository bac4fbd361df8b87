"""The same questions asked twice: exact test, interval, and what so many could have shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scipy.stats import binom, t

from telemetry.compare.rates import CONFIDENCE, Interval, critical
from telemetry.compare.verdict import ALPHA

MATTERS: Final = 0.10
"""Drop of the share right that a comparison should be able to show, as in `loopscope compare`."""
_MOST: Final = 100_000
"""Questions beyond which it is not asked how many more would do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """How many questions went which way."""

    total: int
    lost: int
    """Right before and wrong after."""
    won: int
    """Wrong before and right after."""

    @property
    def difference(self) -> float:
        """Share right after minus before, -1 to 1; NaN of nothing."""
        return (self.won - self.lost) / self.total if self.total else math.nan


def p_value(lost: int, won: int) -> float:
    """Return the two-sided p-value of "as many are lost as won"; 1 when none is either.

    Source:
        McNemar, Note on the sampling error of the difference between correlated proportions or
        percentages, Psychometrika 12 (1947), as the exact binomial test of the questions that
        went either way.
    """
    return min(1.0, 2 * float(binom.cdf(min(lost, won), lost + won, 0.5)))


def interval(pairs: Paired, confidence: float = CONFIDENCE) -> Interval:
    """Return the interval of the difference of the shares right, within -1 to 1.

    Source:
        Agresti and Min, Simple improved confidence intervals for comparing matched proportions,
        Statistics in Medicine 24 (2005): half a question is added to each of the four cells.
    """
    total, gain = pairs.total + 2, pairs.won - pairs.lost
    spread = math.sqrt(pairs.lost + pairs.won + 1 - gain**2 / total) / total
    half = critical(confidence) * spread
    return Interval(max(gain / total - half, -1.0), min(gain / total + half, 1.0))


def detectable(total: int, won: int) -> float:
    """Return the smallest drop of the share right that the test could have called sure.

    Args:
        total: Questions asked twice.
        won: Those won all the same: noise, or what the change did well.

    Returns:
        Share of the questions, 0 to 1; infinite when even the loss of all would not do.
    """
    lost = _fewest_sure(won)
    return (lost - won) / total if 0 < lost + won <= total else math.inf


def needed(total: int, won: int) -> int:
    """Return how many more questions would show a drop of `MATTERS`, at the same share won."""
    size = max(total, 1)
    while size < _MOST and detectable(size, round(won * size / max(total, 1))) > MATTERS:
        size += max(1, size // 100)
    return size - total


def mean_interval(numbers: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Return Student's interval of a mean; unbounded for fewer than two numbers."""
    total = len(numbers)
    if total < 2:
        return Interval(-math.inf, math.inf)
    mean = math.fsum(numbers) / total
    variance = math.fsum((number - mean) ** 2 for number in numbers) / (total - 1)
    half = float(t.ppf(0.5 + confidence / 2, total - 1)) * math.sqrt(variance / total)
    return Interval(mean - half, mean + half)


def _fewest_sure(won: int) -> int:
    lost = won + 1
    while p_value(lost, won) > ALPHA:
        lost += 1
    return lost
