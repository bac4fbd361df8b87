"""The shift between two sides by ranks: for times, where a few very slow turns say little."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.stats import binom

from telemetry.compare.rates import CONFIDENCE, Interval, critical, two_sided
from telemetry.compare.sample import Sample

_HALVINGS: Final = 60


def p_value(before: Sample, after: Sample) -> float:
    """Return the two-sided p-value of "both sides are distributed alike"; 1 of too little.

    Source:
        Mann and Whitney, Annals of Mathematical Statistics 18 (1947); variance with ties and
        continuity correction as in Lehmann, Nonparametrics (1975), section 1.4.
    """
    deviation = _deviation(before, after)
    if not deviation:
        return 1.0
    below = np.r_[0, np.cumsum(before.counts)]
    less = below[np.searchsorted(before.values, after.values, side="left")]
    at_most = below[np.searchsorted(before.values, after.values, side="right")]
    wins = float((less + at_most) @ after.counts) / 2
    distance = abs(wins - before.total * after.total / 2) - 0.5
    return two_sided(max(distance, 0.0) / deviation)


def shift(before: Sample, after: Sample) -> float:
    """Return the Hodges-Lehmann estimate: the median of all differences `after` minus `before`."""
    if not before.total or not after.total:
        return math.nan
    pairs = before.total * after.total
    return (
        _difference(before, after, (pairs + 1) // 2) + _difference(before, after, pairs // 2 + 1)
    ) / 2


def shift_interval(before: Sample, after: Sample, confidence: float = CONFIDENCE) -> Interval:
    """Return the interval of the shift that the rank test does not reject.

    Source:
        Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963); Lehmann, Nonparametrics
        (1975), section 2.6.
    """
    pairs = before.total * after.total
    reach = critical(confidence) * _deviation(before, after)
    rank = math.floor(pairs / 2 - reach)
    if not pairs or rank < 1:
        return Interval(-math.inf, math.inf)
    return Interval(_difference(before, after, rank), _difference(before, after, pairs + 1 - rank))


def median_interval(sample: Sample, confidence: float = CONFIDENCE) -> Interval:
    """Return the interval of the median between two order statistics.

    Source:
        Conover, Practical Nonparametric Statistics (1999), section 3.2.
    """
    if not sample.total:
        return Interval(-math.inf, math.inf)
    low, high = binom.ppf([0.5 - confidence / 2, 0.5 + confidence / 2], sample.total, 0.5)
    if low < 1 or high >= sample.total:
        return Interval(-math.inf, math.inf)
    return Interval(sample.quantile(low / sample.total), sample.quantile((high + 1) / sample.total))


def _deviation(before: Sample, after: Sample) -> float:
    """Return the standard deviation of the Mann-Whitney statistic, ties counted."""
    n, m = before.total, after.total
    total = n + m
    if not n or not m or total < 3:
        return 0.0
    values, place = np.unique(np.r_[before.values, after.values], return_inverse=True)
    tied = np.zeros(len(values))
    np.add.at(tied, place, np.r_[before.counts, after.counts].astype(float))
    ties = float((tied**3 - tied).sum()) / (total * (total - 1))
    return math.sqrt(max(n * m / 12 * (total + 1 - ties), 0.0))


def _difference(before: Sample, after: Sample, rank: int) -> float:
    """Return the difference of that rank, 1 for the smallest, without making all of them."""
    below = np.r_[0, np.cumsum(before.counts)]

    def at_most(bound: float) -> int:
        place = np.searchsorted(before.values, after.values - bound, side="left")
        return int((before.total - below[place]) @ after.counts)

    low = float(after.values[0] - before.values[-1])
    high = float(after.values[-1] - before.values[0])
    if at_most(low) >= rank:
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if at_most(middle) >= rank:
            high = middle
        else:
            low = middle
    return high
