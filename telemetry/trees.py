"""Boosted decision trees, read from plain numbers: what `benchmarks/train_drift.py` has fitted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray


class TreeNumbers(TypedDict):
    """The trees of a model as JSON has them, all of one depth d."""

    start: float
    features: list[list[int]]
    thresholds: list[list[float]]
    values: list[list[float]]


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """A sum of decision trees that gives the log-odds of one class."""

    start: float
    """Log-odds before any tree speaks."""
    features: NDArray[np.intp]
    """Column that each inner node reads, shape (n_trees, 2^d - 1), level by level."""
    thresholds: NDArray[np.float64]
    """A value up to this goes left; the same shape."""
    values: NDArray[np.float64]
    """Log-odds that each leaf adds, shape (n_trees, 2^d), left to right."""

    @classmethod
    def read(cls, numbers: TreeNumbers) -> BoostedTrees:
        """Read the trees from JSON."""
        return cls(
            start=numbers["start"],
            features=np.array(numbers["features"], dtype=np.intp),
            thresholds=np.array(numbers["thresholds"]),
            values=np.array(numbers["values"]),
        )

    def probability(self, row: Sequence[float]) -> float:
        """Return the probability of the class for one row of evidence, 0 to 1.

        Args:
            row: The columns that the trees were fitted on, finite.
        """
        goes_right = np.array(row).take(self.features) > self.thresholds
        n_trees, n_inner = goes_right.shape
        roots = np.arange(0, n_trees * n_inner, n_inner)
        node = np.zeros(n_trees, dtype=np.intp)
        for _ in range(n_inner.bit_length()):
            node = 2 * node + 1 + goes_right.take(roots + node)
        first_leaves = np.arange(0, n_trees * (n_inner + 1), n_inner + 1)
        odds = self.start + float(self.values.take(first_leaves + node - n_inner).sum())
        return 1 / (1 + math.exp(-odds))
