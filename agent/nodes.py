"""The eight nodes and those of the branches.

Each body takes the state and the context and returns only what changed.
"""

from __future__ import annotations

import re
from typing import Any

from agent.context import AgentContext
from agent.errors import RetrieverError
from agent.models.support import Judgement
from agent.retrieval.chunks import chunks_from_documents
from agent.routers import has_evidence
from agent.state import (
    Attempt,
    Chunk,
    JudgementFailure,
    Outcome,
    Role,
    SupportState,
    exchange,
    was_asked_back,
)
from agent.steps import Call, Steps, together

Update = dict[str, Any]

NO_RESULTS_REPLY = (
    "I couldn't find an answer to that in the documents. "
    "Please rephrase the question, or contact support."
)
FAILED_ANSWER_REPLY = (
    "I'm sorry, I can't answer that right now. Please try again or contact support."
)


def enhance_query(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Start the turn: reset what belongs to one question and make a follow-up standalone."""
    question = state["question"]
    history = state.get("messages", [])
    failures: list[JudgementFailure] = []
    standalone, asked_back = question, was_asked_back(history)
    if history:
        judged = yield from context.model.enhance(history, question, asked_back=asked_back)
        standalone, failures = judged.value, _failures("enhance", [judged])
    return {
        "standalone": standalone,
        "asked_back": asked_back,
        "query": standalone,
        "topic": None,
        "chunks": [],
        "attempts": [],
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
    return {"topic": judged.value, **_noted(state, "guard", [judged])}


def handle_off_topic(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Refuse with a fixed text that says what the assistant can help with."""
    yield from ()
    reply = f"I can't help with that. I can help with {context.subjects}."
    return _end(state, outcome="off_topic", reason="classified_irrelevant", reply=reply)


def ask_clarification(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Ask what is meant instead of refusing a question that may belong here after all."""
    judged = yield from context.model.clarify(state["standalone"])
    return {
        **_end(state, outcome="clarify", reason="low_confidence", reply=judged.value),
        **_noted(state, "clarify", [judged]),
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
    return {"attempts": [*state["attempts"], attempt], **_noted(state, "grade", judged)}


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
        **_noted(state, "rewrite", [judged]),
    }


def generate_response(state: SupportState, context: AgentContext) -> Steps[Update]:
    """Answer the standalone question from the chunks that were not graded out."""
    graded = state["attempts"][-1]["chunks"]
    kept = [c for c, g in zip(state["chunks"], graded, strict=True) if g["grade"] != "fail"]
    judged = yield from context.model.answer(state["standalone"], kept)
    if judged.value is None:
        return {
            **_end(state, outcome="error", reason=judged.failure, reply=FAILED_ANSWER_REPLY),
            **_noted(state, "answer", [judged]),
        }
    is_passed = any(chunk["grade"] == "pass" for chunk in graded)
    return {
        **_end(
            state,
            outcome="answered",
            reason="passing_chunk" if is_passed else "ungraded_chunk",
            reply=judged.value,
        ),
        **_noted(state, "answer", [judged]),
        "citations": cited_ids(judged.value, kept),
    }


def handle_no_results(state: SupportState, _: AgentContext) -> Steps[Update]:
    """Say with a fixed text that the documents hold no answer."""
    yield from ()
    if has_evidence(state):
        reason = "evidence_discarded"  # only the budget-first order can get here with evidence
    elif state["attempts"][-1]["chunks"]:
        reason = "nothing_passed"
    else:
        reason = "nothing_retrieved"
    return _end(state, outcome="no_results", reason=reason, reply=NO_RESULTS_REPLY)


def cited_ids(reply: str, chunks: list[Chunk]) -> list[str]:
    """Return the ids of the given chunks that the reply cites as `[id]`, in order, each once."""
    known = {chunk["id"] for chunk in chunks}
    found = re.findall(r"\[([^\[\]]+)\]", reply)
    return list(dict.fromkeys(id_ for id_ in found if id_ in known))


def _end(
    state: SupportState, *, outcome: Outcome, reason: str | None, reply: str
) -> dict[str, Any]:
    """Write the end of the turn; the history grows only here, so a crashed turn leaves none."""
    said = exchange(state["question"], reply, outcome)
    return {"outcome": outcome, "reason": reason, "reply": reply, "messages": said}


def _noted(state: SupportState, role: Role, judged: list[Judgement[Any]]) -> dict[str, Any]:
    """Return the update that adds the failed judgements among `judged` to the turn's list."""
    failures = _failures(role, judged)
    return {"judgement_failures": [*state["judgement_failures"], *failures]} if failures else {}


def _failures(role: Role, judged: list[Judgement[Any]]) -> list[JudgementFailure]:
    return [{"role": role, "reason": j.failure} for j in judged if j.failure is not None]


def _is_above(chunk: Chunk, min_score: float | None) -> bool:
    return min_score is None or chunk["score"] is None or chunk["score"] >= min_score
