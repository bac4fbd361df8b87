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
from telemetry.fetch import FetchError, fetch

PROMETHEUS_SECONDS: Final = 5.0
_QUERIES_AT_ONCE: Final = 8
_STRANGE: Final = (LookupError, TypeError, ValueError, AttributeError)
"""What the reply of something else leads to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """An alerting rule as Prometheus evaluates it."""

    problem: str
    """What is wrong with the rule itself; empty when nothing is."""
    active: tuple[Mapping[str, Any], ...]
    """Its alerts that are pending or firing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Active:
    """An alert that is pending or firing."""

    level: str
    since: float
    service: str
    alert: GuideAlert


def prometheus_states(failures: Sequence[GuideFailure], url: str) -> dict[str, State]:
    """Return the state of every failure.

    Args:
        failures: Of the guide.
        url: Base URL of Prometheus.

    Raises:
        FetchError: It does not answer, or something else does.
    """
    url = url.rstrip("/")
    try:
        rules = _rules(url)
        with ThreadPoolExecutor(_QUERIES_AT_ONCE) as pool:
            states = pool.map(lambda failure: _state(failure, rules, url), failures)
            return {failure.slug: state for failure, state in zip(failures, states, strict=True)}
    except _STRANGE as error:
        raise _not_prometheus(url) from error


def _state(failure: GuideFailure, rules: Mapping[str, _Rule], url: str) -> State:
    limits = "; ".join(dict.fromkeys(usual_threshold(alert) for alert in failure.alerts[:2]))
    known = {alert.name: rules[alert.name] for alert in failure.alerts if alert.name in rules}
    active = [
        one for alert in failure.alerts if alert.name in known
        for one in _active(alert, known[alert.name])
    ]  # fmt: skip
    worst = max(active, key=lambda one: (RANK[one.level], -one.since), default=None)
    doubt = "" if worst else _doubt(failure, known)
    if doubt:
        return State(level="unknown", signal="–", threshold=limits, seen_by=doubt)
    shown = worst.alert if worst else failure.alerts[0]
    alike = [one for one in active if worst and one.level == worst.level]
    return State(
        level=worst.level if worst else "quiet",
        signal=_value(url, shown),
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
        _Active(
            level=alert.severity if one["state"] == "firing" else "pending",
            since=_unix(one["activeAt"]),
            service=one["labels"].get("job", ""),
            alert=alert,
        )
        for one in rule.active
        if one["state"] in ("firing", "pending")
    ]


def _unix(moment: str) -> float:
    """Return a time as Prometheus writes it, as Unix time."""
    return datetime.fromisoformat(moment).timestamp()


def _rules(url: str) -> dict[str, _Rule]:
    groups = _data(f"{url}/api/v1/rules?type=alert", "groups")
    return {
        rule["name"]: _Rule(
            problem=rule.get("lastError", "") if rule.get("health") == "err" else "",
            active=tuple(rule.get("alerts") or ()),
        )
        for group in groups
        for rule in group["rules"]
    }


def _value(url: str, alert: GuideAlert) -> str:
    """Return the largest value of what an alert watches."""
    try:
        found = _data(f"{url}/api/v1/query?{urlencode({'query': alert.value})}", "result")
    except FetchError:
        return "the query failed"
    numbers = [float(series["value"][1]) for series in found]
    if not numbers:
        return "no series"
    return words.share(max(numbers)) if alert.shows == "share" else words.estimated(max(numbers))


def _data(address: str, part: str) -> list[dict[str, Any]]:
    reply = fetch(address, timeout_seconds=PROMETHEUS_SECONDS).json()
    try:
        return list(reply["data"][part])
    except _STRANGE as error:
        raise _not_prometheus(address) from error


def _not_prometheus(address: str) -> FetchError:
    return FetchError(
        f"{address} is not answered as by Prometheus", "Check LOOPSCOPE_PROMETHEUS_URL."
    )
