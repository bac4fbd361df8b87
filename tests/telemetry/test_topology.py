"""What a graph's shape tells: its nodes, its routers' choices, its longest bounded path."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from loop_graphs import line_graph, loop_graph

from telemetry.topology import node_paths, routes, steps_needed


def nested() -> Any:
    graph = StateGraph(dict)
    graph.add_node("inner", loop_graph())
    graph.add_edge(START, "inner")
    return graph.compile(name="outer")


def support_shape() -> Any:
    """Return the eight nodes of the support agent, without their work."""
    graph = StateGraph(dict)
    nodes = ["enhance", "check", "refuse", "search", "grade", "reply", "rewrite", "give_up"]
    for node in nodes:
        graph.add_node(node, lambda _: {})
    graph.add_edge(START, "enhance")
    graph.add_edge("enhance", "check")
    graph.add_conditional_edges("check", lambda _: END, ["search", "refuse"])
    graph.add_edge("search", "grade")
    graph.add_conditional_edges("grade", lambda _: END, ["reply", "rewrite", "give_up"])
    graph.add_edge("rewrite", "search")
    for node in ("refuse", "reply", "give_up"):
        graph.add_edge(node, END)
    return graph.compile()


@pytest.mark.parametrize("budget", [0, 1, 2, 5])
def test_the_longest_path_of_the_support_agent(budget: int) -> None:
    assert steps_needed(support_shape(), ["rewrite"], budget) == 3 * budget + 5


@pytest.mark.parametrize(
    ("graph", "rewriters"),
    [
        pytest.param(loop_graph(), [], id="no rewriter"),
        pytest.param(line_graph(lambda _: {}), ["<lambda>"], id="a rewriter in no loop"),
    ],
)
def test_a_path_that_cannot_be_told(graph: Any, rewriters: list[str]) -> None:
    assert steps_needed(graph, rewriters, 2) is None


def test_a_graph_too_large_to_search_is_given_up_quickly() -> None:
    graph = StateGraph(dict)
    for n in range(14):
        graph.add_node(f"n{n}", lambda _: {})
    names = [f"n{n}" for n in range(14)]
    graph.add_edge(START, "n0")
    for name in names:
        graph.add_conditional_edges(name, lambda _: END, [*names, END])

    assert steps_needed(graph.compile(), ["n3"], 2) is None


def test_paths_and_routes_of_graphs_in_graphs() -> None:
    inner = ["begin", "search", "judge", "rephrase", "reply", "give_up"]

    assert list(node_paths(nested())) == ["inner", *(f"inner/{node}" for node in inner)]
    assert routes(nested()) == {"inner/judge": ("reply", "rephrase", "give_up")}


def test_a_conditional_entry_is_a_router_named_start() -> None:
    graph = StateGraph(dict)
    graph.add_node("a", lambda _: {})
    graph.add_conditional_edges(START, lambda _: "a", ["a", END])

    assert routes(graph.compile()) == {"START": ("a", "END")}
