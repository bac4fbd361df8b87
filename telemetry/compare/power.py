"""What the data could have shown: the smallest difference, and the turns that a given one needs."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

POWER: Final = 0.8
"""Chance to find a difference of the size told. The usual choice: Cohen, Statistical Power Analysis
for the Behavioral Sciences (1988), section 2.4."""
MOST_TURNS: Final = 10_000_000
_HALVINGS: Final = 60
_NORMAL: Final = NormalDist()
_SURE: Final = _NORMAL.inv_cdf(POWER)


def detectable_rise(share: float, before: int, after: int, alpha: float) -> float:
    """Return the smallest rise from a share that is found with a chance of `POWER`.

    Args:
        share: Share on the side before, 0 to 1.
        before: Its sample size.
        after: Sample size of the side after.
        alpha: Two-sided significance level.

    Returns:
        The rise, 0 to 1; infinite when not even a rise to 1 would be found.

    Source:
        Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions (2003), section 4.2,
        with unequal sizes and without continuity correction.
    """
    low, high = share, 1.0
    if not before or not after or not _is_found(share, high, before, after, alpha):
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _is_found(share, middle, before, after, alpha):
            high = middle
        else:
            low = middle
    return high - share


def turns_for_rise(share: float, rise: float, alpha: float) -> int:
    """Return how many turns a side a rise from a share needs; at most `MOST_TURNS`."""
    to = min(share + rise, 1.0)
    low, high = 1, MOST_TURNS
    while low < high:
        middle = (low + high) // 2
        if _is_found(share, to, middle, middle, alpha):
            high = middle
        else:
            low = middle + 1
    return low


def detectable_shift(standard_error: float, alpha: float) -> float:
    """Return the smallest difference found with a chance of `POWER`, in the estimate's unit."""
    return (_NORMAL.inv_cdf(1 - alpha / 2) + _SURE) * standard_error


def turns_for_shift(detectable: float, wanted: float, before: int, after: int) -> int:
    """Return how many turns a side a difference needs, when as many more come on either.

    The standard error falls with the root of the harmonic size.
    """
    if not math.isfinite(detectable) or not wanted > 0:
        return MOST_TURNS
    harmonic = 2 / (1 / before + 1 / after)
    return min(MOST_TURNS, math.ceil(harmonic * (detectable / wanted) ** 2))


def _is_found(share: float, to: float, before: int, after: int, alpha: float) -> bool:
    if to <= share:
        return False
    pooled = (share * before + to * after) / (before + after)
    same = math.sqrt(pooled * (1 - pooled) * (1 / before + 1 / after))
    apart = math.sqrt(share * (1 - share) / before + to * (1 - to) / after)
    return to - share >= _NORMAL.inv_cdf(1 - alpha / 2) * same + _SURE * apart
