"""Nodes of every kind: tried again, timed out, cached, of steps, of graphs, with threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from graphs import Scripted
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.config import ContextThreadPoolExecutor
from langgraph.cache.memory import InMemoryCache
from langgraph.errors import NodeTimeoutError
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy, RetryPolicy, TimeoutPolicy
from loop_graphs import LOOP_ROLES, line_graph, loop_graph
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from telemetry.testing import Kit

QUESTION = {"question": "where is it?"}
RETRY = RetryPolicy(max_attempts=3, initial_interval=0, jitter=False, retry_on=ConnectionError)


# -- tried again --------------------------------------------------------------------------------


def flaky(failures: int) -> Any:
    """Return a rewriter that fails some times and then works."""
    left = [failures]

    def rephrase(_: Any) -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise ConnectionError
        return "other words"

    return rephrase


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_node_that_is_tried_again_is_one_execution(is_async: bool) -> None:
    kit = Kit()
    graph = loop_graph(
        bound=1,
        rephrase=flaky(2),
        is_async=is_async,
        node_options={"rephrase": {"retry_policy": RETRY}},
    )
    graph = kit.watch(graph, LOOP_ROLES)
    await graph.ainvoke(QUESTION) if is_async else graph.invoke(QUESTION)

    span = kit.span("node rephrase")
    assert span.attributes["rag.tries"] == 3
    assert [(e.name, dict(e.attributes)) for e in span.events] == [
        ("rag.retry", {"error.type": "ConnectionError"})
    ] * 2
    assert span.status.status_code is StatusCode.UNSET
    assert kit.turn.rewrites == 1
    assert kit.outcomes() == {"no_results": 1}
    assert kit.value("rag_node_errors_total") == 0
    assert kit.value("rag_node_duration_seconds_count", node="rephrase") == 1


def test_a_node_that_is_tried_in_vain_is_one_failed_execution() -> None:
    kit = Kit()
    graph = loop_graph(rephrase=flaky(9), node_options={"rephrase": {"retry_policy": RETRY}})
    with pytest.raises(ConnectionError):
        kit.watch(graph, LOOP_ROLES).invoke(QUESTION)

    span = kit.span("node rephrase")
    assert (span.attributes["rag.tries"], span.attributes["error.type"]) == (3, "ConnectionError")
    assert span.status.status_code is StatusCode.ERROR
    assert [e.name for e in span.events] == ["rag.retry", "rag.retry", "exception"]
    assert kit.counted("rag_node_errors_total", "node") == {("rephrase",): 1}
    assert kit.outcomes() == {"error": 1}


def test_an_error_that_is_not_tried_again_ends_the_node() -> None:
    kit = Kit()

    def fail(_: dict[str, Any]) -> None:
        raise ValueError

    graph = StateGraph(dict)
    graph.add_node("fail", fail, retry_policy=RETRY)
    graph.add_edge(START, "fail")
    with pytest.raises(ValueError):
        kit.watch(graph.compile(name="once")).invoke({})

    assert "rag.tries" not in kit.span("node fail").attributes
    assert kit.counted("rag_node_errors_total", "node") == {("fail",): 1}


async def test_a_node_that_times_out_is_an_error_of_the_node() -> None:
    kit = Kit()

    async def slow(_: dict[str, Any]) -> None:
        await asyncio.sleep(10)

    graph = StateGraph(dict)
    graph.add_node("slow", slow, timeout=TimeoutPolicy(run_timeout=0.01))
    graph.add_edge(START, "slow")
    with pytest.raises(NodeTimeoutError):
        await kit.watch(graph.compile(name="late")).ainvoke({})

    assert kit.counted("rag_node_errors_total", "node", "error_type") == {
        ("slow", "NodeTimeoutError"): 1
    }
    assert kit.span("node slow").status.status_code is StatusCode.ERROR
    assert kit.outcomes() == {"error": 1}


def test_a_failed_node_that_a_handler_makes_good_does_not_fail_the_turn() -> None:
    kit = Kit()

    def fail(_: dict[str, Any]) -> None:
        raise ValueError

    def make_good(_: dict[str, Any]) -> dict[str, Any]:
        return {"answer": "sorry"}

    graph = StateGraph(dict)
    graph.add_node("fail", fail, error_handler=make_good)
    graph.add_edge(START, "fail")
    kit.watch(graph.compile(name="handled")).invoke({})

    assert kit.outcomes() == {"answered": 1}
    assert kit.counted("rag_node_errors_total", "node") == {("fail",): 1}
    assert kit.span("invoke_workflow handled").status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("is_default", "handler"),
    [(False, "__error_handler__fail"), (True, "__default_error_handler__")],
    ids=["of one node", "of all nodes"],
)
async def test_an_error_handler_is_a_node_with_a_span_a_time_and_its_model_calls(
    is_default: bool, handler: str, is_async: bool
) -> None:
    kit = Kit()
    model = Scripted()

    def fail(_: dict[str, Any]) -> None:
        raise ValueError

    def apologise(_: dict[str, Any]) -> dict[str, Any]:
        trace.get_tracer("mine", tracer_provider=kit.provider).start_span("mine").end()
        return {"answer": model.invoke("say sorry").text}

    graph = StateGraph(dict)
    if is_default:
        graph.set_node_defaults(error_handler=apologise)
    graph.add_node("fail", fail, **({} if is_default else {"error_handler": apologise}))
    graph.add_edge(START, "fail")
    watched = kit.watch(graph.compile(name="handled"), {handler: "answer"})
    await watched.ainvoke({}) if is_async else watched.invoke({})

    assert kit.tree() == (
        "invoke_workflow handled",
        [("node fail", []), (f"node {handler}", [("mine", []), ("chat scripted-1", [])])],
    )
    assert kit.value("rag_node_duration_seconds_count", node=handler, role="answer") == 1
    assert kit.counted("rag_llm_calls_total", "role") == {("answer",): 1}
    assert kit.outcomes() == {"answered": 1}
    assert kit.turn.last_node == handler


def test_an_error_handler_that_fails_too_is_an_error_of_its_own() -> None:
    kit = Kit()

    def fail(_: dict[str, Any]) -> None:
        raise ValueError

    def fail_too(_: dict[str, Any]) -> None:
        raise LookupError

    graph = StateGraph(dict)
    graph.add_node("fail", fail, error_handler=fail_too)
    graph.add_edge(START, "fail")
    with pytest.raises(LookupError):
        kit.watch(graph.compile(name="handled")).invoke({})

    assert kit.counted("rag_node_errors_total", "node", "error_type") == {
        ("fail", "ValueError"): 1,
        ("__error_handler__fail", "LookupError"): 1,
    }
    assert kit.outcomes() == {"error": 1}


def test_nothing_but_langgraphs_own_start_goes_without_a_span() -> None:
    kit = Kit()

    def __mine__(_: dict[str, Any]) -> dict[str, Any]:
        return {}

    kit.watch(line_graph(__mine__)).invoke({})

    assert kit.tree() == ("invoke_workflow line", [("node __mine__", [])])


# -- cached -------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_node_from_the_cache_is_noted_and_read(is_async: bool) -> None:
    kit = Kit()
    graph = loop_graph(
        bound=0,
        is_async=is_async,
        cache=InMemoryCache(),
        node_options={"search": {"cache_policy": CachePolicy(key_func=lambda _: "all")}},
    )
    graph = kit.watch(graph, LOOP_ROLES)
    for _ in range(2):
        await graph.ainvoke(QUESTION) if is_async else graph.invoke(QUESTION)

    first, second = kit.named("node search")
    assert "rag.cached" not in first.attributes
    assert second.attributes["rag.cached"] is True
    assert second.attributes["rag.chunk.ids"] == first.attributes["rag.chunk.ids"]
    assert [len(turn.retrievals) for turn in kit.turns] == [1, 1]
    assert kit.value("rag_node_duration_seconds_count", node="search") == 1
    assert kit.outcomes() == {"no_results": 2}


def test_the_cache_of_the_original_serves_the_watched_graph() -> None:
    kit = Kit()
    runs: list[int] = []

    def work(_: dict[str, Any]) -> dict[str, Any]:
        runs.append(1)
        return {"x": 1}

    graph = StateGraph(dict)
    graph.add_node("work", work, cache_policy=CachePolicy(key_func=lambda _: "all"))
    graph.add_edge(START, "work")
    compiled = graph.compile(name="kept", cache=InMemoryCache())
    compiled.invoke({})
    kit.watch(compiled).invoke({})

    assert runs == [1]


# -- made of steps ------------------------------------------------------------------------------


def chain_graph() -> Any:
    prompt = ChatPromptTemplate.from_messages([("human", "{question}")])
    shout = RunnableLambda(lambda value: {"answer": value.to_string().upper()}).with_config(
        run_name="shout"
    )
    graph = StateGraph(dict)
    graph.add_node("reply", prompt | shout)
    graph.add_edge(START, "reply")
    return graph.compile(name="chain")


async def test_a_node_made_of_steps_is_one_execution_with_the_same_events() -> None:
    kit = Kit()
    graph = chain_graph()

    async def events(graph: Any) -> list[tuple[str, str, list[str]]]:
        stream = graph.astream_events({"question": "hi"}, version="v2")
        return [(e["event"], e["name"], sorted(e["tags"])) async for e in stream]

    watched = kit.watch(graph, {"reply": "answer"})

    assert await events(watched) == await events(graph)
    assert watched.invoke({"question": "hi"}) == graph.invoke({"question": "hi"})
    assert len(kit.named("node reply")) == 2
    assert kit.turn.reply == "HUMAN: HI"
    assert kit.outcomes() == {"answered": 2}


def test_a_step_that_raises_ends_the_node() -> None:
    kit = Kit()

    def fail(_: Any) -> None:
        raise ValueError

    graph = StateGraph(dict)
    graph.add_node("reply", RunnableLambda(lambda s: s) | RunnableLambda(fail))
    graph.add_edge(START, "reply")
    with pytest.raises(ValueError):
        kit.watch(graph.compile(name="chain")).invoke({})

    assert kit.span("node reply").attributes["error.type"] == "ValueError"
    assert kit.outcomes() == {"error": 1}


# -- graphs in graphs ---------------------------------------------------------------------------


def nested_graph(inner: Any) -> Any:
    graph = StateGraph(dict)
    graph.add_node("prepare", lambda _: {})
    graph.add_node("loop", inner)
    graph.add_edge(START, "prepare")
    graph.add_edge("prepare", "loop")
    return graph.compile(name="outer")


INNER_TREE = [
    ("node loop/begin", []),
    ("node loop/search", []),
    ("node loop/judge", []),
    ("node loop/give_up", []),
]


def test_nodes_of_a_subgraph_are_named_by_their_path_and_have_their_roles() -> None:
    kit = Kit()
    graph = nested_graph(loop_graph(bound=0))
    kit.watch(graph, {f"loop/{n}": role for n, role in LOOP_ROLES.items()}).invoke(QUESTION)

    assert kit.tree() == (
        "invoke_workflow outer",
        [("node prepare", []), ("node loop", INNER_TREE)],
    )
    assert kit.outcomes() == {"no_results": 1}
    assert kit.turn.retrievals[0].chunk_ids == ("a0", "b")
    assert kit.value("rag_node_duration_seconds_count", node="loop/search", role="retrieve") == 1
    assert kit.counted("rag_routes_total", "router", "route") == {("loop/judge", "give_up"): 1}


def test_a_graph_and_its_subgraph_both_instrumented_are_one_turn() -> None:
    kit = Kit()
    inner = kit.watch(loop_graph(bound=0), LOOP_ROLES)
    kit.watch(nested_graph(inner)).invoke(QUESTION)

    assert kit.counted("rag_turns_total", "graph", "outcome") == {("outer", "no_results"): 1}
    assert [s.name for s in kit.spans].count("node search") == 1
    assert len(kit.trace_ids()) == 1
    assert kit.turn.retrievals[0].chunk_ids == ("a0", "b")


def test_an_instrumented_graph_called_in_a_node_is_a_part_of_the_turn() -> None:
    kit = Kit()
    inner = kit.watch(loop_graph(bound=0), LOOP_ROLES)

    def ask(state: dict[str, Any]) -> dict[str, Any]:
        return {"answer": inner.invoke({"question": state["question"]})["answer"]}

    kit.watch(line_graph(ask)).invoke(QUESTION)

    assert kit.value("rag_turns_total") == 1
    assert kit.tree()[1][0][0] == "node ask"
    assert [name for name, _ in kit.tree()[1][0][1]] == [
        "node begin", "node search", "node judge", "node give_up",
    ]  # fmt: skip


def test_an_instrumented_graph_in_one_that_is_not_is_a_turn() -> None:
    kit = Kit()
    nested_graph(kit.watch(loop_graph(bound=0), LOOP_ROLES)).invoke(QUESTION)

    assert kit.counted("rag_turns_total", "graph", "outcome") == {("loop", "no_results"): 1}


# -- threads of the node's own ------------------------------------------------------------------


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document("text", id=query, metadata={"score": 0.5})]


@pytest.mark.parametrize(
    ("pool", "parent"),
    [
        pytest.param(ContextThreadPoolExecutor, "node work", id="a pool that carries the context"),
        pytest.param(ThreadPoolExecutor, None, id="a bare pool loses it"),
    ],
)
@pytest.mark.parametrize("mode", ["invoke", "ainvoke", "astream"])
async def test_a_pool_in_a_node_counts_one_turn(mode: str, pool: Any, parent: str | None) -> None:
    kit = Kit()

    def work(_: dict[str, Any]) -> dict[str, Any]:
        with pool(max_workers=4) as executor:
            list(executor.map(Shelf().invoke, ["a", "b", "c", "d"]))
        return {}

    graph = kit.watch(line_graph(work))
    if mode == "invoke":
        graph.invoke({})
    elif mode == "ainvoke":
        await graph.ainvoke({})
    else:
        _ = [chunk async for chunk in graph.astream({})]

    assert kit.value("rag_turns_total") == 1
    assert len(kit.trace_ids()) == 1
    below = [("retrieval Shelf", [])] * 4 if parent else []
    assert kit.tree() == ("invoke_workflow line", [("node work", below)])


def test_a_call_whose_config_is_passed_by_hand_finds_its_node_from_any_thread() -> None:
    kit = Kit()

    def work(_: dict[str, Any], config: Any) -> dict[str, Any]:
        with ThreadPoolExecutor(max_workers=1) as executor:
            executor.submit(Shelf().invoke, "a", config).result()
        return {}

    from langchain_core.runnables import RunnableConfig

    work.__annotations__["config"] = RunnableConfig
    kit.watch(line_graph(work)).invoke({})

    assert kit.tree() == (
        "invoke_workflow line",
        [("node work", [("retrieval Shelf", [])])],
    )
