"""What a caller gets back for one question, whatever happened to it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from agent.state import Attempt, Outcome, SupportState, TopicVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerChunk:
    """A retrieved chunk. `passed` is None when its grading failed and it was kept ungraded."""

    id: str
    score: float | None
    passed: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAttempt:
    """One retrieval. `similarity` and `synonym_swap` are telemetry's measures of the rewrite."""

    query: str
    chunks: tuple[AnswerChunk, ...]
    similarity: float | None = None
    synonym_swap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What telemetry saw of one turn. The tuples have one entry a retrieval, in order."""

    trace_id: str | None
    """32 hex digits; None when the turn's span is not recorded."""
    similarities: tuple[float | None, ...]
    synonym_swaps: tuple[bool, ...]
    span_id: str | None = None
    """16 hex digits of the turn's span; None when that is not recorded."""
    input_tokens: int | None = None
    """Of all model calls of the turn; None when no model told."""
    output_tokens: int | None = None
    record_id: str | None = None
    """Of the turn's record; None when none is kept."""
    effects: tuple[str | None, ...] = ()
    """What the rewrite before each retrieval changed; None for the first, and where not known."""
    nodes: tuple[tuple[str, int, float, float], ...] = ()
    """(node, attempt, when it began in seconds since the turn began, seconds) of each execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The end of one turn. `citations` are ids of chunks that were retrieved in this turn."""

    question: str
    outcome: Outcome
    reason: str | None
    reply: str
    citations: tuple[str, ...] = ()
    topic: TopicVerdict | None = None
    rewrites: int = 0
    retrievals: int = 0
    llm_calls: int = 0
    attempts: tuple[AnswerAttempt, ...] = ()
    trace_id: str | None = None
    duration_seconds: float = 0.0
    seen: Observation | None = None
    """What telemetry saw of the turn, for what is not part of the reply."""

    def as_json(self) -> dict[str, Any]:
        """Return the object of `ask --json` (docs/reference.md): built-ins only."""
        shown = asdict(replace(self, seen=None))
        del shown["seen"]
        return shown


def with_observation(answer: Answer, seen: Observation | None) -> Answer:
    """Return the answer with what telemetry saw of its turn; unchanged when it saw nothing."""
    if seen is None:
        return answer
    attempts = tuple(
        replace(attempt, similarity=similarity, synonym_swap=swap)
        for attempt, similarity, swap in zip(
            answer.attempts, seen.similarities, seen.synonym_swaps, strict=False
        )
    )
    return replace(answer, trace_id=seen.trace_id, attempts=attempts or answer.attempts, seen=seen)


def answer_from_state(
    state: SupportState, *, question: str, outcome: Outcome, reason: str | None, reply: str
) -> Answer:
    """Return the answer of a turn from the last state it reached, complete or not."""
    return Answer(
        question=question,
        outcome=outcome,
        reason=reason,
        reply=reply,
        citations=tuple(state.get("citations", [])),
        topic=state.get("topic"),
        rewrites=state.get("rewrites", 0),
        retrievals=state.get("retrievals", 0),
        llm_calls=state.get("llm_calls", 0),
        attempts=tuple(_attempt(attempt) for attempt in state.get("attempts", [])),
    )


def _attempt(attempt: Attempt) -> AnswerAttempt:
    passed = {"pass": True, "fail": False, "ungraded": None}
    return AnswerAttempt(
        query=attempt["query"],
        chunks=tuple(
            AnswerChunk(id=c["id"], score=c["score"], passed=passed[c["grade"]])
            for c in attempt["chunks"]
        ),
    )
