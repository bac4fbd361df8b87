"""The wiring: eight nodes, three edges that choose, branches, and the recursion limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from agent import nodes
from agent.context import AgentContext
from agent.errors import RecursionLimitTooLowError
from agent.routers import (
    GradingRouter,
    route_after_topic_check,
    route_evidence_first,
    route_unless_doubtful,
)
from agent.state import SupportState
from agent.steps import BodyNode

NAME = "support_agent"
SupportGraph = CompiledStateGraph[SupportState, AgentContext, Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """What may be added to the eight nodes; all off, the graph is the published one."""

    clarify: bool = False
    """Ask back on a doubtful refusal; needs the topic check."""


def build_graph(
    *,
    topic_check: bool = True,
    branches: Branches = Branches(),
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
    bodies = [
        nodes.enhance_query,
        nodes.fetch_content,
        nodes.assess_relevance,
        nodes.generate_response,
        nodes.optimize_query,
        nodes.handle_no_results,
    ]
    if topic_check:
        bodies += [nodes.validate_topic, nodes.handle_off_topic]
    for body in bodies:
        graph.add_node(body.__name__, BodyNode(body))
    graph.add_edge(START, "enhance_query")
    if topic_check:
        graph.add_edge("enhance_query", "validate_topic")
        routes = ["fetch_content", "handle_off_topic"]
        if branches.clarify:
            graph.add_node("ask_clarification", BodyNode(nodes.ask_clarification))
            graph.add_edge("ask_clarification", END)
            routes.append("ask_clarification")
        graph.add_conditional_edges(
            "validate_topic",
            route_unless_doubtful if branches.clarify else route_after_topic_check,
            {route: route for route in routes},
        )
        graph.add_edge("handle_off_topic", END)
    else:
        graph.add_edge("enhance_query", "fetch_content")
    graph.add_edge("fetch_content", "assess_relevance")
    graph.add_conditional_edges(
        "assess_relevance",
        route_after_grading,
        {
            "generate_response": "generate_response",
            "optimize_query": "optimize_query",
            "handle_no_results": "handle_no_results",
        },
    )
    graph.add_edge("optimize_query", "fetch_content")
    graph.add_edge("generate_response", END)
    graph.add_edge("handle_no_results", END)
    return graph.compile(checkpointer=checkpointer, name=NAME)


def longest_path(max_rewrites: int) -> int:
    """Return the steps of the longest possible turn: enhance, check, 2 + 3 a rewrite, reply."""
    return 3 * max_rewrites + 5


def recursion_limit(max_rewrites: int, wanted: int | None = None) -> int:
    """Return the recursion limit of a run: the backstop under the bound, never the bound itself.

    LangGraph raises when a run would take as many steps as the limit, so the limit is strictly
    larger than the longest path.

    Args:
        max_rewrites: The bound, 0 or more.
        wanted: A limit of the caller's; None for the smallest one that fits.

    Raises:
        RecursionLimitTooLowError: The longest turn would not fit into `wanted`.
    """
    smallest = longest_path(max_rewrites) + 1
    if wanted is None:
        return smallest
    if wanted < smallest:
        raise RecursionLimitTooLowError(wanted, smallest, max_rewrites)
    return wanted
