"""Every way of calling a graph: one turn is one trace, and its nodes hang where they should."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from langgraph.types import Send
from loop_graphs import LOOP_ROLES, line_graph, loop_graph
from opentelemetry import trace

from telemetry.testing import Kit

QUESTION = {"question": "where is it?"}
TREE = (
    "invoke_workflow loop",
    [
        ("node begin", []),
        ("node search", []),
        ("node judge", []),
        ("node rephrase", []),
        ("node search", []),
        ("node judge", []),
        ("node give_up", []),
    ],
)


async def drain(chunks: AsyncIterator[Any]) -> None:
    async for _ in chunks:
        pass


MODES: dict[str, Callable[[Any], Any]] = {
    "invoke": lambda g: g.invoke(QUESTION),
    "invoke version 2": lambda g: g.invoke(QUESTION, version="v2"),
    "stream": lambda g: list(g.stream(QUESTION)),
    "stream of every mode": lambda g: list(
        g.stream(QUESTION, stream_mode=["values", "updates", "custom", "messages", "debug"])
    ),
    "stream with subgraphs": lambda g: list(g.stream(QUESTION, subgraphs=True)),
    "batch": lambda g: g.batch([QUESTION]),
    "batch as completed": lambda g: list(g.batch_as_completed([QUESTION])),
    "with_config": lambda g: g.with_config(tags=["x"]).invoke(QUESTION),
    "in a sequence": lambda g: (g | (lambda state: state)).invoke(QUESTION),
}
ASYNC_MODES: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "ainvoke": lambda g: g.ainvoke(QUESTION),
    "astream": lambda g: drain(g.astream(QUESTION)),
    "astream of every mode": lambda g: drain(
        g.astream(QUESTION, stream_mode=["values", "updates", "custom", "messages", "debug"])
    ),
    "astream_events": lambda g: drain(g.astream_events(QUESTION, version="v2")),
    "abatch": lambda g: g.abatch([QUESTION]),
}


@pytest.mark.parametrize("mode", MODES)
def test_sync_call_is_one_trace_and_one_turn(mode: str) -> None:
    kit = Kit()

    MODES[mode](kit.watch(loop_graph(bound=1), LOOP_ROLES))

    assert kit.tree() == TREE
    assert kit.outcomes() == {"no_results": 1}
    assert kit.value("rag_open_turns") == 0


@pytest.mark.parametrize("is_async", [False, True], ids=["sync nodes", "async nodes"])
@pytest.mark.parametrize("mode", ASYNC_MODES)
async def test_async_call_is_one_trace_and_one_turn(mode: str, is_async: bool) -> None:
    kit = Kit()

    await ASYNC_MODES[mode](kit.watch(loop_graph(bound=1, is_async=is_async), LOOP_ROLES))

    assert kit.tree() == TREE
    assert kit.outcomes() == {"no_results": 1}
    assert kit.value("rag_open_turns") == 0


async def test_twenty_turns_at_a_time_stay_apart() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=1, is_async=True), LOOP_ROLES)

    await asyncio.gather(*(graph.ainvoke(QUESTION) for _ in range(20)))

    assert len(kit.trace_ids()) == 20
    assert [kit.tree(root) for root in kit.roots()] == [TREE] * 20
    assert kit.outcomes() == {"no_results": 20}


def test_twenty_threads_stay_apart() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=1), LOOP_ROLES)

    graph.batch([QUESTION] * 20, {"max_concurrency": 8})

    assert [kit.tree(root) for root in kit.roots()] == [TREE] * 20
    assert kit.value("rag_turns_total") == 20


async def test_fifty_turns_after_one_another_are_fifty_roots() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=0, is_async=True), LOOP_ROLES)
    for _ in range(50):
        await graph.ainvoke(QUESTION)

    assert len(kit.trace_ids()) == 50


def test_a_callers_span_is_the_parent_of_the_turn() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=0), LOOP_ROLES)
    with kit.provider.get_tracer("host").start_as_current_span("request"):
        graph.invoke(QUESTION)

    assert kit.tree()[0] == "request"
    assert kit.tree()[1][0][0] == "invoke_workflow loop"


def test_turns_of_one_thread_are_traces_of_their_own() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=0), LOOP_ROLES)
    thread = "5f0c2a9e-0b1d-4f0e-9a52-6f1f5b1f0c77"
    config = {"configurable": {"thread_id": thread}}
    first = graph.stream(QUESTION, config)
    next(first)
    second = graph.stream(QUESTION, config)
    next(second)
    list(first), list(second)
    graph.invoke(QUESTION, config)
    graph.invoke(QUESTION, config)

    assert len(kit.trace_ids()) == 4
    ids = {span.attributes["gen_ai.conversation.id"] for span in kit.roots()}
    assert ids == {thread}


@pytest.mark.parametrize("mode", ["invoke", "stream", "batch", "with_config"])
def test_a_span_opened_in_a_node_is_the_nodes_child(mode: str) -> None:
    kit = Kit()

    def work(_: dict[str, Any]) -> dict[str, Any]:
        with trace.get_tracer("user", tracer_provider=kit.provider).start_as_current_span("query"):
            return {}

    MODES[mode](kit.watch(line_graph(work)))

    assert kit.tree() == ("invoke_workflow line", [("node work", [("query", [])])])


@pytest.mark.parametrize("mode", ["ainvoke", "astream", "astream_events", "abatch"])
async def test_a_span_opened_in_an_async_node_is_the_nodes_child(mode: str) -> None:
    kit = Kit()

    async def work(_: dict[str, Any]) -> dict[str, Any]:
        with trace.get_tracer("user", tracer_provider=kit.provider).start_as_current_span("query"):
            await asyncio.sleep(0)
            return {}

    await ASYNC_MODES[mode](kit.watch(line_graph(work)))

    assert kit.tree() == ("invoke_workflow line", [("node work", [("query", [])])])


def fan_out_graph(worker: Callable[[Any], Any], n: int = 4) -> Any:
    from langgraph.graph import START, StateGraph

    graph = StateGraph(dict)
    graph.add_node("split", lambda _: {})
    graph.add_node("worker", worker)
    graph.add_edge(START, "split")
    graph.add_conditional_edges("split", lambda _: [Send("worker", {"n": i}) for i in range(n)])
    return graph.compile(name="fan")


def test_send_fans_out_into_threads_under_the_same_turn() -> None:
    kit = Kit()
    together = threading.Barrier(4, timeout=5)

    def worker(_: dict[str, Any]) -> None:
        together.wait()  # all four run at the same time, or this raises

    kit.watch(fan_out_graph(worker)).invoke({})

    assert kit.tree() == ("invoke_workflow fan", [("node split", []), *[("node worker", [])] * 4])
    assert kit.counted("rag_routes_total", "router", "route") == {("split", "worker"): 4}


async def test_send_fans_out_into_tasks_under_the_same_turn() -> None:
    kit = Kit()

    async def worker(_: dict[str, Any]) -> None:
        await asyncio.sleep(0)

    await kit.watch(fan_out_graph(worker)).ainvoke({})

    assert kit.tree() == ("invoke_workflow fan", [("node split", []), *[("node worker", [])] * 4])


# -- streams that nobody reads to their end -----------------------------------------------------


def abandon_by_break(graph: Any) -> None:
    for _ in graph.stream(QUESTION):
        break


def abandon_by_del(graph: Any) -> None:
    chunks = graph.stream(QUESTION)
    next(chunks)
    del chunks
    gc.collect()


def abandon_by_close(graph: Any) -> None:
    chunks = graph.stream(QUESTION)
    next(chunks)
    chunks.close()


def abandon_by_an_error_of_the_consumer(graph: Any) -> None:
    with pytest.raises(RuntimeError):
        for _ in graph.stream(QUESTION):
            raise RuntimeError


@pytest.mark.parametrize(
    "abandon",
    [abandon_by_break, abandon_by_del, abandon_by_close, abandon_by_an_error_of_the_consumer],
    ids=lambda f: f.__name__.replace("_", " "),
)
def test_an_abandoned_stream_is_a_cancelled_turn(
    abandon: Callable[[Any], None], caplog: pytest.LogCaptureFixture
) -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(bound=1), LOOP_ROLES)
    with caplog.at_level(logging.DEBUG, "opentelemetry"):
        abandon(graph)
        gc.collect()
        graph.invoke(QUESTION)

    assert kit.outcomes() == {"cancelled": 1, "no_results": 1}
    assert len(kit.trace_ids()) == 2
    assert not any(span.status.is_ok is False for span in kit.spans)
    assert "detach" not in caplog.text
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert kit.value("rag_open_turns") == 0


async def abandon_astream_by_break(graph: Any) -> None:
    async for _ in graph.astream(QUESTION):
        break


async def abandon_astream_by_aclose(graph: Any) -> None:
    chunks = graph.astream(QUESTION)
    await anext(chunks)
    await chunks.aclose()


async def abandon_astream_in_another_task(graph: Any) -> None:
    chunks = graph.astream(QUESTION)
    await asyncio.create_task(anext(chunks))
    await asyncio.create_task(chunks.aclose())


async def abandon_astream_events(graph: Any) -> None:
    async for event in graph.astream_events(QUESTION, version="v2"):
        if event["event"] == "on_chain_stream":
            break


async def cancel_the_task(graph: Any) -> None:
    task = asyncio.create_task(graph.ainvoke(QUESTION))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def time_out(graph: Any) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(graph.ainvoke(QUESTION), timeout=0.01)


@pytest.mark.parametrize(
    "abandon",
    [
        abandon_astream_by_break,
        abandon_astream_by_aclose,
        abandon_astream_in_another_task,
        abandon_astream_events,
        cancel_the_task,
        time_out,
    ],
    ids=lambda f: f.__name__.replace("_", " "),
)
async def test_an_abandoned_async_run_is_a_cancelled_turn(
    abandon: Callable[[Any], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    kit = Kit()

    async def wait(_: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(10)
        return {}

    async def start(_: dict[str, Any]) -> dict[str, Any]:
        return {}

    graph = kit.watch(line_graph(start, wait))
    with caplog.at_level(logging.DEBUG, "opentelemetry"):
        await abandon(graph)
        gc.collect()
        for _ in range(100):  # a dropped generator is closed by the loop, in some rounds of it
            await asyncio.sleep(0)

    assert kit.outcomes() == {"cancelled": 1}
    assert not any(span.status.is_ok is False for span in kit.spans)
    assert "detach" not in caplog.text
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert kit.value("rag_open_turns") == 0


def test_a_stream_that_is_never_begun_is_no_turn() -> None:
    kit = Kit()
    graph = kit.watch(loop_graph(), LOOP_ROLES)
    graph.stream(QUESTION).close()

    assert kit.value("rag_turns_total") == 0
    assert kit.spans == []
