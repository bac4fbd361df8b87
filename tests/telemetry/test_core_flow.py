"""Control flow that is no error, graphs in graphs, and streams that nobody reads to the end."""

from __future__ import annotations

import asyncio
import gc
import logging
import operator
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Annotated, Any, TypedDict

import pytest
from fastapi.responses import StreamingResponse
from graphs import QUESTION, SUPPORT_ROLES, Scripted, support_graph
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained, GraphRecursionError, NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import RunControl
from langgraph.types import Command, RetryPolicy, Send, interrupt
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from telemetry import DEFAULT_READERS, Chunks
from telemetry.content import digest
from telemetry.testing import Kit

THREAD = {"configurable": {"thread_id": "t-1"}}


class State(TypedDict, total=False):
    question: str
    query: str
    documents: list[dict[str, Any]]
    parts: Annotated[list[Any], operator.add]
    answer: str


def compiled(
    nodes: dict[str, Any],
    edges: list[tuple[str, str]],
    build: Callable[[Any], None] = lambda _: None,
    **options: Any,
) -> Any:
    graph = StateGraph(State)
    for name, body in nodes.items():
        graph.add_node(name, body)
    for start, end in edges:
        graph.add_edge(start, end)
    build(graph)
    return graph.compile(**{"name": "g", **options})


def nothing(_: State) -> State:
    return {}


def failing(kit: Kit) -> list[str]:
    return [span.name for span in kit.spans if span.status.status_code is StatusCode.ERROR]


@pytest.fixture(autouse=True)
def no_word_of_the_context(caplog: pytest.LogCaptureFixture) -> Any:
    """Fail when a context was reset in another than the one it was set in, or a loop complained."""
    yield
    loggers = ("opentelemetry", "asyncio")
    assert [r.getMessage() for r in caplog.records if r.name.startswith(loggers)] == []
    assert trace.get_current_span() is trace.INVALID_SPAN


# -- pauses ---------------------------------------------------------------------------------------


def ask(_: State) -> State:
    return {"parts": [interrupt("may I?")]}


def paused_graph() -> Any:
    return compiled(
        {"ask": ask, "reply": lambda _: {"answer": "done"}},
        [(START, "ask"), ("ask", "reply")],
        checkpointer=InMemorySaver(),
    )


def test_who_stops_reading_at_the_pause_has_been_interrupted_not_cancelled() -> None:
    kit = Kit()
    graph = kit.watch(paused_graph(), {"reply": "answer"})
    for chunk in graph.stream({}, THREAD):
        if "__interrupt__" in chunk:
            break
    gc.collect()
    assert kit.outcomes() == {"interrupted": 1}
    graph.invoke(Command(resume=True), THREAD)

    assert kit.outcomes() == {"interrupted": 1, "answered": 1}
    assert [len(root.links) for root in kit.roots()] == [0, 1]
    assert failing(kit) == []


def test_two_pauses_at_once_are_resumed_one_by_one() -> None:
    kit = Kit()
    graph = kit.watch(
        compiled({"a": ask, "b": ask}, [(START, "a"), (START, "b")], checkpointer=InMemorySaver())
    )
    first = graph.invoke({}, THREAD)["__interrupt__"]
    graph.invoke(Command(resume={first[0].id: 1}), THREAD)
    result = graph.invoke(Command(resume={first[1].id: 2}), THREAD)

    assert sorted(result["parts"]) == [1, 2]
    assert kit.outcomes() == {"interrupted": 2, "answered": 1}
    assert [len(root.links) for root in kit.roots()] == [0, 1, 1]
    assert kit.value("rag_node_errors_total") == 0


@pytest.mark.parametrize("subgraphs", [False, True], ids=["flat", "with subgraphs"])
def test_a_pause_in_a_subgraph_pauses_the_turn(subgraphs: bool) -> None:
    def graph() -> Any:
        inner = compiled({"ask": ask}, [(START, "ask")], name="inner")
        return compiled({"sub": inner}, [(START, "sub")], checkpointer=InMemorySaver())

    kit = Kit()
    bare, watched = graph(), kit.watch(graph())
    for each in (bare, watched):
        list(each.stream({}, THREAD, subgraphs=subgraphs))
    paused = watched.get_state(THREAD, subgraphs=True)
    assert paused.next == bare.get_state(THREAD).next == ("sub",)
    assert paused.tasks[0].state.next == ("ask",)
    resumed = [list(each.stream(Command(resume=1), THREAD)) for each in (bare, watched)]

    assert resumed[0] == resumed[1]
    assert kit.outcomes() == {"interrupted": 1, "answered": 1}
    assert failing(kit) == []
    asked = kit.named("node sub/ask")
    assert [[event.name for event in span.events] for span in asked] == [["rag.interrupted"], []]


def test_a_resumed_turn_that_then_fails_is_an_error() -> None:
    def reply(_: State) -> State:
        raise ValueError

    kit = Kit()
    graph = kit.watch(
        compiled(
            {"ask": ask, "reply": reply},
            [(START, "ask"), ("ask", "reply")],
            checkpointer=InMemorySaver(),
        )
    )
    graph.invoke({}, THREAD)
    with pytest.raises(ValueError):
        graph.invoke(Command(resume=True), THREAD)

    assert kit.outcomes() == {"interrupted": 1, "error": 1}
    assert [event.name for event in kit.named("node ask")[0].events] == ["rag.interrupted"]


def test_a_users_class_that_only_has_the_name_is_an_error() -> None:
    class GraphInterrupt(Exception):
        pass

    def fail(_: State) -> State:
        raise GraphInterrupt

    kit = Kit()
    with pytest.raises(GraphInterrupt):
        kit.watch(compiled({"fail": fail}, [(START, "fail")])).invoke({})

    assert kit.outcomes() == {"error": 1}
    assert failing(kit) == ["invoke_workflow g", "node fail"]


# -- jumps ----------------------------------------------------------------------------------------


def test_a_jump_replaces_an_edge_and_the_node_it_leads_to_ends_the_turn() -> None:
    def guard(_: State) -> Command[Any]:
        return Command(goto="refuse", update={"answer": "no"})

    kit = Kit()
    graph = compiled(
        {"guard": guard, "refuse": nothing, "reply": nothing},
        [(START, "guard"), ("reply", END)],
    )
    kit.watch(graph, {"refuse": "off_topic", "reply": "answer"}).invoke({})

    assert kit.tree() == ("invoke_workflow g", [("node guard", []), ("node refuse", [])])
    assert kit.outcomes() == {"off_topic": 1}
    assert kit.value("rag_terminal_conflicts_total") == 0


def test_each_jump_of_a_list_is_counted() -> None:
    def fork(_: State) -> list[Command[Any]]:
        return [Command(goto="reply"), Command(goto=[Send("note", {})])]

    kit = Kit()
    graph = compiled({"fork": fork, "reply": nothing, "note": nothing}, [(START, "fork")])
    kit.watch(graph, {"reply": "answer"}).invoke({})

    assert kit.counted("rag_routes_total", "route") == {("reply",): 1, ("note",): 1}


def test_an_update_that_a_jump_carries_is_read() -> None:
    def search(_: State) -> Command[Any]:
        return Command(goto="reply", update={"documents": [{"id": "a", "score": 0.5}]})

    kit = Kit()
    graph = compiled({"search": search, "reply": nothing}, [(START, "search")])
    kit.watch(graph, {"search": "retrieve", "reply": "answer"}).invoke({})

    assert kit.span("node search").attributes["rag.chunk.ids"] == ("a",)
    assert kit.value("rag_retrievals_total", result="hit", attempt="0") == 1


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_jump_to_the_parent_carries_its_update_and_is_no_error(is_async: bool) -> None:
    def search(_: State) -> Command[Any]:
        return Command(
            goto="reply", graph=Command.PARENT, update={"documents": [{"id": "a", "score": 0.5}]}
        )

    kit = Kit()
    inner = compiled({"search": search}, [(START, "search")], name="inner")
    graph = kit.watch(
        compiled(
            {"reply": lambda _: {"answer": "x"}},
            [(START, "team")],
            lambda g: g.add_node("team", inner, destinations=("reply",)),
        ),
        {"team/search": "retrieve", "reply": "answer"},
    )
    result = await graph.ainvoke({}) if is_async else graph.invoke({})

    assert result["documents"] == [{"id": "a", "score": 0.5}]
    assert kit.outcomes() == {"answered": 1}
    assert failing(kit) == []
    assert kit.value("rag_node_errors_total") == 0
    assert kit.value("rag_retrievals_total", result="hit") == 1
    assert kit.tree() == (
        "invoke_workflow g",
        [("node team", [("node team/search", [])]), ("node reply", [])],
    )


# -- routers --------------------------------------------------------------------------------------


def test_routers_without_a_name_are_counted_by_the_node_they_leave_and_have_no_span() -> None:
    def build(graph: Any) -> None:
        graph.add_conditional_edges(START, lambda _: "a")
        graph.add_conditional_edges("a", lambda _: ["b", "c"], ["b", "c"])
        graph.add_conditional_edges("b", lambda _: END)

    kit = Kit()
    graph = compiled({"a": nothing, "b": nothing, "c": nothing}, [], build)
    kit.watch(graph).invoke({})

    assert kit.counted("rag_routes_total", "router", "route") == {
        ("START", "a"): 1, ("a", "b"): 1, ("a", "c"): 1, ("b", "END"): 1,
    }  # fmt: skip
    assert kit.tree() == (
        "invoke_workflow g", [("node a", []), ("node b", []), ("node c", [])],
    )  # fmt: skip


SECRET = "ZQX-CANARY bob@example.org"


@pytest.mark.parametrize(
    "choice",
    [
        pytest.param(lambda state: state["question"], id="a name"),
        pytest.param(lambda state: [Send(state["question"], {})], id="a send"),
        pytest.param(lambda state: [state["question"], "end"], id="one of two names"),
    ],
)
def test_a_route_to_no_node_is_other_whatever_text_it_is(choice: Any) -> None:
    kit = Kit()
    graph = compiled(
        {"start": nothing, "end": nothing},
        [(START, "start")],
        lambda g: g.add_conditional_edges("start", choice),
    )
    watched = kit.watch(graph)
    for n in range(70):  # more than the names that are cached
        watched.invoke({"question": f"{SECRET} {n}"})
    asked = {"question": SECRET}

    assert watched.invoke(asked) == graph.invoke(asked)
    assert kit.value("rag_routes_total", router="start", route="other") == 71
    assert "ZQX" not in kit.scrape()


def test_a_router_that_raises_is_an_error_of_the_turn_and_of_no_node() -> None:
    def route(state: State) -> str:
        raise LookupError(state["question"])

    kit = Kit()
    graph = compiled(
        {"start": nothing}, [(START, "start")], lambda g: g.add_conditional_edges("start", route)
    )
    with pytest.raises(LookupError):
        kit.watch(graph).invoke(QUESTION)

    assert kit.outcomes() == {"error": 1}
    assert failing(kit) == ["invoke_workflow g"]
    assert kit.span("invoke_workflow g").attributes["error.type"] == "LookupError"


# -- fan-out, retries, subgraphs ------------------------------------------------------------------


def fan_graph(work: Any) -> Any:
    def spread(_: State) -> list[Send]:
        return [Send("work", {"question": f"part {n}"}) for n in range(6)]

    return compiled(
        {"plan": nothing, "work": work, "join": lambda _: {"answer": "all"}},
        [(START, "plan"), ("work", "join")],
        lambda g: g.add_conditional_edges("plan", spread, ["work"]),
    )


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "tasks"])
async def test_model_calls_of_a_fan_out_hang_under_their_own_execution(is_async: bool) -> None:
    kit = Kit()
    model = Scripted()
    tracer = kit.provider.get_tracer("user")
    together = threading.Barrier(6)

    def work(state: State) -> State:
        together.wait(10)
        with tracer.start_as_current_span(state["question"]):
            return {"parts": [model.invoke(state["question"]).text]}

    async def awork(state: State) -> State:
        await asyncio.sleep(0)
        with tracer.start_as_current_span(state["question"]):
            return {"parts": [(await model.ainvoke(state["question"])).text]}

    graph = kit.watch(fan_graph(awork if is_async else work), {"work": "grade"})
    result = await graph.ainvoke({}) if is_async else await asyncio.to_thread(graph.invoke, {})

    assert result["parts"] == ["yes"] * 6
    below = sorted(str(tree) for tree in kit.tree()[1][1:-1])
    assert below == [
        str(("node work", [(f"part {n}", [("chat scripted-1", [])])])) for n in range(6)
    ]
    assert kit.value("rag_llm_calls_total", role="grade", model="scripted-1") == 6
    assert kit.value("rag_node_duration_seconds_count", node="work") == 6


def test_each_execution_of_a_fan_out_is_a_retrieval() -> None:
    def read(update: Any, _: Any) -> Chunks:
        return Chunks(tuple(update["parts"]), (0.5,))

    kit = Kit()
    graph = fan_graph(lambda state: {"parts": [state["question"]]})
    readers = replace(DEFAULT_READERS, chunks=read)
    kit.watch(graph, {"work": "retrieve"}, readers=readers).invoke({})

    assert kit.value("rag_retrievals_total", result="hit", attempt="0") == 6
    assert sorted(r.chunk_ids[0] for r in kit.turn.retrievals) == [f"part {n}" for n in range(6)]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_rewriter_that_is_tried_three_times_is_one_rewrite(is_async: bool) -> None:
    tries = 0

    def rewrite(state: State) -> State:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise ConnectionError
        return {"query": "other words"}

    async def arewrite(state: State) -> State:
        return rewrite(state)

    kit = Kit()
    policy = RetryPolicy(initial_interval=0.001, jitter=False, max_attempts=3)
    graph = compiled(
        {"search": lambda _: {"documents": [{"id": "a", "score": 0.1}]}, "reply": nothing},
        [(START, "rewrite"), ("rewrite", "search"), ("search", "reply")],
        lambda g: g.add_node("rewrite", arewrite if is_async else rewrite, retry_policy=policy),
    )
    watched = kit.watch(graph, {"rewrite": "rewrite", "search": "retrieve", "reply": "answer"})
    await (watched.ainvoke(QUESTION) if is_async else asyncio.to_thread(watched.invoke, QUESTION))

    assert tries == 3
    assert (kit.turn.rewrites, kit.outcomes()) == (1, {"answered": 1})
    assert kit.value("rag_rewrites_per_turn_sum") == 1
    assert kit.value("rag_node_errors_total") == 0
    assert kit.value("rag_node_duration_seconds_count", node="rewrite") == 1
    span = kit.span("node rewrite")
    assert span.status.status_code is StatusCode.UNSET
    assert span.attributes["rag.tries"] == 3
    assert [(event.name, dict(event.attributes)) for event in span.events] == [
        ("rag.retry", {"error.type": "ConnectionError"})
    ] * 2


def test_nodes_of_a_subgraph_play_their_roles_in_the_turn_of_the_outer_graph() -> None:
    kit = Kit()
    roles = {f"agent/{node}": role for node, role in SUPPORT_ROLES.items()}
    inner = support_graph(bound=1)
    outer = StateGraph(dict)
    outer.add_node("agent", inner)
    outer.add_edge(START, "agent")
    kit.watch(outer.compile(name="outer"), roles).invoke(QUESTION)

    assert kit.outcomes() == {"no_results": 1}
    assert (kit.turn.rewrites, len(kit.turn.retrievals), kit.turn.llm_calls) == (1, 2, 6)
    (agent,) = kit.tree()[1]
    assert [name for name, _ in agent[1]][:3] == [
        "node agent/enhance_query", "node agent/validate_topic", "node agent/fetch_content",
    ]  # fmt: skip
    assert kit.counted("rag_routes_total", "router", "route") == {
        ("agent/validate_topic", "fetch_content"): 1,
        ("agent/assess_relevance", "optimize_query"): 1,
        ("agent/assess_relevance", "handle_no_results"): 1,
    }
    assert kit.value("rag_llm_calls_total", role="grade") == 4


def test_one_inner_graph_twice_and_graphs_three_deep_have_each_their_own_roles() -> None:
    inner = compiled({"work": nothing}, [(START, "work")], name="inner")
    middle = compiled({"mid": inner}, [(START, "mid")], name="middle")
    outer = compiled({"one": middle, "two": middle}, [(START, "one"), ("one", "two")])
    kit = Kit()
    kit.watch(outer, {"one/mid/work": "answer", "two/mid/work": "clarify"}).invoke({})

    assert kit.turn.terminal_roles == ("answer", "clarify")
    assert kit.outcomes() == {"clarify": 1}
    assert kit.tree() == (
        "invoke_workflow g",
        [
            (f"node {n}", [(f"node {n}/mid", [(f"node {n}/mid/work", [])])])
            for n in ("one", "two")
        ],
    )  # fmt: skip


def test_a_model_that_a_router_asks_is_called_between_the_nodes() -> None:
    model = Scripted(replies=["end"])
    graph = compiled(
        {"start": nothing, "end": nothing},
        [(START, "start")],
        lambda g: g.add_conditional_edges("start", lambda _: model.invoke("?").text, ["end"]),
    )
    kit = Kit()
    kit.watch(graph, {"start:router": "guard"}).invoke({})

    assert kit.tree() == (
        "invoke_workflow g", [("node start", []), ("chat scripted-1", []), ("node end", [])],
    )  # fmt: skip
    assert kit.counted("rag_llm_calls_total", "role") == {("guard",): 1}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_batch_of_calls_and_a_fallback_are_each_call_by_itself(is_async: bool) -> None:
    model = Scripted()
    broken = Scripted(replies=[ValueError()], model_name="broken").with_fallbacks([model])

    def work(_: State) -> State:
        return {"parts": [*model.batch(["a", "b"]), broken.invoke("c")]}

    async def awork(_: State) -> State:
        return {"parts": [*await model.abatch(["a", "b"]), await broken.ainvoke("c")]}

    kit = Kit()
    graph = kit.watch(
        compiled({"work": awork if is_async else work}, [(START, "work")]), {"work": "answer"}
    )
    await (graph.ainvoke({}) if is_async else asyncio.to_thread(graph.invoke, {}))
    (node,) = kit.tree()[1]

    assert sorted(name for name, _ in node[1]) == ["chat broken", *["chat scripted-1"] * 3]
    assert failing(kit) == ["chat broken"]
    assert kit.turn.llm_calls == 4
    assert (kit.turn.input_tokens, kit.turn.output_tokens) == (30, 15)
    assert kit.counted("rag_llm_calls_total", "role", "model") == {
        ("answer", "scripted-1"): 3, ("answer", "broken"): 1,
    }  # fmt: skip


@pytest.mark.parametrize("where", ["as a node", "called in a node"])
def test_the_recursion_limit_of_an_inner_graph_is_the_turns_outcome(where: str) -> None:
    def again(_: State) -> str:
        return "a"

    inner = compiled(
        {"a": nothing}, [(START, "a")], lambda g: g.add_conditional_edges("a", again, ["a"])
    )
    node = inner if where == "as a node" else lambda state: inner.invoke(state)  # noqa: PLW0108
    graph = compiled({"sub": node}, [(START, "sub")])
    kit = Kit()
    with pytest.raises(GraphRecursionError) as bare:
        graph.invoke({}, {"recursion_limit": 5})
    with pytest.raises(GraphRecursionError) as watched:
        kit.watch(graph).invoke({}, {"recursion_limit": 5})

    assert str(watched.value) == str(bare.value)
    assert kit.outcomes() == {"recursion_limit": 1}
    assert kit.value("rag_recursion_errors_total") == 1
    assert failing(kit) == ["invoke_workflow g", "node sub"]


def test_a_recursion_error_that_the_outer_graph_handles_is_no_end_of_the_turn() -> None:
    inner = compiled(
        {"a": nothing}, [(START, "a")], lambda g: g.add_conditional_edges("a", lambda _: "a", ["a"])
    )

    def call(_: State) -> State:
        try:
            inner.invoke({}, {"recursion_limit": 3})
        except GraphRecursionError:
            return {"answer": "sorry"}
        raise AssertionError

    kit = Kit()
    kit.watch(compiled({"call": call}, [(START, "call")]), {"call": "no_results"}).invoke({})

    assert kit.outcomes() == {"no_results": 1}
    assert failing(kit) == []


# -- streams that nobody reads to the end ---------------------------------------------------------


def leave_by_break(chunks: Any) -> None:
    for _ in chunks:
        break


def leave_by_close(chunks: Any) -> None:
    next(chunks)
    chunks.close()


def leave_to_another_thread(chunks: Any) -> None:
    next(chunks)
    thread = threading.Thread(target=chunks.close)
    thread.start()
    thread.join()


def leave_by_an_error(chunks: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        for _ in chunks:
            raise ZeroDivisionError


@pytest.mark.parametrize(
    "leave", [leave_by_break, leave_by_close, leave_to_another_thread, leave_by_an_error]
)
def test_a_stream_that_is_left_is_one_cancelled_turn_with_all_its_spans(leave: Any) -> None:
    kit = Kit()
    graph = kit.watch(support_graph(), SUPPORT_ROLES)
    for _ in range(3):
        leave(graph.stream(QUESTION))
        gc.collect()
    graph.invoke(QUESTION)

    assert kit.outcomes() == {"cancelled": 3, "no_results": 1}
    assert len(kit.roots()) == len(kit.trace_ids()) == 4
    assert failing(kit) == []
    assert kit.value("rag_open_turns") == 0
    assert {span.name for span in kit.roots()} == {"invoke_workflow support"}


async def a_break(chunks: AsyncIterator[Any]) -> None:
    async for _ in chunks:
        break
    del chunks


async def an_aclose(chunks: Any) -> None:
    await anext(chunks)
    await chunks.aclose()


async def an_aclose_in_another_task(chunks: Any) -> None:
    await anext(chunks)
    await asyncio.create_task(chunks.aclose())


async def begun_in_one_task_closed_in_another(chunks: Any) -> None:
    await asyncio.create_task(anext(chunks))
    await asyncio.create_task(chunks.aclose())


async def a_cancelled_task(chunks: Any) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        async for _ in chunks:
            begun.set()

    task = asyncio.create_task(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await chunks.aclose()


async def a_timeout(chunks: Any) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            async for _ in chunks:
                await asyncio.sleep(1)
    await chunks.aclose()


@pytest.mark.parametrize("way", ["astream", "astream_events"])
@pytest.mark.parametrize(
    "leave",
    [
        a_break, an_aclose, an_aclose_in_another_task, begun_in_one_task_closed_in_another,
        a_cancelled_task, a_timeout,
    ],
)  # fmt: skip
async def test_an_async_stream_that_is_left_is_one_cancelled_turn(leave: Any, way: str) -> None:
    kit = Kit()
    graph = kit.watch(support_graph(is_async=True), SUPPORT_ROLES)
    for _ in range(3):
        chunks = (
            graph.astream(QUESTION)
            if way == "astream"
            else graph.astream_events(QUESTION, version="v2")
        )
        await leave(chunks)
        del chunks
        gc.collect()
        while kit.value("rag_open_turns"):  # the loop closes what was dropped
            await asyncio.sleep(0)
        assert trace.get_current_span() is trace.INVALID_SPAN
    await graph.ainvoke(QUESTION)

    assert kit.outcomes() == {"cancelled": 3, "no_results": 1}
    assert len(kit.roots()) == len(kit.trace_ids()) == 4
    assert failing(kit) == []


async def test_a_hundred_streams_closed_by_another_task_leave_no_word_and_no_context() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(is_async=True), SUPPORT_ROLES)
    tracer = kit.provider.get_tracer("after")

    async def close(chunks: Any) -> None:
        await chunks.aclose()
        tracer.start_span("after").end()

    for _ in range(100):
        chunks = graph.astream(QUESTION)
        await anext(chunks)
        await asyncio.create_task(close(chunks))
        tracer.start_span("after").end()

    assert kit.outcomes() == {"cancelled": 100}
    after = kit.named("after")
    assert len(after) == 200
    assert [span.parent for span in after] == [None] * 200


def test_a_loop_that_ends_with_a_stream_half_read_ends_its_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kit = Kit()
    graph = kit.watch(support_graph(is_async=True), SUPPORT_ROLES)
    kept = []

    async def begin() -> None:
        kept.append(graph.astream(QUESTION))
        await anext(kept[0])

    with caplog.at_level(logging.DEBUG, logger="asyncio"):
        asyncio.run(begin())
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []

    assert kit.outcomes() == {"cancelled": 1}
    assert kit.value("rag_open_turns") == 0


async def test_a_response_whose_client_goes_away_cancels_its_turn_every_time() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(is_async=True), SUPPORT_ROLES)

    async def get() -> None:
        body = (f"{chunk}\n" async for chunk in graph.astream(QUESTION))
        sent = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await sent.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message.get("body"):
                sent.set()

        scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
        await StreamingResponse(body)(scope, receive, send)

    await asyncio.gather(*(get() for _ in range(20)))
    gc.collect()
    while kit.value("rag_open_turns"):
        await asyncio.sleep(0)

    assert kit.outcomes() == {"cancelled": 20}
    assert len(kit.trace_ids()) == 20
    assert failing(kit) == []


async def test_a_client_that_goes_away_cancels_its_turn_and_no_further_call_is_made() -> None:
    kit = Kit()
    calls: list[str] = []

    async def slow(state: State) -> State:
        calls.append("call")
        await asyncio.sleep(0.02)
        return {"parts": [1]}

    graph = kit.watch(
        compiled(
            {"one": slow, "two": slow, "three": slow},
            [(START, "one"), ("one", "two"), ("two", "three")],
            checkpointer=InMemorySaver(),
        )
    )

    async def serve() -> None:
        async for _ in graph.astream({}, THREAD):
            sent.set()

    sent = asyncio.Event()
    request = asyncio.create_task(serve())
    await sent.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    while kit.value("rag_open_turns"):
        await asyncio.sleep(0)
    made = len(calls)
    result = await graph.ainvoke({"question": "again"}, THREAD)

    assert made <= 2
    assert len(calls) == made + 3
    assert result["question"] == "again"
    assert kit.outcomes() == {"cancelled": 1, "answered": 1}
    assert failing(kit) == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_process_that_is_told_to_stop_cancels_the_turn(stop: type[BaseException]) -> None:
    def work(_: State) -> State:
        raise stop

    kit = Kit()
    with pytest.raises(stop):
        kit.watch(compiled({"work": work}, [(START, "work")])).invoke({})

    assert kit.outcomes() == {"cancelled": 1}
    assert failing(kit) == []
    assert len(kit.spans) == 2
    assert kit.value("rag_open_turns") == 0


async def test_a_call_with_a_time_limit_of_the_callers_is_cancelled() -> None:
    async def slow(_: State) -> State:
        await asyncio.sleep(10)
        return {}

    kit = Kit()
    graph = kit.watch(compiled({"slow": slow}, [(START, "slow")]))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(graph.ainvoke({}), 0.01)

    assert kit.outcomes() == {"cancelled": 1}
    assert failing(kit) == []
    assert [span.name for span in kit.spans] == ["invoke_workflow g", "node slow"]


async def test_a_time_limit_of_the_graph_itself_is_an_error() -> None:
    async def slow(_: State) -> State:
        await asyncio.sleep(10)
        return {}

    kit = Kit()
    graph = compiled({"slow": slow}, [(START, "slow")])
    graph.step_timeout = 0.01
    with pytest.raises(TimeoutError):
        await kit.watch(graph).ainvoke({})

    assert kit.outcomes() == {"error": 1}


# -- LangGraph's newer ways -----------------------------------------------------------------------


def test_a_run_that_is_drained_is_interrupted_and_its_resume_links_back() -> None:
    control = RunControl()

    def work(_: State) -> State:
        control.request_drain("the process ends")
        return {}

    kit = Kit()
    graph = compiled(
        {"work": work, "reply": lambda _: {"answer": "done"}},
        [(START, "work"), ("work", "reply")],
        checkpointer=InMemorySaver(),
    )
    watched = kit.watch(graph, {"reply": "answer"})
    with pytest.raises(GraphDrained):
        watched.invoke({}, THREAD, control=control)
    assert watched.invoke(None, THREAD)["answer"] == "done"

    assert kit.outcomes() == {"interrupted": 1, "answered": 1}
    assert [len(root.links) for root in kit.roots()] == [0, 1]
    assert failing(kit) == []


def test_a_node_with_an_error_handler_failed_and_its_turn_did_not() -> None:
    def fail(_: State) -> State:
        raise ValueError

    def handle(_: State, error: NodeError) -> State:
        return {"answer": type(error.error).__name__}

    graph = compiled(
        {}, [(START, "fail")], lambda g: g.add_node("fail", fail, error_handler=handle)
    )
    kit = Kit()

    assert kit.watch(graph).invoke({}) == graph.invoke({}) == {"answer": "ValueError", "parts": []}
    assert kit.outcomes() == {"answered": 1}
    assert failing(kit) == ["node fail"]
    assert kit.counted("rag_node_errors_total", "node", "error_type") == {("fail", "ValueError"): 1}


def test_an_edit_of_the_state_is_no_turn_and_no_choice_of_a_router() -> None:
    kit = Kit()
    graph = compiled(
        {"start": nothing, "end": nothing},
        [(START, "start")],
        lambda g: g.add_conditional_edges("start", lambda _: "end", ["end"]),
        checkpointer=InMemorySaver(),
    )
    watched = kit.watch(graph, {"end": "answer"})
    watched.update_state(THREAD, {"answer": "by hand"}, as_node="start")
    assert watched.get_state(THREAD).next == ("end",)
    assert (kit.counted("rag_routes_total", "route"), kit.outcomes(), kit.spans) == ({}, {}, [])
    result = watched.invoke(None, THREAD)

    assert result["answer"] == "by hand"
    assert len(list(watched.get_state_history(THREAD))) == 2
    assert kit.outcomes() == {"answered": 1}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_within_a_graph_that_is_not_watched_it_is_a_turn_of_that_ones_thread(
    is_async: bool,
) -> None:
    kit = Kit()
    inner = kit.watch(compiled({"work": nothing}, [(START, "work")], name="inner"))

    def consult(state: State) -> State:
        inner.invoke(state)
        return {}

    async def aconsult(state: State) -> State:
        await inner.ainvoke(state)
        return {}

    outer = compiled({"consult": aconsult if is_async else consult}, [(START, "consult")])
    for _ in range(2):
        await (
            outer.ainvoke({}, THREAD) if is_async else asyncio.to_thread(outer.invoke, {}, THREAD)
        )

    assert kit.outcomes() == {"answered": 2}
    assert len(kit.trace_ids()) == 2
    turns = kit.named("invoke_workflow inner")
    assert [span.attributes["gen_ai.conversation.id"] for span in turns] == [digest("t-1")] * 2
