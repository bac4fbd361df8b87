"""The first lesson's graph: it rewrites until it finds evidence, and nothing counts the rewrites.

The nodes are stubs and the grader always says no, so only LangGraph's recursion limit ends a run.
Like the published graph it grades inside a conditional edge: a router that does work. A round is
three steps (agent, retrieve, rewrite) and three model calls (agent, grader, rewrite).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph


class _State(TypedDict, total=False):
    question: str


@dataclass(slots=True)
class Tally:
    """What a run of the graph did, counted where it was done."""

    retrievals: int = 0
    llm_calls: int = 0
    ended_in: str = "answer"
    steps: int = 0
    """Graph steps taken; a run that its recursion limit ends has taken exactly that many."""


def build_unbounded_graph(tally: Tally) -> CompiledStateGraph[_State, None, Any, Any]:
    """Return the graph; its stub nodes count into `tally`."""

    def agent(state: _State) -> dict[str, Any]:  # noqa: ARG001 - a node's signature
        tally.steps += 1
        tally.llm_calls += 1
        return {}

    def retrieve(state: _State) -> dict[str, Any]:  # noqa: ARG001 - a node's signature
        tally.steps += 1
        tally.retrievals += 1
        return {}

    def grade_documents(_: _State) -> Literal["generate", "rewrite"]:
        tally.llm_calls += 1
        return "rewrite"  # the grader that always says no

    def rewrite(state: _State) -> dict[str, Any]:  # noqa: ARG001 - a node's signature
        tally.steps += 1
        tally.llm_calls += 1
        return {}

    def generate(state: _State) -> dict[str, Any]:  # noqa: ARG001 - a node's signature
        tally.steps += 1
        tally.llm_calls += 1
        return {}

    graph = StateGraph(_State)
    graph.add_node(agent)
    graph.add_node(retrieve)
    graph.add_node(rewrite)
    graph.add_node(generate)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "retrieve")
    graph.add_conditional_edges(
        "retrieve", grade_documents, {"generate": "generate", "rewrite": "rewrite"}
    )
    graph.add_edge("rewrite", "agent")
    graph.add_edge("generate", END)
    return graph.compile(name="unbounded_agent")


def run_unbounded(recursion_limit: int | None) -> Tally:
    """Run the graph on a question nothing can answer.

    Args:
        recursion_limit: Steps allowed, 1 or more; None for LangGraph's own default.
    """
    tally = Tally()
    graph = build_unbounded_graph(tally)
    config: RunnableConfig = {}
    if recursion_limit is not None:
        config["recursion_limit"] = recursion_limit
    try:
        graph.invoke({"question": "What nobody wrote down?"}, config)
    except GraphRecursionError as error:
        tally.ended_in = type(error).__name__
    return tally
