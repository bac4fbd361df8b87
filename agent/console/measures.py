"""What turn records tell of the guide's failures: turns that show one, of turns that could."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from telemetry.records import RecordReader, Selection

_SUMMED: Final = (
    "llm_calls", "failed_calls", "retrievals", "failed_retrievals", "judgements",
    "failed_judgements",
)  # fmt: skip


class Turns:
    """The turns of a stretch of time; each count is asked of the database when it is needed.

    Every method may raise what `RecordReader` raises.

    Args:
        reader: Of the records.
        since: Unix time, seconds.
        until: Unix time, seconds; None for now.
    """

    def __init__(self, reader: RecordReader, since: float, until: float | None = None) -> None:
        self._reader = reader
        self._all = Selection(since=since, until=until)
        self._counted: dict[Selection, int] = {}

    def ended(self, *outcomes: str, last_grade: str | None = None) -> int:
        """Return how many turns ended so; without outcomes, all."""
        return self.count(Selection(outcome=outcomes or None, last_grade=last_grade))

    def found(self, finding: str) -> int:
        """Return how many turns a detector found something in."""
        return self.count(Selection(finding=finding))

    def count(self, selection: Selection) -> int:
        """Return how many turns of a selection there are in this stretch of time."""
        if selection not in self._counted:
            within = replace(selection, since=self._all.since, until=self._all.until)
            self._counted[selection] = self._reader.count(within)
        return self._counted[selection]

    @cached_property
    def sums(self) -> Mapping[str, int]:
        """Column -> its sum."""
        return dict(zip(_SUMMED, self._reader.sums(_SUMMED, self._all), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A share that turn records tell."""

    count: Callable[[Turns, float], tuple[int, int]]
    """(turns, edge of the guide's signal) -> (what shows the failure, what could)."""
    shown_by: Callable[[float], Selection]
    """Edge -> the turns to look at."""
    counts: str = ""
    """In words, where the guide's own metric counts something else."""


def _measure(
    events: Callable[[Turns], int],
    total: Callable[[Turns], int],
    shown_by: Selection,
    counts: str = "",
) -> Measure:
    return Measure(
        count=lambda turns, _: (events(turns), total(turns)),
        shown_by=lambda _: shown_by,
        counts=counts,
    )


def _finding(name: str, total: Callable[[Turns], int], counts: str) -> Measure:
    return _measure(lambda t: t.found(name), total, Selection(finding=name), counts)


def _sum(part: str, whole: str, shown_by: Selection, counts: str = "") -> Measure:
    return _measure(lambda t: t.sums[part], lambda t: t.sums[whole], shown_by, counts)


_DRIFTED: Final = Selection(finding="rewrite_drift", outcome="answered")
_REVISED: Final = Selection(min_drafts=2)

MEASURES: Final[Mapping[str, Measure]] = {
    "rejected": _measure(
        lambda t: t.ended("off_topic"), lambda t: t.ended(), Selection(outcome="off_topic")),
    "not_found": _measure(
        lambda t: t.ended("no_results"),
        lambda t: t.ended("answered", "no_results", "gave_up", "recursion_limit"),
        Selection(outcome="no_results")),
    "runaway_loop": _measure(
        lambda t: t.ended("recursion_limit"), lambda t: t.ended(),
        Selection(outcome="recursion_limit")),
    "budget_checked_first": _measure(
        lambda t: t.ended("no_results", last_grade="pass"), lambda t: t.ended("no_results"),
        Selection(outcome="no_results", last_grade="pass")),
    "answered_without_evidence": _measure(
        lambda t: t.ended("answered", last_grade="fail"), lambda t: t.ended("answered"),
        Selection(outcome="answered", last_grade="fail")),
    "two_ends": _finding(
        "two_ends", lambda t: t.ended(), "turns in which two terminal nodes ran, of all turns"),
    "swapped": _finding(
        "synonym_swap", lambda t: t.count(Selection(min_rewrites=1)),
        "turns with a synonym swap, of turns that rewrote"),
    "drifted": _finding(
        "rewrite_drift", lambda t: t.count(Selection(min_rewrites=2)),
        "turns that drifted, of turns with two rewrites"),
    "answered_after_drift": _measure(
        lambda t: t.count(_DRIFTED), lambda t: t.ended("answered"), _DRIFTED),
    "at_cap": _finding(
        "revise_at_cap", lambda t: t.count(Selection(min_drafts=1)),
        "turns that used up their drafts, of turns with a draft"),
    "not_risen": _finding(
        "score_not_rising", lambda t: t.count(_REVISED),
        "turns with a revision that scored no better, of turns with two drafts"),
    "stale": _finding(
        "stale_critique", lambda t: t.count(_REVISED),
        "turns with a stale critique, of turns with two drafts"),
    "model_failed": _sum("failed_calls", "llm_calls", Selection(min_failed_calls=1)),
    "unjudged": _sum(
        "failed_judgements", "judgements", Selection(min_failed_judgements=1),
        "replies without a verdict, of topics, chunks and drafts judged"),
    "search_failed": _sum(
        "failed_retrievals", "retrievals", Selection(min_failed_retrievals=1)),
    "turn_failed": _measure(
        lambda t: t.ended("error"), lambda t: t.ended(), Selection(outcome="error")),
    "slow": Measure(
        count=lambda t, edge: (t.count(Selection(longer_than=edge)), t.ended()),
        shown_by=lambda edge: Selection(longer_than=edge)),
}  # fmt: skip
"""Measure of a criterion of the guide -> how turn records tell it."""
