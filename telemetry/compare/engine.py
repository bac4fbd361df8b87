"""Whether the search itself changed: the same query, asked on both sides, brings other scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import numpy as np
from scipy.stats import chi2_contingency

from telemetry.compare.chain import Shape
from telemetry.compare.observed import Observed


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What equal queries say about the search."""

    FEWEST: ClassVar[int] = 10
    """Equal queries that are enough to tell; chosen by us."""
    SHARE: ClassVar[float] = 0.05
    """Of the equal queries, whose score must have moved; chosen by us: a few move when a document
    is edited."""
    LEVEL: ClassVar[float] = 0.01
    """Significance of a change of first scores, where too few queries are equal."""

    shared: int
    """Distinct queries asked on both sides."""
    moved: int
    """Those whose best score fell into another bin."""
    first_scores_p: float
    """p-value of "first scores are distributed alike"."""

    @property
    def scores_moved(self) -> bool:
        """Whether first scores are distributed otherwise than before."""
        return self.first_scores_p < self.LEVEL

    @property
    def is_changed(self) -> bool:
        """Whether the search brings other results than before."""
        if self.shared < self.FEWEST:
            return self.scores_moved
        return self.moved > self.SHARE * self.shared


def engine_of(before: Sequence[Observed], after: Sequence[Observed], shape: Shape) -> Engine:
    """Compare the searches of two sides."""
    first, second = _bins(before, shape), _bins(after, shape)
    shared = first.keys() & second.keys()
    return Engine(
        shared=len(shared),
        moved=sum(abs(first[key] - second[key]) >= 1 for key in shared),
        first_scores_p=_first_scores_p(before, after, shape),
    )


def _bins(turns: Sequence[Observed], shape: Shape) -> dict[str, float]:
    """Return the median score bin of each query."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for turn in turns:
        for step in turn.steps:
            if step.query_hash is not None:
                found[step.query_hash].append(shape.bin(step))
    return {key: median(bins) for key, bins in found.items()}


def _first_scores_p(before: Sequence[Observed], after: Sequence[Observed], shape: Shape) -> float:
    table = np.array(
        [
            np.bincount([shape.bin(turn.steps[0]) for turn in turns], minlength=shape.bins)
            for turns in (before, after)
        ]
    )
    table = table[:, table.sum(axis=0) > 0]
    return float(chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0
