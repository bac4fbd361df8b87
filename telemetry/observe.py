"""What a node's return means for the turn: one function a role, called once a node execution.

Each writes to the book and, when the node's span is recorded, returns attributes for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from langgraph.types import Command

from telemetry import names
from telemetry.attributes import LIST_ITEMS, cut_list
from telemetry.facts import Chunks, Critique, Grades, State, Statement, Update, Verdict, only
from telemetry.topology import shown
from telemetry.updates import updates_of

if TYPE_CHECKING:
    from telemetry.execution import Execution

Attributes = dict[str, Any]
_RELEVANCE: Final = "relevance"
_TOPIC: Final = "topic"


class NothingFoundError(LookupError):
    """A reader found nothing in a node's update; the role map or the reader does not fit.

    Its message holds names of the graph alone, nothing that the node returned.
    """

    def __init__(self, execution: Execution) -> None:
        node = execution.node
        super().__init__(
            f"node {node.path!r} returned none of the keys that are read for its role "
            f"{node.role!r} (docs/telemetry.md, Roles): return one of them, give `instrument` a "
            "reader (readers=), or correct the role"
        )


def observe(execution: Execution, output: Any, state: State) -> Attributes | None:
    """Write what a node did into the turn's book.

    Args:
        execution: The execution that returned.
        output: What it returned.
        state: What it was given.

    Returns:
        Attributes of the node's span, None for none.
    """
    turn, role = execution.turn, execution.node.role
    if type(output) is dict:
        update: Update = output
    else:
        update = updates_of(output)
        for part in output if isinstance(output, list | tuple) else (output,):
            if isinstance(part, Command) and part.graph is None:
                _count_jump(execution, part.goto)
    if role in names.TERMINAL_OUTCOMES:
        turn.book.ended_by(execution.step, role)
    if update:
        try:
            statement = only(Statement, turn.probe.readers.statement(update, state))
            if statement is not None:
                turn.book.stated(statement)
        except Exception as error:  # noqa: BLE001 - what the node did is still to be read
            turn.probe.failed("reader", error)
    by_role = _BY_ROLE.get(role)
    return by_role(execution, update, state) if by_role is not None else None


def _count_jump(execution: Execution, goto: Any) -> None:
    """Count where a node's `Command` sends the turn, as a router's choice is counted."""
    node = execution.node
    if execution.turn.is_synthetic:
        return
    for chosen in goto if isinstance(goto, list | tuple) else [goto]:
        route = shown(chosen if isinstance(chosen, str) else chosen.node)
        node.probe.run_metrics.route(node.path, route).inc()


def _enhance(execution: Execution, update: Update, state: State) -> None:
    turn = execution.turn
    question = only(str, turn.probe.readers.question(update, state))
    if question:
        turn.book.question = question


def _guard(execution: Execution, update: Update, state: State) -> Attributes | None:
    turn = execution.turn
    verdict = only(Verdict, turn.probe.readers.verdict(update, state))
    if verdict is None or not (
        verdict.classification in names.CLASSIFICATIONS and verdict.confidence in names.CONFIDENCES
    ):
        raise NothingFoundError(execution)
    turn.book.checked(verdict)
    if execution.context is None:
        return None
    _evaluation(execution, _TOPIC, verdict.classification)
    return {
        names.RAG_TOPIC_CLASSIFICATION: verdict.classification,
        names.RAG_TOPIC_CONFIDENCE: verdict.confidence,
    }


def _retrieve(execution: Execution, update: Update, state: State) -> Attributes | None:
    turn = execution.turn
    chunks = only(Chunks, turn.probe.readers.chunks(update, state))
    if chunks is None:
        raise NothingFoundError(execution)
    if execution.is_remote:
        chunks = replace(chunks, is_remote=True)
    effect = turn.book.retrieved(chunks, execution.step)
    if execution.context is None:
        return None
    attributes = chunk_attributes(chunks)
    if effect is not None:
        attributes[names.RAG_REWRITE_EFFECT] = effect
    if turn.probe.gate.spans and (query := turn.probe.gate.on_span(chunks.query)) is not None:
        attributes[names.RETRIEVAL_QUERY] = query
    return attributes


def _grade(execution: Execution, update: Update, state: State) -> Attributes | None:
    turn = execution.turn
    grades = only(Grades, turn.probe.readers.grades(update, state, turn.book.chunk_ids))
    if grades is None:
        raise NothingFoundError(execution)
    turn.book.graded(grades)
    if execution.context is None:
        return None
    passed = turn.book.passed
    is_passed = True in passed
    if is_passed or False in passed:
        share = passed.count(True) / len(passed)
        _evaluation(execution, _RELEVANCE, names.PASS if is_passed else names.FAIL, share)
    words = [names.NONE if p is None else names.PASS if p else names.FAIL for p in passed]
    return {names.RAG_GRADES: tuple(words[:LIST_ITEMS]), names.RAG_GRADE_PASSED: is_passed}


def _rewrite(execution: Execution, update: Update, state: State) -> Attributes | None:
    if not update:  # nothing was rewritten: the node found its budget spent
        return None
    turn = execution.turn
    query = None
    try:
        query = only(str, turn.probe.readers.query(update, state))
    finally:  # it was a rewrite, whether its words can be read or not
        similarity = turn.book.rewrote(query)
    if execution.context is None:
        return None
    attributes: Attributes = {}
    if similarity is not None:
        attributes[names.RAG_REWRITE_SIMILARITY] = similarity
    if turn.probe.gate.spans and (text := turn.probe.gate.on_span(query)) is not None:
        attributes[names.REWRITE_QUERY] = text
    return attributes


def _revise(execution: Execution, update: Update, _: State) -> Attributes | None:  # noqa: ARG001
    drafted = execution.turn.book.revising.drafted()
    if execution.context is None:
        return None
    return {names.RAG_LOOP: names.REVISE, names.RAG_DRAFT: drafted}


def _critique(execution: Execution, update: Update, state: State) -> Attributes | None:
    turn = execution.turn
    critique = only(Critique, turn.probe.readers.critique(update, state))
    if critique is None:
        raise NothingFoundError(execution)
    judged = turn.book.revising.critiqued(critique)
    if execution.context is None:
        return None
    attributes: Attributes = {names.RAG_LOOP: names.REVISE, names.RAG_DRAFT: judged.draft}
    if judged.effect is not None:
        attributes[names.RAG_CRITIQUE_EFFECT] = judged.effect
    if judged.score is not None:
        attributes[names.RAG_CRITIQUE_SCORE] = judged.score
        _evaluation(execution, names.CRITIQUE, judged.effect or names.NONE, judged.score)
    return attributes


_BY_ROLE: Final[dict[str, Callable[[Execution, Update, State], Attributes | None]]] = {
    names.ENHANCE: _enhance,
    names.GUARD: _guard,
    names.RETRIEVE: _retrieve,
    names.GRADE: _grade,
    names.REWRITE: _rewrite,
    names.REVISE: _revise,
    names.CRITIQUE: _critique,
}


def chunk_attributes(chunks: Chunks) -> Attributes:
    """Return the ids of a retrieval and, when every chunk has one, the scores in their order."""
    attributes: Attributes = {names.RAG_CHUNK_IDS: cut_list(chunks.ids)}
    scores = chunks.scores[:LIST_ITEMS]
    if scores and None not in scores:
        attributes[names.RAG_CHUNK_SCORES] = scores
    return attributes


def _evaluation(execution: Execution, name: str, label: str, value: float | None = None) -> None:
    attributes: Attributes = {names.EVALUATION_NAME: name, names.EVALUATION_LABEL: label}
    if value is not None:
        attributes[names.EVALUATION_VALUE] = value
    execution.turn.emit(execution.span, names.EVENT_EVALUATION, attributes)
