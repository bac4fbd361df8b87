"""The eight nodes and those of the branches.

Each body takes the state and the context and returns only what changed.
"""

from __future__ import annotations

import logging
from typing import Final

from agent.citations import cited_ids, with_unknown_told
from agent.context import AgentContext
from agent.errors import RetrieverError
from agent.retrieval.chunks import chunks_from_documents
from agent.routers import has_evidence
from agent.state import Attempt, Chunk, JudgementFailure, SupportState, was_asked_back
from agent.steps import Call, Steps, together
from agent.updates import (
    FAILED_ANSWER_REPLY,
    FALLBACK_PREFIX,
    Update,
    end_turn,
    evidence_reason,
    failures_of,
    kept_chunks,
    noted,
)

_LOG: Final = logging.getLogger(__name__)

NO_RESULTS_REPLY = (
    "I couldn't find an answer to that in the documents. "
    "Please rephrase the question, or contact support."
)


def enhance_query(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Start the turn: reset what belongs to one question and make a follow-up standalone."""
    question = state["question"]
    history = state.get("messages", [])
    failures: list[JudgementFailure] = []
    standalone, asked_back = question, was_asked_back(history)
    if history:
        judged = yield from context.model.enhance(history, question, asked_back=asked_back)
        standalone, failures = judged.value, failures_of("enhance", [judged])
    return {
        "standalone": standalone,
        "asked_back": asked_back,
        "query": standalone,
        "topic": None,
        "chunks": [],
        "attempts": [],
        "is_fallback": False,
        "fallback_failed": False,
        "rewrites": 0,
        "max_rewrites": context.max_rewrites,
        "llm_calls": 0,
        "retrievals": 0,
        "judgement_failures": failures,
        "outcome": None,
        "reason": None,
        "reply": "",
        "citations": [],
    }


def validate_topic(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Judge whether the standalone question is in scope, before anything is searched."""
    judged = yield from context.model.check_topic(state["standalone"])
    return {"topic": judged.value, **noted(state, "guard", [judged])}


def handle_off_topic(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Refuse with a fixed text that says what the assistant can help with."""
    yield from ()
    reply = f"I can't help with that. I can help with {context.subjects}."
    return end_turn(state, outcome="off_topic", reason="classified_irrelevant", reply=reply)


def ask_clarification(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Ask what is meant instead of refusing a question that may belong here after all."""
    judged = yield from context.model.clarify(state["standalone"])
    return {
        **end_turn(state, outcome="clarify", reason="low_confidence", reply=judged.value),
        **noted(state, "clarify", [judged]),
    }


def fetch_content(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Search the documents with the current query."""
    (documents,) = yield [Call(target=context.retriever, value=state["query"])]
    if isinstance(documents, Exception):
        raise RetrieverError(documents) from documents
    chunks = [c for c in chunks_from_documents(documents) if _is_above(c, context.min_score)]
    return {"chunks": chunks, "retrievals": state["retrievals"] + 1}


def assess_relevance(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Grade each chunk against the standalone question, one model call a chunk."""
    chunks = state["chunks"]
    judged = yield from together(context.model.grade(state["standalone"], c) for c in chunks)
    attempt: Attempt = {
        "query": state["query"],
        "chunks": [
            {"id": chunk["id"], "score": chunk["score"], "grade": grade.value}
            for chunk, grade in zip(chunks, judged, strict=True)
        ],
    }
    return {"attempts": [*state["attempts"], attempt], **noted(state, "grade", judged)}


def search_fallback(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Ask the second source the standalone question; when it fails, nothing was found there."""
    if context.fallback is None:
        raise AssertionError("the graph has a fallback and the context has none")
    (documents,) = yield [Call(target=context.fallback, value=state["standalone"])]
    found: list[Chunk] = []
    if isinstance(documents, Exception):
        _LOG.warning("the second source failed with %s", type(documents).__name__)
    else:
        found = chunks_from_documents(documents)[: context.fallback_chunks]
    return {
        "query": state["standalone"],
        "chunks": [{**chunk, "id": f"{FALLBACK_PREFIX}{chunk['id']}"} for chunk in found],
        "retrievals": state["retrievals"] + 1,
        "is_fallback": True,
        "fallback_failed": isinstance(documents, Exception),
    }


def assess_fallback(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Grade what the second source found, as any other chunk."""
    return (yield from assess_relevance(state, context))


def optimize_query(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Find other search words and spend one rewrite; do nothing when none is left."""
    if state["rewrites"] >= state["max_rewrites"]:  # the router said so already; edges change
        return {}
    if context.rewrite_from == "original":
        judged = yield from context.model.rewrite(
            state["query"], question=state["standalone"], attempts=state["attempts"]
        )
    else:
        judged = yield from context.model.rewrite(state["query"])
    return {
        "query": judged.value,
        "rewrites": state["rewrites"] + 1,
        **noted(state, "rewrite", [judged]),
    }


def generate_response(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Answer the standalone question from the chunks that were not graded out."""
    kept = kept_chunks(state)
    judged = yield from context.model.answer(state["standalone"], kept)
    if judged.value is None:
        return {
            **end_turn(state, outcome="error", reason=judged.failure, reply=FAILED_ANSWER_REPLY),
            **noted(state, "answer", [judged]),
        }
    return {
        **end_turn(
            state,
            outcome="answered",
            reason=evidence_reason(state),
            reply=with_unknown_told(judged.value, kept),
        ),
        **noted(state, "answer", [judged]),
        "citations": cited_ids(judged.value, kept),
    }


def handle_no_results(state: SupportState, _: AgentContext) -> Steps[Update]:
    """Say with a fixed text that the documents hold no answer."""
    yield from ()
    if has_evidence(state):
        reason = "evidence_discarded"  # only the budget-first order can get here with evidence
    elif state["fallback_failed"]:
        reason = "fallback_failed"
    elif state["attempts"][-1]["chunks"]:
        reason = "nothing_passed"
    else:
        reason = "nothing_retrieved"
    return end_turn(state, outcome="no_results", reason=reason, reply=NO_RESULTS_REPLY)


def _is_above(chunk: Chunk, min_score: float | None) -> bool:
    return min_score is None or chunk["score"] is None or chunk["score"] >= min_score
