"""The state of each known failure, counted from turn records or asked of Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from agent.console import words
from agent.console.guide import GuideAlert, GuideFailure
from agent.review.estimate import wilson
from telemetry.fetch import FetchError, fetch
from telemetry.records import RecordReader, Selection

WINDOWS: Final[Mapping[str, int]] = {"15 min": 900, "1 h": 3_600, "6 h": 21_600}
"""As of the guide's rules, seconds."""
SURE_Z: Final = 3.0
"""Standard errors of the guide's intervals."""
MIN_EVENTS: Final = 5
MIN_TOTAL: Final = 10
"""The guide says nothing of fewer."""
PROMETHEUS_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One failure now."""

    level: str
    """`page`, `ticket`, `quiet`, `unknown`."""
    signal: str
    """What was measured, in words."""
    threshold: str
    seen_by: str
    """Where it comes from, when it is only there; else empty."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Turns of one window by what happened in them."""

    by_end: Mapping[tuple[str, str], int]
    """(outcome, last grade) -> turns."""
    findings: Mapping[str, int]
    rewritten: int
    """Turns with a rewrite."""
    rewritten_twice: int

    def ended(self, *outcomes: str, last_grade: str | None = None) -> int:
        """Return how many turns ended so; without outcomes, all."""
        return sum(
            turns
            for (outcome, grade), turns in self.by_end.items()
            if (not outcomes or outcome in outcomes) and last_grade in (None, grade)
        )


Signal = Callable[[Counts], tuple[int, int]]
"""Counts -> (turns that show the failure, turns that could)."""
SIGNALS: Final[Mapping[str, Signal]] = {
    "silent_rejection": lambda c: (c.ended("off_topic"), c.ended()),
    "runaway_loop": lambda c: (c.ended("recursion_limit"), c.ended()),
    "budget_checked_first": lambda c: (
        c.ended("no_results", last_grade="pass"), c.ended("no_results")),
    "synonym_swap": lambda c: (c.findings.get("synonym_swap", 0), c.rewritten),
    "rewrite_drift": lambda c: (c.findings.get("rewrite_drift", 0), c.rewritten_twice),
    "no_results_jump": lambda c: (
        c.ended("no_results"), c.ended("answered", "no_results", "gave_up")),
    "answered_without_evidence": lambda c: (
        c.ended("answered", last_grade="fail"), c.ended("answered")),
    "revise_at_cap": lambda c: (
        c.findings.get("revise_at_cap", 0), c.ended("answered", "gave_up")),
    "turn_errors": lambda c: (c.ended("error"), c.ended()),
}  # fmt: skip
"""What turn records tell of a failure: turns, where the guide's metrics may count rewrites."""
COUNTED: Final = {
    "synonym_swap": "turns with a synonym swap, of turns that rewrote",
    "rewrite_drift": "turns that drifted, of turns with two rewrites",
}
SHOWN_BY: Final[Mapping[str, Selection]] = {
    "silent_rejection": Selection(outcome="off_topic"),
    "runaway_loop": Selection(outcome="recursion_limit"),
    "budget_checked_first": Selection(outcome="no_results", last_grade="pass"),
    "synonym_swap": Selection(finding="synonym_swap"),
    "rewrite_drift": Selection(finding="rewrite_drift"),
    "no_results_jump": Selection(outcome="no_results"),
    "answered_without_evidence": Selection(outcome="answered", last_grade="fail"),
    "revise_at_cap": Selection(finding="revise_at_cap"),
    "score_not_rising": Selection(finding="score_not_rising"),
    "stale_critique": Selection(finding="stale_critique"),
    "turn_errors": Selection(outcome="error"),
}
"""The turns that show a failure."""


def counts(reader: RecordReader, since: float) -> Counts:
    """Return the turns begun since a time (Unix, seconds), by what happened in them.

    Raises:
        TelemetryError: The records cannot be read.
    """
    ends = reader.aggregate(["outcome", "last_grade"], Selection(since=since))
    found = reader.aggregate(["finding"], Selection(since=since))
    return Counts(
        by_end={(str(g.key[0]), str(g.key[1])): g.turns for g in ends},
        findings={str(g.key[0]): g.turns for g in found},
        rewritten=reader.count(Selection(since=since, min_rewrites=1)),
        rewritten_twice=reader.count(Selection(since=since, min_rewrites=2)),
    )


def from_records(failure: GuideFailure, by_window: Mapping[str, Counts]) -> State:
    """Return a failure's state by the turn records.

    Args:
        failure: Of the guide.
        by_window: The counts of `WINDOWS`, by their names.
    """
    measure = SIGNALS.get(failure.slug)
    threshold = "; ".join(_threshold(alert) for alert in failure.alerts[:2])
    if measure is None:
        return State(level="unknown", signal="–", threshold=threshold, seen_by="metrics only")
    seen = [
        (_level(failure.alerts, events, total), events / total if total else 0.0, events, total, w)
        for w, counted in by_window.items()
        for events, total in [measure(counted)]
    ]
    level, share, events, total, window = max(seen, key=lambda s: (_RANK[s[0]], s[1], s[3]))
    worst = f"{words.share(share if total else None)} ({events:,} of {total:,}) in {window}"
    if not any(counted.ended() for counted in by_window.values()):
        return State(level="unknown", signal="no turn in 6 h", threshold=threshold, seen_by="")
    return State(level=level, signal=worst, threshold=threshold, seen_by="")


_RANK: Final = {"unknown": -1, "quiet": 0, "ticket": 1, "page": 2}


def _level(alerts: Sequence[GuideAlert], events: int, total: int) -> str:
    found = "quiet"
    for alert in alerts:
        if alert.limit is not None:
            fires = (
                events >= MIN_EVENTS
                and total >= MIN_TOTAL
                and wilson(events / total, total, SURE_Z)[0] > alert.limit
            )
        else:
            fires = alert.shows == "count" and events > 0
        if fires and _RANK[alert.severity] > _RANK[found]:
            found = alert.severity
    return found


def _threshold(alert: GuideAlert) -> str:
    if alert.limit is not None:
        return f"{alert.severity} surely above {alert.limit * 100:g} %"
    return (
        f"{alert.severity} at the first"
        if alert.shows == "count"
        else f"{alert.severity}: see its rule"
    )


def from_prometheus(failures: Sequence[GuideFailure], url: str) -> dict[str, State]:
    """Return the state of every failure by Prometheus: its alerts and their values.

    Args:
        failures: Of the guide.
        url: Base URL of Prometheus.

    Raises:
        FetchError: It does not answer.
    """
    firing = {
        series["metric"].get("alertname"): series["metric"].get("alertstate")
        for series in _query(url, 'ALERTS{alertname=~"Rag.*"}')
    }
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda f: _value(url, f.alerts[0]), failures))
    return {
        failure.slug: State(
            level=_worst(failure, firing),
            signal=value,
            threshold="; ".join(_threshold(alert) for alert in failure.alerts[:2]),
            seen_by="",
        )
        for failure, value in zip(failures, values, strict=True)
    }


def _worst(failure: GuideFailure, firing: Mapping[Any, Any]) -> str:
    levels = [a.severity for a in failure.alerts if firing.get(a.name) == "firing"]
    return max(levels, key=_RANK.__getitem__, default="quiet")


def _value(url: str, alert: GuideAlert) -> str:
    try:
        numbers = [float(series["value"][1]) for series in _query(url, alert.value)]
    except FetchError:
        return "the query failed"
    if not numbers:
        return "no series"
    return words.share(max(numbers)) if alert.shows == "share" else f"{max(numbers):,.4g}"


def _query(url: str, promql: str) -> list[dict[str, Any]]:
    address = f"{url.rstrip('/')}/api/v1/query?query={quote(promql)}"
    reply = fetch(address, timeout_seconds=PROMETHEUS_SECONDS).json()
    try:
        return list(reply["data"]["result"])
    except (KeyError, TypeError) as error:
        raise FetchError(f"{url} is no Prometheus", "Check LOOPSCOPE_PROMETHEUS_URL.") from error
