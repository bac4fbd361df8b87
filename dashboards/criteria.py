"""The numbers of each condition, for a program that judges by other data than Prometheus'."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from dashboards.conditions import (
    BURN_RATES,
    BURSTS_PER_WINDOW,
    Burns,
    Either,
    Exceeds,
    Happened,
    Rises,
    Share,
)
from dashboards.settings import Settings
from dashboards.signals import Signal, Z
from dashboards.special_conditions import FellSilent

Criterion = dict[str, Any]
"""`measure` names what is counted: a signal, else the failure itself. A share criterion holds when,
in one of its `windows` (and in the `burst_seconds` at its end, where given), the lower end of the
Wilson interval at `z` standard errors (0: the share itself) is above the limit, from at least
`min_events` of `min_total`. With `rise` the limit follows from the usual share b of the past,
`max(b + add, odds * b / (1 - b + odds * b))`: that of the `baseline_seconds` before the last
`delay_seconds`, with `weight` pseudo-events at `expected` added. A criterion with `more_than` holds
when one of its `windows`, in seconds, is empty and held more events than that `period_seconds`
earlier."""


@singledispatch
def criteria(_condition: object, _settings: Settings, _failure: str) -> list[Criterion]:
    """Return the criteria of a condition; it holds when one of them does.

    Args:
        _condition: Of an alert.
        _settings: Give the numbers; durations are scaled as in the rules.
        _failure: Slug of the alert's failure.

    Returns:
        None at all when numbers alone do not tell: only its query does.
    """
    return []


@criteria.register
def _(condition: Exceeds, settings: Settings, _: str) -> list[Criterion]:
    limit = settings.limit(condition.limit)
    return [_surely(condition.signal, settings, limit=limit, rise=None)]


@criteria.register
def _(condition: Rises, settings: Settings, _: str) -> list[Criterion]:
    if condition.after_change or condition.unless:
        return []
    rise = {
        "add": settings.limit(condition.margin.add),
        "odds": settings.limit(condition.margin.odds),
        "expected": settings.limit(condition.signal.expected or ""),
        "weight": settings.baseline_weight,
        "baseline_seconds": settings.baseline_window * settings.time_scale,
        "delay_seconds": settings.baseline_delay * settings.time_scale,
    }
    return [_surely(condition.signal, settings, limit=None, rise=rise)]


@criteria.register
def _(condition: Either, settings: Settings, failure: str) -> list[Criterion]:
    return [one for part in condition.of for one in criteria(part, settings, failure)]


@criteria.register
def _(condition: Happened, settings: Settings, failure: str) -> list[Criterion]:
    window = _window(settings, settings.limit(condition.window), 0.0)
    return [_plain(failure, [window], min_events=1)]


@criteria.register
def _(condition: Share, settings: Settings, failure: str) -> list[Criterion]:
    limit = settings.limit(condition.limit)
    window = _window(settings, settings.limit(condition.window), limit)
    return [_plain(failure, [window], min_events=settings.min_rare)]


@criteria.register
def _(condition: Burns, settings: Settings, failure: str) -> list[Criterion]:
    windows = [
        _window(settings, settings.limit(window), condition.limit_of(settings, factor))
        | {"burst_seconds": settings.range_seconds(settings.limit(window) / BURSTS_PER_WINDOW)}
        for window, factor in BURN_RATES
    ]
    return [_plain(failure, windows, min_events=settings.min_rare)]


@criteria.register
def _(_condition: FellSilent, settings: Settings, failure: str) -> list[Criterion]:
    return [
        {
            "measure": failure,
            "windows": [settings.range_seconds(window) for window in settings.windows],
            "more_than": settings.traffic_expected,
            "period_seconds": settings.period * settings.time_scale,
        }
    ]


def _surely(
    signal: Signal, settings: Settings, *, limit: float | None, rise: dict[str, float] | None
) -> Criterion:
    return {
        "measure": signal.slug,
        "z": Z,
        "min_events": settings.min_events,
        "min_total": settings.min_total,
        "windows": [_window(settings, window, limit) for window in settings.windows],
        "rise": rise,
    }


def _plain(measure: str, windows: list[dict[str, Any]], *, min_events: int) -> Criterion:
    return {
        "measure": measure,
        "z": 0,
        "min_events": min_events,
        "min_total": 0,
        "windows": windows,
        "rise": None,
    }


def _window(settings: Settings, window: float, limit: float | None) -> dict[str, Any]:
    rounded = None if limit is None else round(limit, 10)
    return {"seconds": settings.range_seconds(window), "limit": rounded, "burst_seconds": None}
