"""Draft, critique, revise: the second seed's loop, a subgraph in place of the single answer call.

The router is pure and checks the cap first, so that no score overrides it. The second draft reads
the first one and its critique, which is replaced in the state, never appended. Giving up is a node:
it writes status, reason and the best draft.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from agent.citations import cited_ids, with_unknown_told
from agent.context import AgentContext
from agent.state import Attempt, Chunk, JudgementFailure, SupportState
from agent.steps import BodyNode, Steps
from agent.updates import (
    FAILED_ANSWER_REPLY,
    Update,
    end_turn,
    evidence_reason,
    kept_chunks,
    noted,
)

PASS_SCORE: Final = 0.8
"""Score of a critique from which a draft is published, 0 to 1. Source: the published router."""
BEST_DRAFT_NOTE: Final = "I could not make sure that this answer is right and complete: "
"""Stands before the best draft of a loop that gave up."""


class ReviseInput(TypedDict, total=False):
    """What the loop reads of the turn; the history stays outside, or it would be added twice."""

    question: str
    standalone: str
    chunks: list[Chunk]
    attempts: list[Attempt]
    is_fallback: bool
    llm_calls: int
    judgement_failures: list[JudgementFailure]


class ReviseState(SupportState, total=False):
    """The turn, and what belongs to the loop alone; nothing of it outlives the request."""

    drafts: int
    max_drafts: int
    draft: str
    draft_failure: str | None
    """Why the latest draft was not written."""
    score: float | None
    """Of the latest draft, 0 to 1; None when the critic gave no verdict."""
    critique: str
    """What to change in the latest draft."""
    best_draft: str
    best_score: float
    status: Literal["published", "gave_up", "failed"]


AfterDraft = Literal["critique", "give_up"]
AfterCritique = Literal["revise", "finish", "give_up"]


def route_after_draft(state: ReviseState) -> AfterDraft:
    """Judge a draft that was written; without one there is nothing to judge."""
    return "give_up" if state["draft_failure"] else "critique"


def route_after_critique(state: ReviseState) -> AfterCritique:
    """Give up at the cap whatever the score; else revise below the pass score; else finish.

    A draft without a verdict is let through, as an unchecked question and an ungraded chunk are.
    """
    if state["drafts"] >= state["max_drafts"]:
        return "give_up"
    score = state["score"]
    if score is not None and score < PASS_SCORE:
        return "revise"
    return "finish"


def write_draft(state: ReviseState, context: AgentContext) -> Steps[Update]:
    """Answer from the chunks, from the second draft on with the last one and its critique."""
    kept, made = kept_chunks(state), state.get("drafts", 0)
    if made == 0:
        judged = yield from context.model.answer(state["standalone"], kept)
    else:
        judged = yield from context.model.revise(
            state["standalone"], kept, draft=state["draft"], critique=state["critique"]
        )
    return {
        "drafts": made + 1,
        "max_drafts": context.max_drafts,
        "draft": judged.value or state.get("draft", ""),
        "draft_failure": judged.failure,
        **noted(state, "revise" if made else "answer", [judged]),
    }


def critique_draft(state: ReviseState, context: AgentContext) -> Steps[Update]:
    """Judge the draft, replace the critique of the last one, and remember the best draft."""
    draft = state["draft"]
    judged = yield from context.model.critique(state["standalone"], kept_chunks(state), draft)
    found = judged.value
    score = found["score"] if found else None
    best = state.get("best_score", -1.0)
    update: Update = {"score": score, "critique": found["note"] if found else ""}
    if "best_draft" not in state or (score is not None and score > best):
        update |= {"best_draft": draft, "best_score": best if score is None else score}
    return {**update, **noted(state, "critique", [judged])}


def publish_draft(state: ReviseState, _: AgentContext) -> Steps[Update]:
    """Reply with the draft that passed, or that could not be judged."""
    yield from ()
    reason = "uncritiqued_draft" if state["score"] is None else evidence_reason(state)
    return _reply(state, "answered", reason, state["draft"])


def give_up(state: ReviseState, _: AgentContext) -> Steps[Update]:
    """Hand over the best draft and say why no better one came; without any, apologise."""
    yield from ()
    failure = state["draft_failure"]
    if "best_draft" not in state:
        end = end_turn(state, outcome="error", reason=failure, reply=FAILED_ANSWER_REPLY)
        return {"status": "failed", **end}
    reason = "draft_failed" if failure else "drafts_used"
    return _reply(state, "gave_up", reason, state["best_draft"])


def _reply(
    state: ReviseState, outcome: Literal["answered", "gave_up"], reason: str, draft: str
) -> Update:
    """Write the end of a loop that has a draft; its citations are the draft's."""
    kept = kept_chunks(state)
    note = "" if outcome == "answered" else BEST_DRAFT_NOTE
    reply = f"{note}{with_unknown_told(draft, kept)}"
    return {
        "status": "published" if outcome == "answered" else "gave_up",
        "citations": cited_ids(draft, kept),
        **end_turn(state, outcome=outcome, reason=reason, reply=reply),
    }


def build_revise_graph() -> CompiledStateGraph[ReviseState, AgentContext, Any, Any]:
    """Return the loop as a graph that stands in for the answering node."""
    graph = StateGraph(
        ReviseState,
        context_schema=AgentContext,
        input_schema=ReviseInput,
        output_schema=SupportState,
    )
    for body in (write_draft, critique_draft, publish_draft, give_up):
        graph.add_node(body.__name__, BodyNode(body))
    graph.add_edge(START, "write_draft")
    graph.add_conditional_edges(
        "write_draft", route_after_draft, {"critique": "critique_draft", "give_up": "give_up"}
    )
    graph.add_conditional_edges(
        "critique_draft",
        route_after_critique,
        {"revise": "write_draft", "finish": "publish_draft", "give_up": "give_up"},
    )
    graph.add_edge("publish_draft", END)
    graph.add_edge("give_up", END)
    return graph.compile(name="revise")
