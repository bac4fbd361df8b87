"""Recording and alerting rules in Prometheus' own form: one file a failure, its groups inside."""

from __future__ import annotations

from typing import Any

from dashboards import durations
from dashboards.failure import Alert, Failure, recordings_by_group
from dashboards.failures import FAILURES
from dashboards.settings import Settings
from dashboards.signals import Recording
from dashboards.wording import alert_texts
from dashboards.yaml_text import dump


def files(settings: Settings) -> dict[str, str]:
    """Return path -> text of every rule file."""
    return {
        f"prometheus/{failure.slug}.yml": dump(
            {"groups": groups(failure, settings)}, about=failure.title
        )
        for failure in prometheus_failures()
    }


def prometheus_failures() -> list[Failure]:
    """Return the failures whose alerts Prometheus can evaluate."""
    return [failure for failure in FAILURES if "prometheus" in failure.hosts]


def groups(failure: Failure, settings: Settings) -> list[dict[str, Any]]:
    """Return the failure's rule groups: recordings first, then the alerts built on them."""
    interval = durations.text(settings.evaluation_seconds)
    return [
        {
            "name": name,
            "interval": interval,
            "rules": [
                *(_recording(recording) for recording in recordings),
                *(_alert(failure, alert, settings) for alert in alerts),
            ],
        }
        for name, recordings, alerts in recordings_by_group(failure, settings)
    ]


def _recording(recording: Recording) -> dict[str, Any]:
    rule: dict[str, Any] = {"record": recording.name, "expr": recording.expr}
    return {**rule, "labels": dict(recording.labels)} if recording.labels else rule


def _alert(failure: Failure, alert: Alert, settings: Settings) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "alert": failure.alert_name(alert),
        "expr": alert.condition.expr(settings),
    }
    if alert.pending_seconds:
        rule["for"] = settings.span(alert.pending_seconds)
    if alert.keep_seconds:
        rule["keep_firing_for"] = settings.span(alert.keep_seconds)
    rule["labels"] = failure.labels(alert, settings)
    rule["annotations"] = alert_texts(failure, alert, settings, "prometheus")
    return rule
