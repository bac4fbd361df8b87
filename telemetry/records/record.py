"""One row of accounting a turn: ids, counts, scores and hashes, and text only through a gate."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, Protocol

from telemetry import names
from telemetry.content import ContentGate, digest
from telemetry.turn import NodeRun, Retrieval, Turn

MAX_ATTEMPTS: Final = 50
"""Attempts kept of one turn. Chosen by us: ten times the largest bound anyone sets."""
MAX_CHUNKS: Final = 100
"""Chunks kept of one retrieval. Chosen by us: a record then stays within a few kilobytes."""
MAX_LABEL_LENGTH: Final = 200
"""Characters kept of a chunk id, node or label."""
MAX_NODE_RUNS: Final = 100
"""Node executions kept of one turn, the first ones. Chosen by us: twice a turn of 15 rewrites."""


NO_CONTENT: Final = ContentGate()
"""The gate that keeps no text."""


class Found(Protocol):
    """What a record needs of a detector's finding."""

    @property
    def detector(self) -> str:
        """Name of the detector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What answered was built from: the labels of `rag_build_info`."""

    index: str | None = None
    prompt: str | None = None
    grader: str | None = None
    model: str | None = None


_LABELS: Final = tuple(field.name for field in fields(Labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One retrieval of the turn and what became of it."""

    attempt: int
    """Rewrites made before it; 0 for the first retrieval."""
    query_hash: str | None = None
    chunk_ids: tuple[str, ...] = ()
    scores: tuple[float | None, ...] = ()
    grades: tuple[bool | None, ...] = ()
    similarity: float | None = None
    """Cosine similarity of the query to the standalone question, -1 to 1."""
    effect: str | None = None
    """What the rewrite before it changed, one of `names.EFFECTS`; None when there was none."""
    failed: bool = False
    query: str | None = None
    """The search words; None unless content was captured."""

    @property
    def is_synonym_swap(self) -> bool:
        """Whether the rewrite brought the same chunks with the same scores."""
        return self.effect == names.SAME_CHUNKS_AND_SCORES


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One finished turn as it is kept."""

    id: str
    """32 hex digits that sort by the time the turn began."""
    started_at: float
    """Unix time, seconds, to the millisecond."""
    graph: str
    version: str
    outcome: str
    reason: str | None = None
    trace_id: str | None = None
    conversation_id: str | None = None
    """As on the turn's span: a machine's id as it is, anything else as a hash."""
    labels: Labels = Labels()
    classification: str | None = None
    confidence: str | None = None
    rewrites: int = 0
    max_rewrites: int | None = None
    last_grade: str = "none"
    """`pass`, `fail` or `none`."""
    llm_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    recursion_limit: int | None = None
    error_type: str | None = None
    duration_seconds: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    findings: tuple[str, ...] = ()
    """Names of the detectors that found something, sorted."""
    nodes: tuple[NodeRun, ...] = ()
    """When each node ran, in the order of their beginnings, to the microsecond; empty in records
    of before they were kept."""
    drafts: int | None = None
    """Drafts of a revise loop; as the next two, None in records of before they were kept."""
    failed_calls: int | None = None
    """Model calls that raised."""
    failed_judgements: int | None = None
    """Replies of a judging role that were no verdict."""
    question: str | None = None
    """The standalone question; None unless content was captured."""
    reply: str | None = None
    """The reply; None unless content was captured."""


def new_id(started_at: float) -> str:
    """Return an id that sorts by time: 48 bits of milliseconds, then 80 random bits.

    Args:
        started_at: Unix time, seconds.
    """
    return f"{first_id(started_at)[:12]}{secrets.token_hex(10)}"


def first_id(moment: float) -> str:
    """Return the smallest id a turn begun at `moment` (Unix time, seconds) can have."""
    milliseconds = min(max(round(moment * 1000), 0), 2**48 - 1)
    return f"{milliseconds:012x}{'0' * 20}"


def query_hash(query: str) -> str:
    """Return 16 hex digits that are equal for equal queries, whatever their case and spacing.

    They tell repeats apart without keeping words. They are no secret: who can guess the query can
    check the guess.
    """
    return digest(" ".join(query.casefold().split()))


def record_of(
    turn: Turn,
    findings: Sequence[Found] = (),
    *,
    record_id: str | None = None,
    gate: ContentGate = NO_CONTENT,
    labels: Labels = Labels(),
) -> TurnRecord:
    """Return what is kept of a turn.

    Args:
        turn: The finished turn.
        findings: What the detectors found in it.
        record_id: Id given to it earlier; a new one when None.
        gate: Decides what of the question, the queries and the reply is kept.
        labels: What the process was built from, where the turn does not tell it.
    """
    started_at = turn.started_at or time.time()
    return TurnRecord(
        id=record_id or new_id(started_at),
        started_at=round(started_at, 3),
        graph=storable(turn.graph[:MAX_LABEL_LENGTH]),
        version=storable(turn.version[:MAX_LABEL_LENGTH]),
        outcome=turn.outcome,
        reason=_label(turn.reason),
        trace_id=turn.trace_id,
        conversation_id=_label(turn.conversation_id and gate.conversation(turn.conversation_id)),
        labels=_labels(turn.build, labels),
        classification=turn.classification,
        confidence=turn.confidence,
        rewrites=turn.rewrites,
        max_rewrites=turn.max_rewrites,
        last_grade=turn.last_grade,
        llm_calls=turn.llm_calls,
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        recursion_limit=turn.recursion_limit,
        error_type=_label(turn.error_type),
        duration_seconds=_finite(turn.duration_seconds) or 0.0,
        attempts=_attempts(turn.retrievals[:MAX_ATTEMPTS], gate),
        findings=tuple(sorted({finding.detector for finding in findings})),
        nodes=_nodes(turn),
        drafts=turn.drafts,
        failed_calls=turn.failed_calls,
        failed_judgements=sum(
            role in names.JUDGING_ROLES and reason not in names.FAILED_CALL_REASONS
            for role, reason in turn.judgement_failures
        ),
        question=_through(gate, turn.question),
        reply=_through(gate, turn.reply),
    )


def _labels(build: Mapping[str, str], others: Labels) -> Labels:
    """Return the labels of the agent that answered, for one process may hold several."""
    told = {name: _label(build[name]) for name in _LABELS if name in build}
    return replace(others, **told) if told else others


def _attempts(retrievals: Iterable[Retrieval], gate: ContentGate) -> tuple[Attempt, ...]:
    return tuple(
        Attempt(
            attempt=retrieval.attempt,
            query_hash=None if retrieval.query is None else query_hash(retrieval.query),
            chunk_ids=tuple(
                storable(chunk[:MAX_LABEL_LENGTH]) for chunk in retrieval.chunk_ids[:MAX_CHUNKS]
            ),
            scores=tuple(_finite(score) for score in retrieval.scores[:MAX_CHUNKS]),
            grades=retrieval.grades[:MAX_CHUNKS],
            similarity=_finite(retrieval.similarity),
            effect=retrieval.effect,
            failed=retrieval.failed,
            query=_through(gate, retrieval.query),
        )
        for retrieval in retrievals
    )


def _nodes(turn: Turn) -> tuple[NodeRun, ...]:
    return tuple(
        replace(
            run,
            node=storable(run.node[:MAX_LABEL_LENGTH]),
            began=round(run.began, 6),
            seconds=round(run.seconds, 6),
        )
        for run in turn.node_runs[:MAX_NODE_RUNS]
    )


def _through(gate: ContentGate, text: str | None) -> str | None:
    kept = gate.on_span(text)
    return None if kept is None else storable(kept)


def _label(text: str | None) -> str | None:
    return None if text is None else storable(text[:MAX_LABEL_LENGTH])


def storable(text: str) -> str:
    """Return the text without what a database refuses: NUL and lone surrogates."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\0", "\ufffd") if "\0" in text else text


def _finite(number: float | None) -> float | None:
    return float(number) if number is not None and math.isfinite(number) else None
