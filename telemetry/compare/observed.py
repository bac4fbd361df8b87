"""What a comparison needs of one turn, and the measures counted over many of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from telemetry import names
from telemetry.compare.rates import Rate
from telemetry.compare.sample import Sample
from telemetry.detectors import REWRITE_DRIFT
from telemetry.records import Attempt, TurnRecord

UNFINISHED: Final = frozenset({names.INTERRUPTED, names.CANCELLED})
"""Outcomes of turns that did not end by themselves; they are on no side."""
FAILED: Final = frozenset({names.ERROR, names.GAVE_UP, names.RECURSION_LIMIT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One retrieval of a turn."""

    query_hash: str | None
    score: float | None
    """Best score of its chunks; None without chunks, or when the retriever gives none."""
    is_empty: bool
    passed: bool | None
    """Whether a chunk passed its grading; None when nothing was graded."""
    grades: tuple[tuple[str, bool], ...]
    """(chunk id, passed) of the chunks that were graded."""
    effect: str | None
    """What the rewrite before it changed, one of `names.EFFECTS`."""
    similarity: float | None
    """Likeness of the query to the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One turn that ended by itself."""

    started_at: float
    outcome: str
    classification: str | None
    confidence: str | None
    has_drifted: bool
    rewrites: int
    llm_calls: int
    tokens: int | None
    duration_seconds: float
    steps: tuple[Step, ...]
    question: str | None
    """Its text; None unless content was captured."""

    @property
    def searched(self) -> bool:
        """Whether anything was retrieved for, in vain or not."""
        return bool(self.steps)

    @property
    def question_key(self) -> str | None:
        """Hash of the first query, the standalone question; equal for equal questions."""
        return self.steps[0].query_hash if self.steps else None


def observe(record: TurnRecord) -> Observed:
    """Return what a comparison needs of a record."""
    known = [count for count in (record.input_tokens, record.output_tokens) if count is not None]
    return Observed(
        started_at=record.started_at,
        outcome=record.outcome,
        classification=record.classification,
        confidence=record.confidence,
        has_drifted=REWRITE_DRIFT in record.findings,
        rewrites=record.rewrites,
        llm_calls=record.llm_calls,
        tokens=sum(known) if known else None,
        duration_seconds=record.duration_seconds,
        steps=tuple(_step(attempt) for attempt in record.attempts if not attempt.failed),
        question=record.question,
    )


def _step(attempt: Attempt) -> Step:
    scores = [score for score in attempt.scores if score is not None and math.isfinite(score)]
    graded = tuple(
        (chunk, grade)
        for chunk, grade in zip(attempt.chunk_ids, attempt.grades, strict=False)
        if grade is not None
    )
    return Step(
        query_hash=attempt.query_hash,
        score=max(scores, default=None),
        is_empty=not attempt.chunk_ids,
        passed=any(passed for _, passed in graded) if graded else None,
        grades=graded,
        effect=attempt.effect,
        similarity=attempt.similarity,
    )


def measure(turns: Sequence[Observed]) -> dict[str, Rate | Sample]:
    """Return every measure over the turns, by name."""
    searched = [turn for turn in turns if turn.searched]
    graded = [turn.steps[0].passed for turn in searched if turn.steps[0].passed is not None]
    firsts = [turn.steps[1].effect for turn in searched if len(turn.steps) > 1]
    told = [effect for effect in firsts if effect is not None]
    answered = [turn for turn in turns if turn.outcome == names.ANSWERED]
    refused = [turn for turn in turns if turn.outcome == names.OFF_TOPIC]
    return {
        "no_results": _rate(turn.outcome == names.NO_RESULTS for turn in searched),
        "off_topic": Rate(len(refused), len(turns)),
        "off_topic_unsure": Rate(
            sum(turn.confidence == names.CONFIDENCES[-1] for turn in refused), len(turns)
        ),
        "failed": _rate(turn.outcome in FAILED for turn in turns),
        "answered": Rate(len(answered), len(turns)),
        "empty_search": _rate(found_nothing(turn.steps[0]) for turn in searched),
        "first_pass": _rate(graded),
        "synonym_swap": _rate(effect == names.SAME_CHUNKS_AND_SCORES for effect in told),
        "answered_after_drift": _rate(turn.has_drifted for turn in answered),
        "rewrites": Sample.of(turn.rewrites for turn in searched),
        "retrievals": Sample.of(len(turn.steps) for turn in turns),
        "llm_calls": Sample.of(turn.llm_calls for turn in turns),
        "tokens": Sample.of(turn.tokens for turn in turns if turn.tokens is not None),
        "duration": Sample.of(turn.duration_seconds for turn in turns),
    }


def found_nothing(step: Step) -> bool:
    """Return whether a search matched nothing: no chunk, or none with a score above 0."""
    return step.is_empty or (step.score is not None and step.score <= 0)


def _rate(hits: Iterable[bool]) -> Rate:
    seen = list(hits)
    return Rate(sum(seen), len(seen))
