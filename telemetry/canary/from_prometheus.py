"""The counts of a rollout from Prometheus: what its counters gained, over replicas and restarts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from telemetry import names
from telemetry.canary.counts import (
    CANARY,
    HISTORY_SECONDS,
    NOT_STARTED,
    SETTLE_SECONDS,
    STABLE,
    Rollout,
    Tally,
    Versions,
)
from telemetry.canary.measures import BY_NAME, REWROTE, SLOW, SLOW_SHARE
from telemetry.compare.counted import WORKED, Counted, measure
from telemetry.compare.counters import Counters, Gain, Series
from telemetry.compare.from_prometheus import LOOK_BACK, PrometheusSource, is_meant, slices
from telemetry.compare.rates import Rate
from telemetry.compare.verdict import FEWEST
from telemetry.compare.window import Window
from telemetry.durations import seconds
from telemetry.errors import CompareInputError
from telemetry.prometheus_api import Prometheus

_STEP_SECONDS: Final = 15
"""How exactly the first turn of a version is looked for."""
_Weights = dict[str, tuple[int, int]]
"""Measure -> hits and observations that one count of a series means."""


class PrometheusWatch:
    """Reads the counters of both versions, look by look; each sample is fetched once.

    Args:
        server: Who is asked.
        graph: Which graph; None for the only one.
        job: Which job; None for the only one.
        versions: The stable version and the canary's.
        since: When the canary came, Unix time, seconds; None for its first turn of the last day.
        slow_seconds: A longer turn is slow, an edge of the histogram; None for the one that nine
            of ten stable turns stayed below.

    Raises:
        CompareInputError: `slow_seconds` is no edge.
    """

    def __init__(
        self,
        server: Prometheus,
        graph: str | None,
        job: str | None,
        versions: Versions,
        *,
        since: float | None = None,
        slow_seconds: float | None = None,
    ) -> None:
        if slow_seconds is not None and slow_seconds not in names.TURN_DURATION_BUCKETS:
            edges = ", ".join(f"{edge:g}" for edge in names.TURN_DURATION_BUCKETS)
            raise CompareInputError(
                "--slow", slow_seconds, f"one of {edges}", "Counters know no other durations."
            )
        self._named = (server, graph, job)
        self._sides = tuple(Window(labels={names.LABEL_VERSION: one}) for one in versions)
        self._versions, self._since, self._slow = versions, since, slow_seconds
        self._source: PrometheusSource | None = None
        self._counters = Counters()
        self._tally: Tally | None = None
        self._reached = -math.inf
        self._weights: dict[Series, _Weights] = {}

    def read(self, now: float) -> Rollout:
        """Read on, as `Source` says."""
        if self._source is None:
            past = now - seconds(LOOK_BACK)
            self._source = PrometheusSource.of(*self._named, past, now)
        if self._tally is None:
            self._tally = self._begin(self._source, now)
        if self._tally is None:
            return NOT_STARTED
        for start, end in slices(self._reached, now):
            self._add(self._tally, self._source.read(self._counters, start, end))
            self._reached = end
        return self._tally.rollout(now - SETTLE_SECONDS, self._slow)

    def _begin(self, source: PrometheusSource, now: float) -> Tally | None:
        """Read what was before the canary came; None when it was not seen yet."""
        seen = self._first_seen(source, now)
        if self._versions[STABLE] not in seen:
            raise CompareInputError(
                "--stable", self._versions[STABLE], f"one of {sorted(seen)[:20]}",
                "Name a version that had turns within the last day.",
            )  # fmt: skip
        since = self._since if self._since is not None else seen.get(self._versions[CANARY])
        if since is None:
            return None
        start = since - HISTORY_SECONDS
        counters, gains = source.counters(start), list[Gain]()
        for part in slices(start, since):
            gains += source.read(counters, *part)
        if self._slow is None:
            self._slow = self._usual(gains)
        tally = Tally(since)
        self._add(tally, gains)
        self._counters, self._reached = counters, since
        return tally

    def _first_seen(self, source: PrometheusSource, now: float) -> dict[str, float]:
        """Return when each version first had turns within the last day, not later than that."""
        turns = f"sum by ({names.LABEL_VERSION}) ({source.selector(names.TURNS)})"
        stamps = f"timestamp({turns} > 0)"
        first: dict[str, float] = {}
        for found in source.query(f"min_over_time({stamps}[{LOOK_BACK}:{_STEP_SECONDS}s])", now):
            version = found.labels.get(names.LABEL_VERSION, "")
            first[version] = found.points[-1][1] - _STEP_SECONDS
        return first

    def _usual(self, gains: Sequence[Gain]) -> float | None:
        """Return the edge that nine of ten stable turns stayed below before the canary came."""
        stable = Counted(gain for gain in gains if is_meant(gain, self._sides[STABLE]))
        bounds, _ = stable.buckets(names.TURN_DURATION, names.OUTCOME_GROUPS)
        total = bounds.get(math.inf, 0.0)
        if total < FEWEST:
            return None
        reached = [edge for edge, count in bounds.items() if count >= (1 - SLOW_SHARE) * total]
        return reached[0] if math.isfinite(reached[0]) else None

    def _add(self, tally: Tally, gains: Iterable[Gain]) -> None:
        for gain in gains:
            if gain.series not in self._weights:
                self._weights[gain.series] = weights(gain.series, self._slow)
            told = self._weights[gain.series]
            if not told:
                continue
            for side, window in enumerate(self._sides):
                if is_meant(gain, window):
                    for name, (hits, total) in told.items():
                        tally.add(gain.at, side, name, hits * gain.amount, total * gain.amount)


def weights(series: Series, slow_seconds: float | None) -> _Weights:
    """Return what one count of a series means: every measure is a sum over the series."""
    name, outcome = series["__name__"], series[names.LABEL_OUTCOME]
    if name == names.TURNS:
        _, measured = measure([Gain(series, 0.0, 1.0, None)])
        return {
            of: (rate.hits, rate.total)
            for of, rate in measured.items()
            if of in BY_NAME and isinstance(rate, Rate) and rate.total
        }
    if name == f"{names.REWRITES_PER_TURN}_bucket" and outcome in WORKED:
        return _above(REWROTE, series, names.REWRITES_BUCKETS[0])
    if name == f"{names.TURN_DURATION}_bucket" and slow_seconds is not None:
        return _above(SLOW, series, slow_seconds)
    return {}


def _above(name: str, series: Series, edge: float) -> _Weights:
    """Return the observations above an edge: all of the histogram less those up to it."""
    upper = float(series["le"])
    if upper == edge:
        return {name: (-1, 0)}
    return {name: (1, 1)} if math.isinf(upper) else {}
