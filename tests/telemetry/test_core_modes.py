"""The eight-node graph with LangChain models, called in every way: spans, results and contexts."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from graphs import QUESTION, SUPPORT_ROLES, support_graph
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from telemetry.content import digest
from telemetry.testing import Kit

CHAT = ("chat scripted-1", [])
SEARCH = ("node fetch_content", [("retrieval Shelf", [])])
GRADE = ("node assess_relevance", [CHAT, CHAT])
REWRITE = ("node optimize_query", [CHAT])
TREE = (
    "invoke_workflow support",
    [
        ("node enhance_query", []),
        ("node validate_topic", [CHAT]),
        SEARCH, GRADE, REWRITE, SEARCH, GRADE, REWRITE, SEARCH, GRADE,
        ("node handle_no_results", []),
    ],
)  # fmt: skip
"""A turn that is never answered: 3 retrievals, 2 rewrites, 9 model calls."""


async def drain(chunks: AsyncIterator[Any]) -> list[Any]:
    return [chunk async for chunk in chunks]


ALL_MODES = ["values", "updates", "custom", "messages", "tasks", "debug"]
SYNC: dict[str, Callable[[Any], Any]] = {
    "invoke": lambda g: g.invoke(QUESTION),
    "stream": lambda g: list(g.stream(QUESTION, stream_mode=ALL_MODES, subgraphs=True)),
    "stream_events v3": lambda g: list(g.stream_events(QUESTION, version="v3")),
    "batch": lambda g: g.batch([QUESTION]),
}
ASYNC: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "ainvoke": lambda g: g.ainvoke(QUESTION),
    "astream": lambda g: drain(g.astream(QUESTION, stream_mode=ALL_MODES, subgraphs=True)),
    "astream_events v1": lambda g: drain(g.astream_events(QUESTION, version="v1")),
    "astream_events v2": lambda g: drain(g.astream_events(QUESTION, version="v2")),
    "abatch": lambda g: g.abatch([QUESTION]),
}
WAYS = [
    *(pytest.param(mode, False, id=mode) for mode in SYNC),
    *(pytest.param(mode, False, id=f"{mode} of sync nodes") for mode in ASYNC),
    *(pytest.param(mode, True, id=f"{mode} of async nodes") for mode in ASYNC),
]


async def run(mode: str, graph: Any) -> Any:
    """Run the graph in one of the ways; a sync one in a thread without an event loop."""
    if mode in ASYNC:
        return await ASYNC[mode](graph)
    return await asyncio.to_thread(SYNC[mode], graph)


@pytest.fixture(autouse=True)
def no_word_of_the_context(caplog: pytest.LogCaptureFixture) -> Any:
    """Fail when a context was reset in another than the one it was set in."""
    yield
    assert [r.getMessage() for r in caplog.records if r.name.startswith("opentelemetry")] == []
    assert trace.get_current_span() is trace.INVALID_SPAN


IDS = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # run, task, message
    r"|\d{4}-\d\d-\d\dT[\d:.]+\+00:00|'timestamp': \d+|0x[0-9a-f]+|'ts': '[^']*'"
)


def plain(value: Any) -> str:
    """Return what was streamed as text, without the ids and times that differ from run to run."""
    return IDS.sub("<id>", repr(value))


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol:Warning")
@pytest.mark.filterwarnings("ignore:astream_events version='v1' is deprecated:Warning")
@pytest.mark.parametrize(("mode", "is_async"), WAYS)
async def test_every_way_gives_the_same_results_and_one_right_trace(
    mode: str, is_async: bool
) -> None:
    kit = Kit()
    tracer = kit.provider.get_tracer("user")

    def work(node: str) -> None:
        with tracer.start_as_current_span(f"work of {node}"):
            pass

    watched = kit.watch(support_graph(is_async=is_async, inside=work), SUPPORT_ROLES)
    result = await run(mode, watched)

    assert plain(result) == plain(await run(mode, support_graph(is_async=is_async)))
    assert without_work(kit.tree()) == TREE
    nodes = {s.context.span_id: s.name for s in kit.spans if s.name.startswith("node ")}
    of_users = [s for s in kit.spans if s.name.startswith("work of ")]
    assert len(of_users) == 11
    for span in of_users:
        assert nodes[span.parent.span_id] == f"node {span.name.removeprefix('work of ')}"
    assert kit.outcomes() == {"no_results": 1}
    assert kit.turn.llm_calls == 9
    assert (kit.turn.input_tokens, kit.turn.output_tokens) == (90, 45)
    assert kit.counted("rag_retrievals_total", "result", "attempt") == {
        ("hit", "0"): 1, ("hit", "1"): 1, ("hit", "2"): 1,
    }  # fmt: skip
    assert {s.status.status_code for s in kit.spans} == {StatusCode.UNSET}
    assert kit.value("rag_open_turns") == 0
    assert kit.value("rag_telemetry_errors_total") == 0


def without_work(tree: Any) -> Any:
    name, below = tree
    return (name, [without_work(each) for each in below if not each[0].startswith("work of ")])


def test_streamed_tokens_reach_the_caller_one_by_one() -> None:
    def tokens(chunks: Any) -> list[tuple[str, str]]:
        return [(meta["langgraph_node"], message.text) for message, meta in chunks]

    bare = support_graph(grades=["yes"], replies=["one two three"])
    kit = Kit()
    watched = kit.watch(support_graph(grades=["yes"], replies=["one two three"]), SUPPORT_ROLES)
    expected = tokens(bare.stream(QUESTION, stream_mode="messages"))

    assert tokens(watched.stream(QUESTION, stream_mode="messages")) == expected
    assert [text for node, text in expected if node == "generate_response"][:2] == [
        "one two", " three",
    ]  # fmt: skip


# -- what the spans hold ------------------------------------------------------------------------

TURN = {
    "gen_ai.operation.name": "invoke_workflow",
    "gen_ai.agent.name": "support",
    "gen_ai.agent.version": "2026.11",
    "gen_ai.conversation.id": digest("thread-7"),
    "rag.outcome": "no_results",
    "rag.reason": "nothing_passed",
    "rag.topic.classification": "relevant",
    "rag.topic.confidence": "high",
    "rag.rewrites": 1,
    "rag.max_rewrites": 1,
    "rag.llm_calls": 6,
    "rag.retrievals": 2,
    "rag.synonym_swaps": 1,
    "rag.drifted": True,
    "rag.budget_first": False,
    "rag.recursion_limit": 30,
    "rag.findings": ("synonym_swap", "rewrite_drift"),
}
CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "acme",
    "gen_ai.request.model": "scripted-1",
    "gen_ai.response.model": "scripted-1",
    "gen_ai.response.finish_reasons": ("stop",),
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 5,
    "gen_ai.conversation.id": digest("thread-7"),
}
NODES: dict[str, list[dict[str, Any]]] = {
    "node enhance_query": [{"rag.role": "enhance", "rag.step": 1, "rag.attempt": 0}],
    "node validate_topic": [
        {
            "rag.role": "guard", "rag.step": 2, "rag.attempt": 0,
            "rag.topic.classification": "relevant", "rag.topic.confidence": "high",
        }
    ],
    "node fetch_content": [
        {
            "rag.role": "retrieve", "rag.step": 3, "rag.attempt": 0,
            "rag.chunk.ids": ("a", "b"), "rag.chunk.scores": (0.5, 0.25),
        },
        {
            "rag.role": "retrieve", "rag.step": 6, "rag.attempt": 1,
            "rag.chunk.ids": ("a", "b"), "rag.chunk.scores": (0.5, 0.25),
            "rag.rewrite.effect": "same_chunks_and_scores",
        },
    ],
    "node assess_relevance": [
        {
            "rag.role": "grade", "rag.step": step, "rag.attempt": attempt,
            "rag.grades": ("fail", "fail"), "rag.grade.passed": False,
        }
        for step, attempt in ((4, 0), (7, 1))
    ],
    "node optimize_query": [
        {
            "rag.role": "rewrite", "rag.step": 5, "rag.attempt": 1,
            "rag.rewrite.similarity": 0.25,
        }
    ],
    "node handle_no_results": [{"rag.role": "no_results", "rag.step": 8, "rag.attempt": 1}],
}  # fmt: skip


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_each_span_has_exactly_the_attributes_of_the_contract(is_async: bool) -> None:
    kit = Kit()
    graph = kit.watch(
        support_graph(is_async=is_async, bound=1, checkpointer=InMemorySaver()),
        SUPPORT_ROLES,
        version="2026.11",
        similarity=lambda _, __: 0.25,
    )
    config = {"configurable": {"thread_id": "thread-7"}, "recursion_limit": 30}
    if is_async:
        asyncio.run(graph.ainvoke(QUESTION, config))
    else:
        graph.invoke(QUESTION, config)

    assert typed(kit.span("invoke_workflow support").attributes) == typed(TURN)
    for name, expected in NODES.items():
        named = [{"rag.node": name.removeprefix("node "), **each} for each in expected]
        assert [typed(s.attributes) for s in kit.named(name)] == [typed(each) for each in named]
    assert [typed(s.attributes) for s in kit.named("chat scripted-1")] == [typed(CALL)] * 6
    for search in kit.named("retrieval Shelf"):
        assert typed(search.attributes) == typed(
            {
                "gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": "Shelf",
                "rag.chunk.ids": ("a", "b"), "rag.chunk.scores": (0.5, 0.25),
            }
        )  # fmt: skip
    kinds = {span.name: span.kind for span in kit.spans}
    assert kinds.pop("chat scripted-1") is SpanKind.CLIENT
    assert set(kinds.values()) == {SpanKind.INTERNAL}


def typed(attributes: Any) -> dict[str, tuple[Any, Any]]:
    """Return each value with its type: True is no 1, and 1 is no 1.0."""
    return {
        key: (value, type(value[0]) if isinstance(value, tuple) else type(value))
        for key, value in dict(attributes).items()
    }


@pytest.mark.parametrize("log_events", [False, True], ids=["on the span", "as log events"])
def test_verdicts_are_evaluation_events_of_their_node(log_events: bool) -> None:
    kit = Kit(log_events=log_events)
    kit.watch(support_graph(bound=0, grades=["yes", "no"]), SUPPORT_ROLES).invoke(QUESTION)
    guard, grader = kit.span("node validate_topic"), kit.span("node assess_relevance")
    if log_events:
        events = [record.log_record for record in kit.log_exporter.get_finished_logs()]
        seen = [(e.event_name, dict(e.attributes or {}), e.span_id) for e in events]
        assert [e.trace_id for e in events] == [guard.context.trace_id] * 2
        assert not guard.events and not grader.events
    else:
        seen = [
            (event.name, dict(event.attributes), span.context.span_id)
            for span in (guard, grader)
            for event in span.events
        ]

    name = "gen_ai.evaluation.result"
    topic = {"gen_ai.evaluation.name": "topic", "gen_ai.evaluation.score.label": "relevant"}
    relevance = {
        "gen_ai.evaluation.name": "relevance",
        "gen_ai.evaluation.score.label": "pass",
        "gen_ai.evaluation.score.value": 0.5,
    }
    assert seen == [
        (name, topic, guard.context.span_id), (name, relevance, grader.context.span_id),
    ]  # fmt: skip


def test_only_model_calls_carry_tokens() -> None:
    kit = Kit()
    kit.watch(support_graph(), SUPPORT_ROLES).invoke(QUESTION)
    carrying = {
        s.name for s in kit.spans if any(k.startswith("gen_ai.usage") for k in s.attributes)
    }

    assert carrying == {"chat scripted-1"}


# -- whose context ------------------------------------------------------------------------------


def test_between_two_chunks_the_callers_own_span_is_current() -> None:
    kit = Kit()
    tracer = kit.provider.get_tracer("host")
    graph = kit.watch(support_graph(bound=0), SUPPORT_ROLES)
    with tracer.start_as_current_span("request") as request:
        for _ in graph.stream(QUESTION):
            assert trace.get_current_span() is request
            with tracer.start_as_current_span("render"):
                pass
    renders = kit.named("render")

    assert len(renders) == 5
    assert {s.parent.span_id for s in renders} == {request.get_span_context().span_id}
    assert kit.span("invoke_workflow support").parent.span_id == request.get_span_context().span_id


def test_twenty_threads_that_step_through_their_streams_stay_apart() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(bound=1), SUPPORT_ROLES)
    tracer = kit.provider.get_tracer("host")
    start = threading.Barrier(20)

    def ask(number: int) -> None:
        start.wait()
        with tracer.start_as_current_span(f"request {number}"):
            for _ in graph.stream(QUESTION):
                pass

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(ask, range(20)))

    assert len(kit.trace_ids()) == 20
    assert sorted(root.name for root in kit.roots()) == sorted(f"request {n}" for n in range(20))
    for root in kit.roots():
        (turn,) = kit.tree(root)[1]
        assert turn[0] == "invoke_workflow support"
        assert len(turn[1]) == 8
    assert kit.value("rag_turns_total") == 20
    assert kit.value("gen_ai_client_token_usage_count") == 2 * 20 * 6


async def test_twenty_tasks_that_overlap_stay_apart() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(is_async=True), SUPPORT_ROLES)
    await asyncio.gather(
        *(graph.ainvoke(QUESTION) for _ in range(10)),
        *(drain(graph.astream(QUESTION)) for _ in range(10)),
    )

    assert [kit.tree(root) for root in kit.roots()] == [TREE] * 20
    assert kit.outcomes() == {"no_results": 20}


def test_two_streams_read_in_turns_by_one_thread_stay_apart() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(bound=0), SUPPORT_ROLES)
    for _ in zip(graph.stream(QUESTION), graph.stream(QUESTION), strict=True):
        pass

    assert [len(kit.tree(root)[1]) for root in kit.roots()] == [5, 5]
    assert len(kit.trace_ids()) == 2


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_stream_read_by_another_task_each_time_stays_one_trace(is_async: bool) -> None:
    kit = Kit()
    graph = kit.watch(support_graph(bound=0, is_async=is_async), SUPPORT_ROLES)
    chunks = graph.astream(QUESTION)
    seen = 0
    while True:
        try:
            await asyncio.create_task(anext(chunks))
        except StopAsyncIteration:
            break
        seen += 1

    assert seen == 5
    assert len(kit.trace_ids()) == 1
    assert kit.outcomes() == {"no_results": 1}


def test_a_stream_read_by_another_thread_each_time_stays_one_trace() -> None:
    kit = Kit()
    chunks = kit.watch(support_graph(bound=0), SUPPORT_ROLES).stream(QUESTION)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:
        one.submit(next, chunks).result()
        two.submit(next, chunks).result()
        one.submit(list, chunks).result()

    assert len(kit.trace_ids()) == 1
    assert kit.outcomes() == {"no_results": 1}


def test_turns_after_one_another_in_one_context_do_not_nest() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(bound=0), SUPPORT_ROLES)
    before = otel.get_current()
    for _ in range(5):
        graph.invoke(QUESTION)
        list(graph.stream(QUESTION))
        next(iter(graph.stream(QUESTION)))

    assert len(kit.roots()) == len(kit.trace_ids()) == 15
    assert otel.get_current() == before


async def test_async_turns_after_one_another_in_one_task_do_not_nest() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(bound=0, is_async=True), SUPPORT_ROLES)
    for _ in range(5):
        await graph.ainvoke(QUESTION)
        for chunks in (graph.astream(QUESTION), graph.astream_events(QUESTION, version="v2")):
            await anext(chunks)
            await chunks.aclose()

    assert len(kit.roots()) == len(kit.trace_ids()) == 15


def test_a_remote_parent_is_kept_and_its_decision_obeyed() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(bound=0), SUPPORT_ROLES)
    remote = trace.SpanContext(7, 9, is_remote=True, trace_flags=trace.TraceFlags(1))
    token = otel.attach(trace.set_span_in_context(trace.NonRecordingSpan(remote)))
    try:
        graph.invoke(QUESTION)
    finally:
        otel.detach(token)

    turn = kit.span("invoke_workflow support")
    assert (turn.context.trace_id, turn.parent.span_id, turn.parent.is_remote) == (7, 9, True)


def test_an_unsampled_turn_makes_no_span_and_is_counted() -> None:
    kit = Kit(ALWAYS_OFF)
    kit.watch(support_graph(), SUPPORT_ROLES).invoke(QUESTION)

    assert kit.spans == []
    assert kit.outcomes() == {"no_results": 1}
    assert kit.turn.trace_id is None
    assert kit.turn.llm_calls == 9
    assert kit.counted("rag_llm_calls_total", "role") == {
        ("guard",): 1, ("grade",): 6, ("rewrite",): 2,
    }  # fmt: skip


def test_a_log_line_of_a_node_is_written_under_the_nodes_span() -> None:
    kit = Kit()
    seen: dict[str, int] = {}

    class Ears(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen[record.getMessage()] = trace.get_current_span().get_span_context().span_id

    log = logging.getLogger("test.core.modes")
    ears = Ears()
    log.addHandler(ears)
    try:
        graph = kit.watch(support_graph(bound=0, inside=log.warning), SUPPORT_ROLES)
        graph.invoke(QUESTION)
    finally:
        log.removeHandler(ears)

    assert len(seen) == 5
    assert seen == {name: kit.span(f"node {name}").context.span_id for name in seen}
