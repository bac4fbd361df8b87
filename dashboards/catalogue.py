"""The guide for machines: every failure with its signals, alerts and places, as one JSON file."""

from __future__ import annotations

import json
from typing import Any, Final

from dashboards.criteria import criteria
from dashboards.failure import FAILURES_BOARD_UID, Alert, Failure
from dashboards.failures import FAILURES
from dashboards.settings import Settings
from dashboards.signals import Signal
from dashboards.wording import filled

PATH: Final = "failures.json"


def files(settings: Settings) -> dict[str, str]:
    """Return path -> text of the catalogue."""
    content = {
        "about": "Generated from dashboards/failures.py by `loopscope dashboards generate`.",
        "group_by": list(settings.group_by),
        "time_scale": settings.time_scale,
        "board_uid": FAILURES_BOARD_UID,
        "failures": [_failure(failure, settings) for failure in FAILURES],
    }
    return {PATH: json.dumps(content, indent=2, ensure_ascii=False) + "\n"}


def _failure(failure: Failure, settings: Settings) -> dict[str, Any]:
    return {
        "slug": failure.slug,
        "title": failure.title,
        "sentence": failure.sentence,
        "hurts": failure.hurts,
        "panel": {
            "id": failure.panel.id, "title": failure.panel.title, "unit": failure.panel.unit,
        },
        "runbook": f"{failure.slug}.md",
        "traces": filled(failure.traces, settings),
        "first_steps": [filled(step, settings) for step in failure.diagnosis],
        "commands": [filled(command, settings) for command in failure.commands],
        "consequences": list(failure.consequences),
        "evaluated_by": list(failure.hosts),
        "signals": [_signal(signal, settings) for signal in failure.signals()],
        "alerts": [_alert(failure, alert, settings) for alert in failure.alerts],
    }  # fmt: skip


def _signal(signal: Signal, settings: Settings) -> dict[str, Any]:
    thresholds = {
        margin.tier: signal.recorded(f"threshold_{margin.tier}", settings)
        for margin in signal.margins
    }
    return {
        "slug": signal.slug,
        "share_of": signal.what,
        "out_of": signal.out_of,
        "edge": _edge(signal, settings),
        "expected": settings.limit(signal.expected) if signal.expected else None,
        "windows": [settings.range(window) for window in settings.windows],
        "events": signal.recorded("events", settings),
        "total": signal.recorded("total", settings),
        "lower_bound": signal.lower(settings),
        "baseline": signal.recorded("baseline", settings) if signal.expected else None,
        "thresholds": thresholds,
    }


def _edge(signal: Signal, settings: Settings) -> float | None:
    """Return the value that an event of a histogram lies below, or above where it is taken off."""
    counts = (signal.events, signal.events.less)
    edges = [settings.limit(count.le) for count in counts if count is not None and count.le]
    return edges[0] if edges else None


def _alert(failure: Failure, alert: Alert, settings: Settings) -> dict[str, Any]:
    return {
        "name": failure.alert_name(alert),
        "uid": failure.alert_uid(alert, settings),
        "severity": settings.severity(alert.tier),
        "cause": alert.cause,
        "query": alert.condition.expr(settings),
        "value": alert.condition.value(settings),
        "shows": alert.condition.shows,
        "criteria": criteria(alert.condition, settings, failure.slug),
        "condition": alert.condition.told(settings),
        "for": settings.span(alert.pending_seconds),
        "keep_firing_for": settings.span(alert.keep_seconds),
        "runbook_url": failure.runbook_url(alert, settings),
    }
