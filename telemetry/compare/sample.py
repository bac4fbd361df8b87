"""Numbers of one side as distinct values and how often each came, from turns or from buckets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

MAX_DISTINCT: Final = 200
"""Distinct values kept for resampling. Chosen by us: the spread within 1/200 of the turns is far
below the spread between them."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """What was measured on one side."""

    values: Floats
    """Shape (n_distinct,), ascending, finite."""
    counts: Ints
    """Shape (n_distinct,), how often each value came, at least 1."""

    @classmethod
    def of(cls, numbers: Iterable[float]) -> Sample:
        """Return the sample of these numbers; those that are not finite are left out."""
        kept = np.array([number for number in numbers if math.isfinite(number)], dtype=np.float64)
        values, counts = np.unique(kept, return_counts=True)
        return cls(values, counts.astype(np.int64))

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean; NaN of nothing."""
        return float(self.values @ self.counts / self.total) if self.total else math.nan

    @property
    def variance(self) -> float:
        """Variance with n - 1; 0 of fewer than two numbers."""
        if self.total < 2:
            return 0.0
        return float((self.values - self.mean) ** 2 @ self.counts / (self.total - 1))

    def quantile(self, share: float) -> float:
        """Return the smallest value that at least `share` of the numbers do not exceed."""
        if not self.total:
            return math.nan
        reached = int(np.searchsorted(np.cumsum(self.counts), share * self.total - 1e-9))
        return float(self.values[min(reached, len(self.values) - 1)])


def aligned(before: Sample, after: Sample) -> tuple[Floats, Ints, Ints]:
    """Return the distinct values of both sides and how often each came on either.

    More than `MAX_DISTINCT` of them are merged, neighbours by their mean, so that the mean of all
    is kept.
    """
    values = np.union1d(before.values, after.values)
    sides = []
    for sample in (before, after):
        counts = np.zeros(len(values), dtype=np.int64)
        counts[np.searchsorted(values, sample.values)] = sample.counts
        sides.append(counts)
    if len(values) <= MAX_DISTINCT:
        return values, sides[0], sides[1]
    both = sides[0] + sides[1]
    group = (np.cumsum(both) - 1) * MAX_DISTINCT // both.sum()
    starts = np.flatnonzero(np.r_[True, np.diff(group) > 0])
    merged = np.add.reduceat(values * both, starts) / np.add.reduceat(both, starts)
    return merged, np.add.reduceat(sides[0], starts), np.add.reduceat(sides[1], starts)
