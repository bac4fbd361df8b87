"""The state of each known failure by the turn records: the guide's criteria, applied to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agent.console import words
from agent.console.guide import (
    GuideAlert,
    GuideFailure,
    ShareCriterion,
    SilenceCriterion,
)
from agent.console.measures import MEASURES, Turns
from agent.review.estimate import wilson
from telemetry.records import RecordReader, Selection

RANK: Final = {"unknown": -1, "quiet": 0, "pending": 1, "ticket": 2, "page": 3}
"""Level of a state -> how much it matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One failure now."""

    level: str
    """One of `RANK`; `pending` is what an alert is that waits whether it lasts."""
    signal: str
    """What was measured, in words."""
    threshold: str
    seen_by: str = ""
    """Where it comes from, when it is only there; else empty."""
    since: float | None = None
    """Unix time, seconds, at which the alert became active, where that is known."""
    where: str = ""
    """The services that it is about, where that is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What one criterion says."""

    holds: bool
    signal: str
    threshold: str
    longest: float = 0.0
    """Seconds of its longest window; 0 where a window without a turn tells something."""
    nearness: float = 0.0
    """The share that is surely reached, by its limit, in the window where that is largest."""


class RecordedStates:
    """The states at one moment.

    Every method may raise what `RecordReader` raises.

    Args:
        reader: Of the records.
        now: Unix time, seconds.
    """

    def __init__(self, reader: RecordReader, now: float) -> None:
        self._reader = reader
        self._now = now
        self._stretches: dict[tuple[float, float], Turns] = {}

    def of(self, failure: GuideFailure) -> State:
        """Return a failure's state: that of its alert that says most."""
        found = [
            (alert, self._criterion(criterion, failure, alert))
            for alert in failure.alerts
            for criterion in alert.criteria
            if isinstance(criterion, SilenceCriterion) or criterion.measure in MEASURES
        ]
        if not found:
            return State(level="unknown", signal="–", threshold="", seen_by="metrics only")
        threshold = "; ".join(list(dict.fromkeys(one.threshold for _, one in found))[:2])
        longest = max(one.longest for _, one in found)
        if longest and not self._turns(longest).ended():
            signal = f"no turn in {words.span(longest)}"
            return State(level="unknown", signal=signal, threshold=threshold)
        level, worst = max(
            ((alert.severity if one.holds else "quiet", one) for alert, one in found),
            key=lambda pair: (RANK[pair[0]], pair[1].nearness),
        )
        return State(level=level, signal=worst.signal, threshold=threshold)

    def _criterion(
        self, criterion: ShareCriterion | SilenceCriterion, failure: GuideFailure, alert: GuideAlert
    ) -> _Found:
        if isinstance(criterion, SilenceCriterion):
            return self._silence(criterion, alert)
        return self._share(criterion, failure.edges.get(criterion.measure, 0.0), alert)

    def _share(self, criterion: ShareCriterion, edge: float, alert: GuideAlert) -> _Found:
        limits = _limits(criterion, *self._past(criterion, edge))
        looks = []
        for window, limit in zip(criterion.windows, limits, strict=True):
            events, total = self._counted(criterion.measure, edge, window.seconds)
            sure = _surely(criterion, events, total)
            holds = sure > limit and (
                window.burst_seconds is None
                or self._bursts(criterion, edge, window.burst_seconds, limit)
            )
            said = _told(events, total, window.seconds)
            # of windows that say the same the one with most turns, and of those the shortest
            looks.append((holds, sure / limit if limit else sure, total, -window.seconds, said))
        holds, nearness, total, _, said = max(looks)
        longest = max(window.seconds for window in criterion.windows)
        return _Found(
            holds=holds,
            signal=said if total else f"nothing to judge in {words.span(longest)}",
            threshold=_threshold(criterion, alert.severity, limits),
            longest=longest,
            nearness=nearness,
        )

    def _past(self, criterion: ShareCriterion, edge: float) -> tuple[int, int]:
        """Return what the limit follows from: what the past held."""
        rise = criterion.rise
        if rise is None:
            return 0, 0
        past = self._turns(rise.delay_seconds + rise.baseline_seconds, rise.delay_seconds)
        return MEASURES[criterion.measure].count(past, edge)

    def _counted(self, measure: str, edge: float, seconds: float) -> tuple[int, int]:
        return MEASURES[measure].count(self._turns(seconds), edge)

    def _bursts(self, criterion: ShareCriterion, edge: float, seconds: float, limit: float) -> bool:
        events, total = self._counted(criterion.measure, edge, seconds)
        return total > 0 and events / total > limit

    def _silence(self, criterion: SilenceCriterion, alert: GuideAlert) -> _Found:
        silent = [
            seconds
            for seconds in criterion.windows
            if not self._turns(seconds).ended() and self._was_busy(criterion, seconds)
        ]
        threshold = _silence_threshold(criterion, alert.severity)
        return _Found(holds=bool(silent), signal=self._last_turn, threshold=threshold)

    def _was_busy(self, criterion: SilenceCriterion, seconds: float) -> bool:
        """Whether the stretch held turns a period ago; in a younger store, just before."""
        period = criterion.period_seconds
        has_past = self._reader.count(Selection(until=self._now - period)) > 0
        before = period if has_past else seconds
        return self._turns(before + seconds, before).ended() > criterion.more_than

    @cached_property
    def _last_turn(self) -> str:
        newest = self._reader.list(limit=1).records
        if not newest:
            return "no turn"
        return f"last turn {words.span(max(self._now - newest[0].started_at, 0.0))} ago"

    def _turns(self, seconds: float, before: float = 0.0) -> Turns:
        """Return the turns of the last seconds, without the `before` last ones."""
        key = (seconds, before)
        if key not in self._stretches:
            until = self._now - before if before else None
            self._stretches[key] = Turns(self._reader, self._now - seconds, until)
        return self._stretches[key]


def _surely(criterion: ShareCriterion, events: int, total: int) -> float:
    """Return the share that is surely reached; 0 where there is too little to say."""
    if events < criterion.min_events or total < max(criterion.min_total, 1):
        return 0.0
    return wilson(min(events / total, 1.0), total, criterion.z)[0]


def _told(events: int, total: int, seconds: float) -> str:
    share = words.share(events / total if total else None)
    return f"{share} ({events:,} of {total:,}) in {words.span(seconds)}"


def _limits(criterion: ShareCriterion, events: int, total: int) -> list[float]:
    """Return the limit of each window, for what the past held."""
    rise = criterion.rise
    if rise is not None:
        return [rise.limit(events, total)] * len(criterion.windows)
    return [window.limit or 0.0 for window in criterion.windows]


def usual_threshold(alert: GuideAlert) -> str:
    """Return when an alert fires, in words; where it depends on the past, for the usual one."""
    told = [
        _silence_threshold(criterion, alert.severity)
        if isinstance(criterion, SilenceCriterion)
        else _threshold(
            criterion,
            alert.severity,
            _limits(criterion, 0, 0),
        )
        for criterion in alert.criteria
    ]
    return " or ".join(told) or f"{alert.severity}: see its rule"


def _silence_threshold(criterion: SilenceCriterion, severity: str) -> str:
    return f"{severity}: none in a stretch that held more than {criterion.more_than:g} before"


def _threshold(criterion: ShareCriterion, severity: str, limits: list[float]) -> str:
    if criterion.min_events == 1:
        return f"{severity} at the first"
    sure = "surely above" if criterion.z else "above"
    if len(set(limits)) == 1:
        return f"{severity} {sure} {words.percent(limits[0])}"
    told = " or ".join(
        f"{words.percent(limit)} in {words.span(window.seconds)}"
        for window, limit in zip(criterion.windows, limits, strict=True)
    )
    return f"{severity} {sure} {told}"
