"""The state of each known failure by Prometheus: its rules, since when, and what they watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from agent.console import words
from agent.console.diagnosis import RANK, State, usual_threshold
from agent.console.guide import GuideAlert, GuideFailure
from telemetry.fetch import FetchError
from telemetry.prometheus_api import Prometheus

PROMETHEUS_SECONDS: Final = 5.0
"""Limit of each request; chosen by us: somebody waits for the page."""
_QUERIES_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reported:
    """An alert that is pending or firing, as Prometheus reports it."""

    is_firing: bool
    since: float
    """Unix time, seconds."""
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """An alerting rule as Prometheus evaluates it."""

    problem: str
    """What is wrong with the rule itself; empty when nothing is."""
    active: tuple[_Reported, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Active:
    """An alert that is pending or firing."""

    level: str
    reported: _Reported
    alert: GuideAlert


def prometheus_states(failures: Sequence[GuideFailure], url: str) -> dict[str, State]:
    """Return the state of every failure.

    Args:
        failures: Of the guide.
        url: Base URL of Prometheus.

    Raises:
        FetchError: It does not answer, or something else does.
    """
    server = Prometheus(url=url, timeout_seconds=PROMETHEUS_SECONDS)
    rules = server.read("rules?type=alert", _rules)
    with ThreadPoolExecutor(_QUERIES_AT_ONCE) as pool:
        states = pool.map(lambda failure: _state(failure, rules, server), failures)
        return {failure.slug: state for failure, state in zip(failures, states, strict=True)}


def _state(failure: GuideFailure, rules: Mapping[str, _Rule], server: Prometheus) -> State:
    limits = "; ".join(dict.fromkeys(usual_threshold(alert) for alert in failure.alerts[:2]))
    known = {alert.name: rules[alert.name] for alert in failure.alerts if alert.name in rules}
    active = [
        one for alert in failure.alerts if alert.name in known
        for one in _active(alert, known[alert.name])
    ]  # fmt: skip
    worst = max(active, key=lambda one: (RANK[one.level], -one.reported.since), default=None)
    doubt = "" if worst else _doubt(failure, known)
    if doubt:
        return State(level="unknown", signal="–", threshold=limits, seen_by=doubt)
    shown = worst.alert if worst else failure.alerts[0]
    alike = [one.reported for one in active if worst and one.level == worst.level]
    return State(
        level=worst.level if worst else "quiet",
        signal=_value(server, shown),
        threshold=limits,
        since=min((one.since for one in alike), default=None),
        where=", ".join(sorted({one.service for one in alike} - {""})),
    )


def _doubt(failure: GuideFailure, known: Mapping[str, _Rule]) -> str:
    """Say why nothing active does not mean that all is well; nothing when it does."""
    if not failure.in_prometheus:
        return "Grafana only"
    missing = [alert.name for alert in failure.alerts if alert.name not in known]
    if missing:
        return f"Prometheus has no rule {missing[0]}: load the generated rules"
    problems = [rule.problem for rule in known.values() if rule.problem]
    return f"the rule fails: {problems[0]}" if problems else ""


def _active(alert: GuideAlert, rule: _Rule) -> list[_Active]:
    return [
        _Active(level=alert.severity if one.is_firing else "pending", reported=one, alert=alert)
        for one in rule.active
    ]


def _rules(data: Any) -> dict[str, _Rule]:
    """Take the rules from a reply, by name."""
    return {
        rule["name"]: _Rule(
            problem=rule.get("lastError", "") if rule.get("health") == "err" else "",
            active=tuple(
                _reported(alert)
                for alert in rule.get("alerts") or ()
                if alert["state"] in ("firing", "pending")
            ),
        )
        for group in data["groups"]
        for rule in group["rules"]
    }


def _reported(alert: Any) -> _Reported:
    return _Reported(
        is_firing=alert["state"] == "firing",
        since=datetime.fromisoformat(alert["activeAt"]).timestamp(),
        service=alert["labels"].get("job", ""),
    )


def _numbers(data: Any) -> list[float]:
    """Take the values from the reply to a query."""
    return [float(series["value"][1]) for series in data["result"]]


def _value(server: Prometheus, alert: GuideAlert) -> str:
    """Return the largest value of what an alert watches."""
    try:
        numbers = server.read(f"query?{urlencode({'query': alert.value})}", _numbers)
    except FetchError:
        return "the query failed"
    if not numbers:
        return "no series"
    return words.share(max(numbers)) if alert.shows == "share" else words.estimated(max(numbers))
