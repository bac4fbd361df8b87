"""A histogram that sorts what it observed into its buckets when somebody looks.

A turn observes some thirty values, and `Histogram.observe` takes two locks and a walk through the
buckets for each. Here a value is put down in one step, and those that wait are sorted together.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import suppress
from math import isnan
from typing import Final

from prometheus_client import Histogram
from prometheus_client.samples import Sample

MANY: Final = 1024
"""Values that may wait. Chosen by us: 32 kB a series when nobody scrapes."""


class Distribution(Histogram):
    """A histogram of one process; workers that share files need every value at once.

    An observation with an exemplar is sorted in at once.
    """

    _waiting: deque[float] | None = None
    """None in a family, whose labelled series observe."""

    def _metric_init(self) -> None:
        super()._metric_init()
        self._waiting = deque()

    def observe(self, amount: float, exemplar: dict[str, str] | None = None) -> None:
        """Observe a value.

        Args:
            amount: The value, in the unit of the metric.
            exemplar: Labels of the trace it came from.

        Raises:
            TypeError: The value is no number.
            ValueError: This is the family of labelled series, not one of them.
        """
        waiting = self._waiting
        if exemplar or waiting is None:
            super().observe(amount, exemplar)
            return
        waiting.append(0.0 + amount)  # what is no number fails here, not whoever scrapes
        if len(waiting) >= MANY:
            self._sort()

    def _child_samples(self) -> Iterable[Sample]:
        self._sort()
        return super()._child_samples()

    def _sort(self) -> None:
        """Add what waits to the sum and the buckets; each value is taken by one thread."""
        waiting = self._waiting
        values: list[float] = []
        with suppress(IndexError):
            while waiting:
                values.append(waiting.popleft())
        if values:
            self._sum.inc(sum(values))
            bounds = self._upper_bounds
            places = [bisect_left(bounds, v) for v in values if not isnan(v)]  # nan is in no bucket
            for place, count in Counter(places).items():
                self._buckets[place].inc(count)
