"""The wiring: eight nodes, three edges that choose, branches, and the recursion limit."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from agent import nodes
from agent.context import AgentContext
from agent.errors import RecursionLimitTooLowError
from agent.revise import build_revise_graph
from agent.routers import (
    GradingRouter,
    route_after_fallback,
    route_after_topic_check,
    route_evidence_first,
    route_unless_doubtful,
    with_fallback,
)
from agent.settings import EIGHT_NODES, Branches
from agent.state import SupportState
from agent.steps import BodyNode

NAME = "support_agent"
SupportGraph = CompiledStateGraph[SupportState, AgentContext, Any, Any]


def build_graph(
    *,
    topic_check: bool = True,
    branches: Branches = EIGHT_NODES,
    route_after_grading: GradingRouter = route_evidence_first,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> SupportGraph:
    """Return the compiled graph.

    Args:
        topic_check: False leaves the guardrail and its handler out, to see what they cost.
        branches: What is added to the eight nodes.
        route_after_grading: Another router, for the lab and the game day.
        checkpointer: Keeps the conversation between turns; None for single questions.
    """
    graph = StateGraph(SupportState, context_schema=AgentContext)
    for body in (
        nodes.enhance_query,
        nodes.fetch_content,
        nodes.assess_relevance,
        nodes.optimize_query,
        nodes.handle_no_results,
    ):
        graph.add_node(body.__name__, BodyNode(body))
    answering = build_revise_graph() if branches.revise else BodyNode(nodes.generate_response)
    graph.add_node("generate_response", answering)
    graph.add_edge(START, "enhance_query")
    if topic_check:
        _add_topic_check(graph, clarify=branches.clarify)
    else:
        graph.add_edge("enhance_query", "fetch_content")
    graph.add_edge("fetch_content", "assess_relevance")
    _add_grading(graph, route_after_grading, fallback=branches.fallback)
    graph.add_edge("optimize_query", "fetch_content")
    graph.add_edge("generate_response", END)
    graph.add_edge("handle_no_results", END)
    return graph.compile(checkpointer=checkpointer, name=NAME)


Builder = StateGraph[SupportState, AgentContext, SupportState, SupportState]


def _add_topic_check(graph: Builder, *, clarify: bool) -> None:
    """Add the guardrail, its handler, and where it is wanted the question back."""
    ends = [nodes.handle_off_topic, *([nodes.ask_clarification] if clarify else [])]
    for body in (nodes.validate_topic, *ends):
        graph.add_node(body.__name__, BodyNode(body))
    for body in ends:
        graph.add_edge(body.__name__, END)
    graph.add_edge("enhance_query", "validate_topic")
    graph.add_conditional_edges(
        "validate_topic",
        route_unless_doubtful if clarify else route_after_topic_check,
        _itself("fetch_content", *(body.__name__ for body in ends)),
    )


def _add_grading(graph: Builder, route: GradingRouter, *, fallback: bool) -> None:
    """Add what may follow the grading, and where it is wanted the second source."""
    routes = ["generate_response", "optimize_query", "handle_no_results"]
    if not fallback:
        graph.add_conditional_edges("assess_relevance", route, _itself(*routes))
        return
    graph.add_node("search_fallback", BodyNode(nodes.search_fallback))
    graph.add_node("assess_fallback", BodyNode(nodes.assess_fallback))
    graph.add_conditional_edges(
        "assess_relevance", with_fallback(route), _itself(*routes, "search_fallback")
    )
    graph.add_edge("search_fallback", "assess_fallback")
    graph.add_conditional_edges(
        "assess_fallback",
        route_after_fallback,
        _itself("generate_response", "handle_no_results"),
    )


def _itself(*routes: str) -> dict[Hashable, str]:
    """Return the path map of a router that names nodes; any other route raises at the edge."""
    return {route: route for route in routes}


def longest_path(max_rewrites: int, *, has_fallback: bool = False, max_drafts: int = 0) -> int:
    """Return the steps of the longest possible turn: enhance, check, 2 + 3 a rewrite, reply.

    LangGraph counts the steps of a subgraph by themselves and gives it the same limit, so the
    longer of the two paths counts, never their sum.

    Args:
        max_rewrites: The bound, 0 or more.
        has_fallback: The second source and its grading are two steps more.
        max_drafts: Drafts of the revise loop: two steps each, and its end; 0 without the loop.
    """
    outer = 3 * max_rewrites + 5 + 2 * has_fallback
    return max(outer, 2 * max_drafts + 1 if max_drafts else 0)


def recursion_limit(
    max_rewrites: int,
    wanted: int | None = None,
    *,
    has_fallback: bool = False,
    max_drafts: int = 0,
) -> int:
    """Return the recursion limit of a run: the backstop under the bound, never the bound itself.

    LangGraph raises when a run would take as many steps as the limit, so the limit is strictly
    larger than the longest path.

    Args:
        max_rewrites: The bound, 0 or more.
        wanted: A limit of the caller's; None for the smallest one that fits.
        has_fallback: As of `longest_path`.
        max_drafts: As of `longest_path`.

    Raises:
        RecursionLimitTooLowError: The longest turn would not fit into `wanted`.
    """
    smallest = longest_path(max_rewrites, has_fallback=has_fallback, max_drafts=max_drafts) + 1
    if wanted is None:
        return smallest
    if wanted < smallest:
        raise RecursionLimitTooLowError(wanted, smallest, max_rewrites)
    return wanted


def limit_for(context: AgentContext, wanted: int | None = None) -> int:
    """Return the recursion limit of a run with these tools; see `recursion_limit`."""
    return recursion_limit(
        context.max_rewrites,
        wanted,
        has_fallback=context.fallback is not None,
        max_drafts=context.max_drafts,
    )
