"""Pure functions that name the next node: state in, node name out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

from agent.settings import RouterOrder
from agent.state import SupportState

AfterTopicCheck = Literal["fetch_content", "handle_off_topic"]
AfterTopicCheckOrAsk = Literal["fetch_content", "ask_clarification", "handle_off_topic"]
AfterGrading = Literal["generate_response", "optimize_query", "handle_no_results"]
AfterGradingOrFallback = Literal[
    "generate_response", "optimize_query", "search_fallback", "handle_no_results"
]
AfterFallback = Literal["generate_response", "handle_no_results"]
GradingRouter = Callable[[SupportState], AfterGrading]
"""Chooses after each grading; the only router of which there are several."""


def route_after_topic_check(state: SupportState) -> AfterTopicCheck:
    """Search for a relevant question; refuse anything else."""
    topic = state["topic"]
    if topic is not None and topic["classification"] == "RELEVANT":
        return "fetch_content"
    return "handle_off_topic"


def route_unless_doubtful(state: SupportState) -> AfterTopicCheckOrAsk:
    """Ask back once before refusing with LOW confidence; else as `route_after_topic_check`.

    RELEVANT with LOW confidence is searched: that costs the customer nothing, and it is also what
    a topic check that failed says.
    """
    topic = state["topic"]
    is_doubtful = topic is not None and topic["confidence"] == "LOW"
    route = route_after_topic_check(state)
    if route == "handle_off_topic" and is_doubtful and not state["asked_back"]:
        return "ask_clarification"
    return route


def route_evidence_first(state: SupportState) -> AfterGrading:
    """Answer when the last retrieval gave evidence; otherwise rewrite while rewrites remain."""
    if has_evidence(state):
        return "generate_response"
    if state["rewrites"] < state["max_rewrites"]:
        return "optimize_query"
    return "handle_no_results"


def route_budget_first(state: SupportState) -> AfterGrading:
    """The published counter-example: it discards a hit on the last retrieval.

    For the lab and the game day only.
    """
    if state["rewrites"] >= state["max_rewrites"]:
        return "handle_no_results"
    if has_evidence(state):
        return "generate_response"
    return "optimize_query"


def with_fallback(route: GradingRouter) -> Callable[[SupportState], AfterGradingOrFallback]:
    """Return a router that asks the second source where another one finds nothing at the bound.

    Evidence that the other router discards is not looked for elsewhere.
    """

    def route_to_fallback(state: SupportState) -> AfterGradingOrFallback:
        chosen = route(state)
        if chosen == "handle_no_results" and not has_evidence(state):
            return "search_fallback"
        return chosen

    return route_to_fallback


def route_after_fallback(state: SupportState) -> AfterFallback:
    """Answer when the second source gave evidence; it is never asked twice."""
    return "generate_response" if has_evidence(state) else "handle_no_results"


def has_evidence(state: SupportState) -> bool:
    """Whether a chunk of the last retrieval passed, or was kept because its grading failed."""
    return any(chunk["grade"] != "fail" for chunk in state["attempts"][-1]["chunks"])


GRADING_ROUTERS: Final[Mapping[RouterOrder, GradingRouter]] = {
    "evidence_first": route_evidence_first,
    "budget_first": route_budget_first,
}
