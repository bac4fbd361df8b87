"""Draft, critique, revise: the second seed's loop, bounded by attempts before anything else.

The router is pure and checks the cap first, so that no score overrides it. Giving up is a node: it
writes status, reason and the best draft. The critique is replaced in the state, never appended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

MAX_ATTEMPTS = 3
"""Drafts allowed per request. Source: the published router."""
PASS_SCORE = 0.8
"""Critique score from which a draft is published, 0 to 1. Source: the published router."""


class ReviseState(TypedDict, total=False):
    """One request: the current draft, its critique, and the best draft so far."""

    request: str
    attempts: int
    draft: str
    score: float
    critique: str
    best_draft: str
    best_score: float
    status: Literal["published", "gave_up"]
    reason: str
    tokens: int


class Draft(TypedDict):
    """What a drafter returns: text and the tokens it took."""

    text: str
    tokens: int


class Critique(TypedDict):
    """What a critic returns: a score from 0 to 1, a note, and the tokens it took."""

    score: float
    note: str
    tokens: int


def route_after_critique(state: ReviseState) -> Literal["revise", "finish", "give_up"]:
    """Give up at the cap whatever the score; else revise below the pass score; else finish."""
    if state["attempts"] >= MAX_ATTEMPTS:
        return "give_up"
    if state["score"] < PASS_SCORE:
        return "revise"
    return "finish"


def build_revise_graph(
    write: Callable[[ReviseState], Draft], judge: Callable[[ReviseState], Critique]
) -> CompiledStateGraph[ReviseState, None, Any, Any]:
    """Return the loop around a drafter and a critic; both read the whole state.

    From the second attempt on the drafter finds the previous draft and its critique there.
    """

    def draft(state: ReviseState) -> ReviseState:
        made = write(state)
        return {
            "draft": made["text"],
            "attempts": state.get("attempts", 0) + 1,
            "tokens": state.get("tokens", 0) + made["tokens"],
        }

    def critique(state: ReviseState) -> ReviseState:
        judged = judge(state)
        update: ReviseState = {
            "score": judged["score"],
            "critique": judged["note"],
            "tokens": state["tokens"] + judged["tokens"],
        }
        if judged["score"] > state.get("best_score", -1.0):
            update |= {"best_draft": state["draft"], "best_score": judged["score"]}
        return update

    graph = StateGraph(ReviseState)
    graph.add_node(draft)
    graph.add_node(critique)
    graph.add_node(publish)
    graph.add_node(give_up)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "critique")
    graph.add_conditional_edges(
        "critique",
        route_after_critique,
        {"revise": "draft", "finish": "publish", "give_up": "give_up"},
    )
    graph.add_edge("publish", END)
    graph.add_edge("give_up", END)
    return graph.compile(name="revise")


def publish(state: ReviseState) -> ReviseState:  # noqa: ARG001 - a node's signature
    """Accept the draft that passed."""
    return {"status": "published", "reason": "passed"}


def give_up(state: ReviseState) -> ReviseState:
    """Hand over the best draft, and say that the attempts are used up."""
    return {"status": "gave_up", "reason": "attempts_used", "draft": state["best_draft"]}
