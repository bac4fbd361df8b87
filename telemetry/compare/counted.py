"""The measures of a side from what counters and histograms gained."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np

from telemetry import names
from telemetry.compare.counters import Gain, Series
from telemetry.compare.observed import FAILED, UNFINISHED
from telemetry.compare.rates import Rate
from telemetry.compare.sample import Sample

HISTOGRAMS: Final = (names.REWRITES_PER_TURN, names.LLM_CALLS_PER_TURN, names.TURN_DURATION)
COUNTERS: Final = (
    names.TURNS, names.TOPIC_CHECKS, names.RETRIEVALS, names.REWRITES, names.ANSWERED_AFTER_DRIFT,
)  # fmt: skip
METRICS: Final = (
    *COUNTERS, *(f"{name}_{part}" for name in HISTOGRAMS for part in ("bucket", "sum")),
)  # fmt: skip
"""Names of the series that are read, besides `rag_build_info`."""
WORKED: Final = (names.ANSWERED, names.NO_RESULTS)
"""Outcome groups of the turns that rewrites are counted of."""
_SPREAD: Final = 10
"""Points over which the turns of a bucket are spread evenly, as `histogram_quantile` does."""


class Counted:
    """Sums of gains by their labels."""

    def __init__(self, gains: Iterable[Gain]) -> None:
        self._sums: defaultdict[Series, float] = defaultdict(float)
        for gain in gains:
            self._sums[gain.series] += gain.amount

    def total(self, name: str, is_meant: Callable[[Series], bool] = lambda _: True) -> int:
        """Return how often it was counted."""
        return round(
            sum(
                amount
                for series, amount in self._sums.items()
                if series["__name__"] == name and is_meant(series)
            )
        )

    def buckets(self, name: str, outcomes: tuple[str, ...]) -> tuple[dict[float, float], float]:
        """Return the cumulative counts by upper bound, and the sum, of a histogram."""
        bounds: defaultdict[float, float] = defaultdict(float)
        total = 0.0
        for series, amount in self._sums.items():
            if series[names.LABEL_OUTCOME] not in outcomes:
                continue
            if series["__name__"] == f"{name}_bucket":
                bounds[float(series["le"])] += amount
            elif series["__name__"] == f"{name}_sum":
                total += amount
        return dict(sorted(bounds.items())), total


def measure(gains: Iterable[Gain]) -> tuple[int, dict[str, Rate | Sample]]:
    """Return how many turns ended by themselves, and every measure that counters hold."""
    counted = Counted(gains)

    def turns(*outcomes: str, searched: bool = False) -> int:
        return counted.total(
            names.TURNS,
            lambda series: (
                series[names.LABEL_OUTCOME] in (outcomes or _ENDED)
                and (not searched or series[names.LABEL_RETRIEVED] == names.YES)
            ),
        )

    ended, answered = turns(), turns(names.ANSWERED)
    unsure = counted.total(names.TOPIC_CHECKS, _is_unsure_refusal)
    drifted = counted.total(names.ANSWERED_AFTER_DRIFT)
    measured: dict[str, Rate | Sample] = {
        "no_results": Rate(turns(names.NO_RESULTS, searched=True), turns(searched=True)),
        "off_topic": Rate(turns(names.OFF_TOPIC), ended),
        "off_topic_unsure": Rate(min(unsure, ended), ended),
        "failed": Rate(turns(*FAILED), ended),
        "answered": Rate(answered, ended),
        "empty_search": _first(counted, names.RETRIEVALS, "0", names.LABEL_RESULT, names.EMPTY),
        "synonym_swap": _first(
            counted, names.REWRITES, "1", names.LABEL_EFFECT, names.SAME_CHUNKS_AND_SCORES
        ),
        "answered_after_drift": Rate(min(drifted, answered), answered),
        "rewrites": counts(*counted.buckets(names.REWRITES_PER_TURN, WORKED)),
        "llm_calls": counts(*counted.buckets(names.LLM_CALLS_PER_TURN, names.OUTCOME_GROUPS)),
        "duration": times(counted.buckets(names.TURN_DURATION, names.OUTCOME_GROUPS)[0]),
    }
    return ended, measured


_ENDED: Final = tuple(outcome for outcome in names.OUTCOMES if outcome not in UNFINISHED)


def _is_unsure_refusal(series: Series) -> bool:
    return (
        series[names.LABEL_CLASSIFICATION] == names.IRRELEVANT
        and series[names.LABEL_CONFIDENCE] == names.CONFIDENCES[-1]
    )


def _first(counted: Counted, name: str, attempt: str, label: str, value: str) -> Rate:
    """Return how often the first of a turn was so: later ones are no independent observations."""

    def is_first(series: Series) -> bool:
        return series[names.LABEL_ATTEMPT] == attempt and series[label] != names.ERROR

    hits = counted.total(name, lambda series: is_first(series) and series[label] == value)
    return Rate(hits, counted.total(name, is_first))


def counts(bounds: Mapping[float, float], total: float) -> Sample:
    """Return whole numbers from buckets: their mean is exact, their spread that of the buckets.

    Args:
        bounds: Upper bound -> cumulative count.
        total: Sum of all numbers.
    """
    values, numbers = [], []
    lower, reached = -0.5, 0.0
    for bound, cumulative in bounds.items():
        values.append((lower + 0.5 + bound - 0.5) / 2 if np.isfinite(bound) else lower + 0.5)
        numbers.append(max(round(cumulative - reached), 0))
        lower, reached = bound, cumulative
    kept = np.array(numbers, dtype=np.int64)
    grouped = float(np.array(values) @ kept)
    scaled = np.array(values, dtype=np.float64) * (total / grouped if grouped else 1.0)
    return Sample(scaled[kept > 0], kept[kept > 0])


def times(bounds: Mapping[float, float]) -> Sample:
    """Return times from buckets, spread evenly within each; beyond the last, its lower bound."""
    numbers: defaultdict[float, int] = defaultdict(int)
    lower, reached = 0.0, 0.0
    for bound, cumulative in bounds.items():
        count = max(round(cumulative - reached), 0)
        for point in range(_SPREAD):
            part = count * (point + 1) // _SPREAD - count * point // _SPREAD
            width = bound - lower if np.isfinite(bound) else 0.0
            numbers[lower + width * (point + 0.5) / _SPREAD] += part
        lower, reached = bound, cumulative
    kept = sorted((value, count) for value, count in numbers.items() if count)
    return Sample(
        np.array([value for value, _ in kept], dtype=np.float64),
        np.array([count for _, count in kept], dtype=np.int64),
    )
