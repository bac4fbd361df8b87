"""How long an alert takes from the first bad minute: the conditions replayed on even traffic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from dashboards.conditions import (
    BURN_RATES,
    BURSTS_PER_WINDOW,
    Burns,
    Condition,
    Either,
    Exceeds,
    Happened,
    Rises,
    Share,
    threshold_at,
)
from dashboards.failure import Alert
from dashboards.settings import Settings
from dashboards.signals import Z

Counts = Callable[[float], tuple[float, float]]
"""Window, in seconds as evaluated -> events and total in it."""

LONGEST_SECONDS: Final = 24 * 3600.0
"""Real-time seconds after which an alert counts as not raised."""


def wilson_lower(events: float, total: float) -> float:
    """Return the lower end of the Wilson interval at `Z` standard errors, 0 to 1.

    Args:
        events: Events, at most `total`.
        total: More than 0.

    Source:
        Wilson (1927), JASA 22, 209-212; equal to the recorded `wilson_lower`.
    """
    spread = math.sqrt(max(0.0, events * (total - events)) / total + Z * Z / 4)
    return (events + Z * Z / 2 - Z * spread) / (total + Z * Z)


def seconds_to_fire(
    alert: Alert, settings: Settings, *, per_second: float, affected: float
) -> float | None:
    """Return the seconds from the first bad event until the alert fires.

    Before, the share was the usual one (0 where none is usual). Traffic is even, so a real case
    takes somewhat more or less. Alertmanager's wait is not included.

    Args:
        alert: An alert whose condition is about counts.
        settings: Limits and times; seconds are scaled as theirs are.
        per_second: What the share is a share of, a second; above 0.
        affected: Share, 0 to 1, of what used to go well that goes wrong after the start.

    Returns:
        Seconds, rounded up to evaluations; None when it never fires within a day of real time, or
        the condition is not about counts.
    """
    usual = _usual(alert.condition, settings)
    if usual is None:
        return None
    share, every = usual + affected * (1 - usual), settings.evaluation_seconds
    for step in range(1, math.ceil(LONGEST_SECONDS * settings.time_scale / every)):
        now = step * every

        def counts(window: float, now: float = now) -> tuple[float, float]:
            bad = min(now, window)
            events = per_second * (share * bad + usual * (window - bad))
            return events, per_second * window

        if _holds(alert.condition, counts, settings):
            return now + alert.pending_seconds * settings.time_scale
    return None


def _usual(condition: Condition, settings: Settings) -> float | None:
    if isinstance(condition, Either):
        return _usual(condition.of[0], settings)
    if isinstance(condition, Rises):
        return settings.limit(condition.signal.expected or "")
    return 0.0 if isinstance(condition, (Exceeds, Share, Burns, Happened)) else None


def _holds(condition: Condition, counts: Counts, settings: Settings) -> bool:
    if isinstance(condition, Either):
        return any(_holds(part, counts, settings) for part in condition.of)
    if isinstance(condition, Rises):
        add, odds = (settings.limit(f) for f in (condition.margin.add, condition.margin.odds))
        baseline = settings.limit(condition.signal.expected or "")
        return _lower(counts, settings) > threshold_at(baseline, add, odds)
    if isinstance(condition, Exceeds):
        return _lower(counts, settings) > settings.limit(condition.limit)
    if isinstance(condition, Burns):
        return any(
            _burns(condition, counts, settings, settings.limit(window), factor)
            for window, factor in BURN_RATES
        )
    if isinstance(condition, Share):
        events, total = counts(settings.range_seconds(settings.limit(condition.window)))
        few = events <= settings.min_rare - 0.5
        return not few and events / total > settings.limit(condition.limit)
    events, _ = counts(settings.range_seconds(settings.window_medium))
    return events >= 1


def _burns(
    condition: Burns, counts: Counts, settings: Settings, window: float, factor: float
) -> bool:
    limit = condition.limit_of(settings, factor)
    spans = [settings.range_seconds(w) for w in (window, window / BURSTS_PER_WINDOW)]
    enough = counts(spans[0])[0] > settings.min_rare - 0.5
    return enough and all(events / total > limit for events, total in map(counts, spans))


def _lower(counts: Counts, settings: Settings) -> float:
    """Return the highest lower bound of the windows that hold enough events."""
    found = [counts(settings.range_seconds(window)) for window in settings.windows]
    return max(
        (
            wilson_lower(events, total)
            for events, total in found
            if total >= settings.min_total - 0.5 and events >= settings.min_events - 0.5
        ),
        default=0.0,
    )
