"""Small graphs with the shape of a retrieval loop, for the tests of telemetry."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

LOOP_ROLES = {
    "search": "retrieve",
    "judge": "grade",
    "rephrase": "rewrite",
    "reply": "answer",
    "give_up": "no_results",
}


class LoopState(TypedDict, total=False):
    question: str
    query: str
    documents: list[dict[str, Any]]
    grade: str
    rewrites: int
    answer: str


def found(*ids: str, score: float = 0.5) -> list[dict[str, Any]]:
    """Return chunks with the ids, all with the score."""
    return [{"id": id_, "text": f"text of {id_}", "score": score} for id_ in ids]


def always_no(_: LoopState) -> str:
    return "no"


def loop_graph(
    *,
    bound: int = 2,
    grade: Callable[[LoopState], str] = always_no,
    search: Callable[[LoopState], list[dict[str, Any]]] | None = None,
    rephrase: Callable[[LoopState], str] | None = None,
    is_bounded: bool = True,
    is_async: bool = False,
    node_options: dict[str, dict[str, Any]] | None = None,
    **compile_options: Any,
) -> Any:
    """Return a compiled loop: search, judge, then reply, rephrase and search again, or give up.

    Args:
        bound: Rewrites allowed.
        grade: Says `yes` or `no` of the state.
        search: What a search finds; new chunks for each rewrite by default.
        rephrase: The new query.
        is_bounded: False leaves the bound out, as the widely copied tutorials do.
        is_async: The nodes are coroutine functions.
        node_options: Options of single nodes for `add_node`.
        compile_options: Options for `compile`.
    """

    def find(state: LoopState) -> LoopState:
        documents = search(state) if search else found(f"a{state.get('rewrites', 0)}", "b")
        return {"documents": documents}

    def judge(state: LoopState) -> LoopState:
        return {"grade": grade(state)}

    def rewrite(state: LoopState) -> LoopState:
        n = state.get("rewrites", 0) + 1
        return {"query": rephrase(state) if rephrase else f"query {n}", "rewrites": n}

    def reply(_: LoopState) -> LoopState:
        return {"answer": "here it is"}

    def give_up(_: LoopState) -> LoopState:
        return {"answer": "nothing found"}

    def begin(_: LoopState) -> LoopState:
        return {"rewrites": 0}

    def route(state: LoopState) -> str:
        if state["grade"] == "yes":
            return "reply"
        return "rephrase" if not is_bounded or state["rewrites"] < bound else "give_up"

    bodies = {
        "begin": begin,
        "search": find,
        "judge": judge,
        "rephrase": rewrite,
        "reply": reply,
        "give_up": give_up,
    }
    graph = StateGraph(LoopState)
    options = node_options or {}
    for name, body in bodies.items():
        graph.add_node(name, as_async(body) if is_async else body, **options.get(name, {}))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "search")
    graph.add_edge("search", "judge")
    graph.add_conditional_edges("judge", route, ["reply", "rephrase", "give_up"])
    graph.add_edge("rephrase", "search")
    graph.add_edge("reply", END)
    graph.add_edge("give_up", END)
    return graph.compile(**{"name": "loop", **compile_options})


def as_async(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the node body as a coroutine function."""

    async def run(state: LoopState) -> Any:
        return body(state)

    run.__name__ = body.__name__
    return run


def line_graph(*bodies: Callable[..., Any], name: str = "line", **compile_options: Any) -> Any:
    """Return a compiled graph whose nodes run one after the other."""
    graph = StateGraph(dict)
    for body in bodies:
        graph.add_node(body.__name__, body)
    graph.add_edge(START, bodies[0].__name__)
    for one, other in pairwise(bodies):
        graph.add_edge(one.__name__, other.__name__)
    return graph.compile(name=name, **compile_options)
