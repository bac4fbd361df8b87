"""A turn as a list of steps, from a live answer or a kept record: what a waterfall shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.answer import Answer
from telemetry.records import TurnRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChunk:
    """A retrieved chunk. `passed` is None when it was not graded."""

    id: str
    score: float | None
    passed: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAttempt:
    """One retrieval and the rewrite that led to it."""

    query: str | None
    """None when text was not captured."""
    chunks: tuple[ShownChunk, ...]
    similarity: float | None = None
    is_swap: bool = False
    effect: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A node that ran. Times are seconds since the turn began; None when they are not known."""

    node: str
    attempt: int = 0
    began: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTurn:
    """What the console shows of a turn, wherever it comes from."""

    outcome: str
    reason: str | None
    question: str | None
    reply: str | None
    topic: tuple[str, str] | None
    """Classification and confidence in small letters; None without a topic check."""
    attempts: tuple[ShownAttempt, ...]
    rewrites: int
    llm_calls: int
    input_tokens: int | None
    output_tokens: int | None
    duration_seconds: float
    trace_id: str | None
    record_id: str | None = None
    citations: tuple[str, ...] = ()
    visits: tuple[Visit, ...] = ()
    """The nodes that ran, with their times; empty where nobody measured them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a waterfall."""

    visit: Visit
    calls: int
    """Model calls: one for a verdict, a rewrite or an answer, one a chunk for grades."""
    attempt: ShownAttempt | None = None
    """What a search found or a grading judged, and the search that a rewrite led to."""
    topic: tuple[str, str] | None = None


_ENDS = {
    "answered": "generate_response",
    "no_results": "handle_no_results",
    "off_topic": "handle_off_topic",
    "clarify": "ask_clarification",
    "gave_up": "generate_response",
}


def of_answer(answer: Answer) -> ShownTurn:
    """Return a live answer as it is shown."""
    topic, seen = answer.topic, answer.seen
    return ShownTurn(
        outcome=answer.outcome,
        reason=answer.reason,
        question=answer.question,
        reply=answer.reply,
        topic=topic and (topic["classification"].lower(), topic["confidence"].lower()),
        attempts=tuple(
            ShownAttempt(
                query=attempt.query,
                chunks=tuple(
                    ShownChunk(id=c.id, score=c.score, passed=c.passed) for c in attempt.chunks
                ),
                similarity=attempt.similarity,
                is_swap=attempt.synonym_swap,
                effect=seen.effects[number] if seen and number < len(seen.effects) else None,
            )
            for number, attempt in enumerate(answer.attempts)
        ),
        rewrites=answer.rewrites,
        llm_calls=answer.llm_calls,
        input_tokens=seen.input_tokens if seen else None,
        output_tokens=seen.output_tokens if seen else None,
        duration_seconds=answer.duration_seconds,
        trace_id=answer.trace_id,
        record_id=seen.record_id if seen else None,
        citations=answer.citations,
        visits=tuple(
            Visit(node=node, attempt=attempt, began=began, ended=began + seconds)
            for node, attempt, began, seconds in (seen.nodes if seen else ())
        ),
    )


def of_record(record: TurnRecord) -> ShownTurn:
    """Return a kept turn as it is shown."""
    is_checked = record.classification is not None
    return ShownTurn(
        outcome=record.outcome,
        reason=record.reason,
        question=record.question,
        reply=record.reply,
        topic=(record.classification or "", record.confidence or "") if is_checked else None,
        attempts=tuple(
            ShownAttempt(
                query=attempt.query,
                chunks=tuple(
                    ShownChunk(id=id_, score=score, passed=_at(attempt.grades, place))
                    for place, (id_, score) in enumerate(
                        zip(attempt.chunk_ids, attempt.scores, strict=False)
                    )
                ),
                similarity=attempt.similarity,
                is_swap=attempt.is_synonym_swap,
                effect=attempt.effect,
            )
            for attempt in record.attempts
        ),
        rewrites=record.rewrites,
        llm_calls=record.llm_calls,
        input_tokens=record.input_tokens,
        output_tokens=record.output_tokens,
        duration_seconds=record.duration_seconds,
        trace_id=record.trace_id,
        record_id=record.id,
        visits=tuple(
            Visit(node=run.node, attempt=run.attempt, began=run.began,
                  ended=run.began + run.seconds)
            for run in record.nodes
        ),
    )  # fmt: skip


def path_of(turn: ShownTurn) -> list[Visit]:
    """Return the nodes that a finished turn went through: those measured, else what must have run
    for what is known of it."""
    if turn.visits:
        return list(turn.visits)
    path = [Visit(node="enhance_query")]
    if turn.topic is not None:
        path.append(Visit(node="validate_topic"))
    for number, attempt in enumerate(turn.attempts):
        if number > 0:
            path.append(Visit(node="optimize_query", attempt=number))
        path.append(Visit(node="fetch_content", attempt=number))
        if any(chunk.passed is not None for chunk in attempt.chunks) or not attempt.chunks:
            path.append(Visit(node="assess_relevance", attempt=number))
    if turn.outcome in _ENDS:
        path.append(Visit(node=_ENDS[turn.outcome], attempt=max(len(turn.attempts) - 1, 0)))
    return path


def steps_of(turn: ShownTurn, path: Sequence[Visit]) -> list[Step]:
    """Return the lines of a turn's waterfall."""
    return [_step(turn, visit) for visit in path]


def _step(turn: ShownTurn, visit: Visit) -> Step:
    number = visit.attempt
    attempt = turn.attempts[number] if number < len(turn.attempts) else None
    shows = visit.node in ("fetch_content", "assess_relevance", "optimize_query")
    return Step(
        visit=visit,
        calls=_calls(visit.node, attempt),
        attempt=attempt if shows else None,
        topic=turn.topic if visit.node == "validate_topic" else None,
    )


def _calls(node: str, attempt: ShownAttempt | None) -> int:
    if node == "assess_relevance":
        return len(attempt.chunks) if attempt else 0
    return int(node in ("validate_topic", "optimize_query", "generate_response"))


def _at(grades: Sequence[bool | None], place: int) -> bool | None:
    return grades[place] if place < len(grades) else None
