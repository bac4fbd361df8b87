"""Several tests at once: p-values that keep the chance of any false alarm at the level asked."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the adjusted p-values, in the same order.

    Source:
        Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
        Statistics 6 (1979). Needs no independence of the tests, which share their turns.
    """
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    ascending = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, place in enumerate(ascending):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return tuple(adjusted)
