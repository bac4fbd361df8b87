"""What a node's return means for the turn: one function a role, called once a node execution.

Each writes to the book and returns the attributes that the node's span shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from telemetry import names
from telemetry.attributes import LIST_ITEMS
from telemetry.facts import Seen
from telemetry.turn import Retrieval

if TYPE_CHECKING:
    from telemetry.execution import Execution

Attributes = dict[str, Any]
_RELEVANCE: Final = "relevance"
_TOPIC: Final = "topic"


class NothingFoundError(LookupError):
    """A reader found nothing in a node's update; the role map or the reader does not fit."""


def observe(execution: Execution, seen: Seen) -> Attributes:
    """Write what a node did into the turn's book.

    Args:
        execution: The execution that returned.
        seen: What the node returned and was given.

    Returns:
        Attributes of the node's span.
    """
    book, role = execution.turn.book, execution.node.role
    readers = book.probe.readers
    if role in names.TERMINAL_OUTCOMES:
        book.ended_by(execution.step, role)
    if seen.update:
        ending = readers.ending(seen)
        if ending is not None:
            book.stated(ending)
        failures = readers.judgement_failures(seen)
        if failures is not None:
            book.failed_judgements(list(failures))
    if book.max_rewrites is None:
        bound = readers.max_rewrites(seen)
        if bound is not None:
            book.max_rewrites = bound
            book.probe.bound(bound)
    by_role = _BY_ROLE.get(role)
    return by_role(execution, seen) if by_role is not None else {}


def _enhance(execution: Execution, seen: Seen) -> Attributes:
    book = execution.turn.book
    question = book.probe.readers.question(seen)
    if question:
        book.question = question
    return {}


def _guard(execution: Execution, seen: Seen) -> Attributes:
    book = execution.turn.book
    verdict = book.probe.readers.verdict(seen)
    if verdict is None:
        raise NothingFoundError
    book.checked(verdict)
    _evaluation(execution, _TOPIC, verdict.classification)
    return {
        names.RAG_TOPIC_CLASSIFICATION: verdict.classification,
        names.RAG_TOPIC_CONFIDENCE: verdict.confidence,
    }


def _retrieve(execution: Execution, seen: Seen) -> Attributes:
    book = execution.turn.book
    chunks = book.probe.readers.chunks(seen)
    if chunks is None:
        raise NothingFoundError
    if execution.is_remote:
        chunks = replace(chunks, is_remote=True)
    retrieval = book.retrieved(chunks)
    attributes = chunk_attributes(retrieval)
    if retrieval.effect is not None:
        attributes[names.RAG_REWRITE_EFFECT] = retrieval.effect
    query = book.probe.gate.on_span(retrieval.query)
    if query is not None:
        attributes[names.RETRIEVAL_QUERY] = query
    return attributes


def _grade(execution: Execution, seen: Seen) -> Attributes:
    book = execution.turn.book
    grades = book.probe.readers.grades(seen)
    if grades is None:
        raise NothingFoundError
    return _show_grades(execution, book.graded(grades))


def _show_grades(execution: Execution, passed: tuple[bool | None, ...]) -> Attributes:
    """Emit the grading as an event of the span and return its attributes."""
    words = [names.NONE if p is None else names.PASS if p else names.FAIL for p in passed]
    is_passed = any(passed)
    if any(p is not None for p in passed):
        share = sum(p is True for p in passed) / len(passed)
        label = names.PASS if is_passed else names.FAIL
        _evaluation(execution, _RELEVANCE, label, share)
    return {names.RAG_GRADES: words[:LIST_ITEMS], names.RAG_GRADE_PASSED: is_passed}


def _rewrite(execution: Execution, seen: Seen) -> Attributes:
    book = execution.turn.book
    if not seen.update:  # nothing was rewritten: the node found its budget spent
        return {}
    query = None
    try:
        query = book.probe.readers.query(seen)
    finally:  # it was a rewrite, whether its words can be read or not
        similarity = book.rewrote(query)
    attributes: Attributes = {}
    if similarity is not None:
        attributes[names.RAG_REWRITE_SIMILARITY] = float(similarity)
    text = book.probe.gate.on_span(query)
    if text is not None:
        attributes[names.REWRITE_QUERY] = text
    return attributes


_BY_ROLE: Final[dict[str, Callable[[Execution, Seen], Attributes]]] = {
    names.ENHANCE: _enhance,
    names.GUARD: _guard,
    names.RETRIEVE: _retrieve,
    names.GRADE: _grade,
    names.REWRITE: _rewrite,
}


def chunk_attributes(retrieval: Retrieval) -> Attributes:
    """Return the ids of a retrieval and, when every chunk has one, the scores in their order."""
    attributes: Attributes = {names.RAG_CHUNK_IDS: retrieval.chunk_ids[:LIST_ITEMS]}
    scores = retrieval.scores[:LIST_ITEMS]
    if scores and None not in scores:
        attributes[names.RAG_CHUNK_SCORES] = scores
    return attributes


def _evaluation(execution: Execution, name: str, label: str, value: float | None = None) -> None:
    attributes: Attributes = {names.EVALUATION_NAME: name, names.EVALUATION_LABEL: label}
    if value is not None:
        attributes[names.EVALUATION_VALUE] = value
    execution.node.probe.events.emit(execution.span, names.EVENT_EVALUATION, attributes)
