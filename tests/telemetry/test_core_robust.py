"""Telemetry that meets broken parts, hostile values, forks and two thousand turns."""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypedDict

import pytest
from graphs import QUESTION, SUPPORT_ROLES, Scripted, support_graph
from langgraph.graph import START, StateGraph
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from telemetry import DEFAULT_READERS, names
from telemetry.families import metric_set
from telemetry.testing import Kit


class State(TypedDict, total=False):
    question: Any
    documents: Any
    messages: Any
    grade: Any
    topic: Any
    query: Any
    reply: Any
    outcome: Any


def one_node(body: Any) -> Any:
    graph = StateGraph(State)
    graph.add_node("work", body)
    graph.add_edge(START, "work")
    return graph.compile(name="one")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name.startswith("telemetry")]


# -- broken parts ---------------------------------------------------------------------------------


class BrokenError(Exception):
    """Raised by the parts that a host brings along."""


def broken(*_: Any, **__: Any) -> Any:
    raise BrokenError


def test_a_question_that_cannot_be_read_costs_the_question_and_not_the_trace() -> None:
    kit = Kit()
    readers = replace(DEFAULT_READERS, question=broken)
    kit.watch(support_graph(bound=0), SUPPORT_ROLES, readers=readers).invoke(QUESTION)

    assert [len(kit.tree(root)[1]) for root in kit.roots()] == [5]
    assert kit.outcomes() == {"no_results": 1}


def test_a_statement_that_cannot_be_read_costs_the_statement_and_not_the_retrieval() -> None:
    kit = Kit()
    readers = replace(DEFAULT_READERS, statement=broken)
    kit.watch(support_graph(bound=1), SUPPORT_ROLES, readers=readers).invoke(QUESTION)

    assert kit.outcomes() == {"no_results": 1}
    assert (len(kit.turn.retrievals), kit.turn.rewrites) == (2, 1)
    assert kit.value("rag_telemetry_errors_total", where="reader") > 1


@pytest.mark.parametrize("when", ["on_start", "on_end"])
def test_a_span_processor_that_raises_changes_neither_result_nor_error(when: str) -> None:
    class Processor(SpanProcessor):
        pass

    setattr(Processor, when, broken)
    kit = Kit()
    kit.provider.add_span_processor(Processor())
    graph = support_graph(bound=1)

    assert kit.watch(graph, SUPPORT_ROLES).invoke(QUESTION)["outcome"] == "no_results"
    with pytest.raises(ZeroDivisionError):
        kit.watch(one_node(lambda _: 1 / 0), {"work": "retrieve"}).invoke({})
    assert kit.outcomes() == {"no_results": 1, "error": 1}
    assert kit.value("rag_open_turns") == 0


def test_an_exporter_that_raises_is_the_sdks_to_say(caplog: pytest.LogCaptureFixture) -> None:
    class Exporter(SpanExporter):
        export = broken

        def shutdown(self) -> None:
            pass

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(Exporter()))
    kit = Kit()
    graph = kit.watch(support_graph(bound=0), SUPPORT_ROLES, tracer_provider=provider)

    assert graph.invoke(QUESTION)["outcome"] == "no_results"
    assert kit.outcomes() == {"no_results": 1}
    assert said(caplog) == []


def test_a_registry_that_refuses_every_label_costs_counts_and_keeps_the_nodes_own_error(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(state: State) -> State:
        if state["question"] == "fail":
            raise LookupError("mine")
        Scripted(model_name="another").invoke("q")
        return {"documents": [{"id": "a"}]}

    kit = Kit()
    graph = kit.watch(one_node(work), {"work": "retrieve"})
    metrics = metric_set(kit.registry)
    for family in metrics.all:
        if family._name != names.TELEMETRY_ERRORS.removesuffix("_total"):
            monkeypatch.setattr(family, "labels", broken)
    for _ in range(50):
        assert graph.invoke({"question": "q"})["documents"] == [{"id": "a"}]
        with pytest.raises(LookupError, match="mine"):
            graph.invoke({"question": "fail"})
    monkeypatch.undo()

    assert kit.outcomes() == {"answered": 50, "error": 50}
    assert kit.value("rag_telemetry_errors_total") >= 50
    assert len(said(caplog)) == len(set(said(caplog))) <= 3


# -- hostile values -------------------------------------------------------------------------------


class Hostile(dict[Any, Any]):
    """A value that raises whatever is asked of it."""

    __repr__ = __str__ = __len__ = __iter__ = __eq__ = __bool__ = get = items = broken
    __getattr__ = __getitem__ = __contains__ = broken
    __hash__ = object.__hash__


@pytest.mark.parametrize("role", names.ROLES)
def test_a_state_that_raises_when_it_is_looked_at_is_handed_on_untouched(role: str) -> None:
    value = Hostile()
    keys = ("documents", "messages", "grade", "topic", "query", "reply", "outcome")
    given = {"question": value}
    kit = Kit()
    watched = kit.watch(one_node(lambda _: dict.fromkeys(keys, value)), {"work": role})

    result = watched.invoke(given)

    assert all(result[key] is value for key in (*keys, "question"))
    assert kit.value("rag_turns_total") == 1
    assert [span.name for span in kit.spans] == ["invoke_workflow one", "node work"]
    assert 1 <= kit.value("rag_telemetry_errors_total") <= 4


def test_an_error_that_cannot_be_told_is_told_by_its_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class MuteError(Exception):
        __str__ = __repr__ = broken

    def work(_: State) -> State:
        raise MuteError

    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    kit = Kit()
    with pytest.raises(MuteError):
        kit.watch(one_node(work)).invoke({})

    assert kit.outcomes() == {"error": 1}
    for name in ("invoke_workflow one", "node work"):
        span = kit.span(name)
        assert span.attributes["error.type"] == "MuteError"
        assert span.status.status_code is StatusCode.ERROR


def test_a_list_changed_in_place_is_seen_as_it_was_at_each_retrieval() -> None:
    finds = [["a", "b"], ["c", "d"], ["c", "d"]]
    retrieved = []

    def search(state: State) -> State:
        new = [{"id": id_, "score": 0.5} for id_ in finds[len(retrieved)]]
        retrieved.append(1)
        state["documents"].clear()
        state["documents"].extend(new)
        return {}

    def rewrite(state: State) -> State:
        return {"query": f"{state['question']} {len(retrieved)}"}

    def graph() -> Any:
        builder = StateGraph(State)
        builder.add_node("search", search)
        builder.add_node("rewrite", rewrite)
        builder.add_edge(START, "search")
        builder.add_conditional_edges(
            "search",
            lambda _: "rewrite" if len(retrieved) < 3 else "__end__",
            ["rewrite", "__end__"],
        )
        builder.add_edge("rewrite", "search")
        return builder.compile(name="in_place")

    def ask(compiled: Any) -> tuple[Any, Any]:
        retrieved.clear()
        given = {"question": "q", "documents": [{"id": "old", "score": 0.1}]}
        return compiled.invoke(given), given

    kit = Kit()
    roles = {"search": "retrieve", "rewrite": "rewrite"}

    assert ask(kit.watch(graph(), roles)) == ask(graph())
    assert [r.chunk_ids for r in kit.turn.retrievals] == [("a", "b"), ("c", "d"), ("c", "d")]
    assert kit.counted("rag_rewrites_total", "effect", "attempt") == {
        ("new_chunks", "1"): 1, ("same_chunks_and_scores", "2"): 1,
    }  # fmt: skip


def test_numpy_scores_of_every_kind_are_floats_and_nothing_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    numpy = pytest.importorskip("numpy")
    scores = [
        numpy.float32(0.5), numpy.float64(0.25), numpy.int64(3), numpy.float32("nan"),
        numpy.array(0.75), 2**70, None, True, "0.5",
    ]  # fmt: skip
    kit = Kit()
    found = [{"id": numpy.str_(f"d{n}"), "score": score} for n, score in enumerate(scores)]
    graph = one_node(lambda _: {"documents": found})
    kit.watch(graph, {"work": "retrieve"}, similarity=lambda _, __: numpy.float32(0.5)).invoke({})
    (retrieval,) = kit.turn.retrievals

    assert retrieval.scores == (0.5, 0.25, 3.0, None, 0.75, float(2**70), None, None, None)
    assert {type(score) for score in retrieval.scores} == {float, type(None)}
    assert {type(id_) for id_ in kit.span("node work").attributes["rag.chunk.ids"]} == {str}
    assert [r.getMessage() for r in caplog.records] == []


def test_a_similarity_that_is_no_number_is_no_drift(caplog: pytest.LogCaptureFixture) -> None:
    numpy = pytest.importorskip("numpy")
    given = iter([float("nan"), numpy.float32(0.75)])
    kit = Kit()
    watched = kit.watch(support_graph(), SUPPORT_ROLES, similarity=lambda _, __: next(given))
    watched.invoke(QUESTION)
    values = [s.attributes.get("rag.rewrite.similarity") for s in kit.named("node optimize_query")]

    assert values == [None, 0.75]
    assert type(values[1]) is float
    assert kit.counted("rag_rewrite_similarity_sum", "attempt") == {("2",): 0.75}
    assert kit.span("invoke_workflow support").attributes["rag.drifted"] is False
    assert [r.getMessage() for r in caplog.records] == []


# -- what is kept ---------------------------------------------------------------------------------


class Heavy:
    """A part of the state that can be watched as it goes."""

    def __init__(self) -> None:
        self.data = "x" * 10_000


async def test_two_thousand_turns_a_third_left_and_a_third_cancelled_keep_nothing() -> None:
    kit = Kit(ALWAYS_OFF)
    alive: weakref.WeakSet[Heavy] = weakref.WeakSet()

    async def work(_: State) -> State:
        heavy = Heavy()
        alive.add(heavy)
        return {"documents": [heavy], "reply": heavy.data}

    async def wait(state: State) -> State:
        await asyncio.sleep(60 if state["question"] == "wait" else 0)
        return {"reply": "done"}

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_node("wait", wait)
    builder.add_edge(START, "work")
    builder.add_edge("work", "wait")
    graph = kit.watch(builder.compile(name="heavy"), {"work": "retrieve", "wait": "answer"})

    async def ask(number: int) -> None:
        if number % 3 == 0:
            await graph.ainvoke({"question": "q"})
        elif number % 3 == 1:
            chunks = graph.astream({"question": "q"})
            await anext(chunks)
            await chunks.aclose()
        else:
            chunks = graph.astream({"question": "wait"})
            await anext(chunks)
            task = asyncio.create_task(anext(chunks))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await chunks.aclose()
        kit.records.turns.clear()
        kit.records.findings.clear()

    for number in range(200):
        await ask(number)
    before = await objects()
    for number in range(200, 2_000):
        await ask(number)

    assert await objects() - before < 1_000
    assert kit.value("rag_turns_total") == 2_000
    assert kit.outcomes() == {"answered": 667, "cancelled": 1_333}
    assert kit.value("rag_open_turns") == 0
    assert len(alive) == 0


async def objects() -> int:
    """Return how many objects there are, once the loop has let go of what was cancelled."""
    await asyncio.sleep(0)
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.parametrize("ends", ["well", "in an error", "left"])
def test_no_part_of_the_state_outlives_its_turn(ends: str) -> None:
    alive: weakref.WeakSet[Heavy] = weakref.WeakSet()

    def inside(_: str) -> None:
        heavy = Heavy()
        alive.add(heavy)
        if ends == "in an error":
            raise ValueError(heavy)

    def work(_: State) -> State:
        heavy = Heavy()
        alive.add(heavy)
        inside("work")
        return {"documents": [heavy]}

    kit = Kit()
    graph = kit.watch(one_node(work), {"work": "retrieve"})
    for _ in range(3):
        if ends == "well":
            graph.invoke({"question": Heavy()})
        elif ends == "left":
            next(graph.stream({"question": Heavy()}))
        else:
            with pytest.raises(ValueError, match="Heavy"):
                graph.invoke({"question": Heavy()})
    gc.collect()

    assert len(alive) == 0
    assert kit.value("rag_turns_total") == 3


def test_the_callers_input_config_and_graph_stay_as_they_are() -> None:
    kit = Kit()
    graph = support_graph(bound=0)
    nodes = dict(graph.nodes)
    bound = {name: node.bound for name, node in nodes.items()}
    given = copy.deepcopy(QUESTION)
    config: dict[str, Any] = {
        "callbacks": [], "configurable": {"thread_id": "1"}, "metadata": {"a": 1}, "tags": ["t"],
    }  # fmt: skip
    before = copy.deepcopy(config)
    kit.watch(graph, SUPPORT_ROLES).invoke(given, config)
    graph.invoke(given, config)

    assert given == QUESTION
    assert config == before
    assert graph.nodes == nodes
    assert {name: node.bound for name, node in graph.nodes.items()} == bound
    assert kit.value("rag_turns_total") == 1


# -- forks and threads ----------------------------------------------------------------------------


def in_a_child(work: Callable[[], bool]) -> int:
    """Return the exit code of a fork that does the work: 0 when it returns True."""
    child = os.fork()
    if child == 0:
        code = 9
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    waiter = threading.Timer(20, os.kill, (child, 9))
    waiter.start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    waiter.cancel()
    waiter.join()
    return code


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_counts_and_traces_its_own_turns() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(bound=0), SUPPORT_ROLES)
    graph.invoke(QUESTION)
    half_read = graph.stream(QUESTION)
    next(half_read)

    def work() -> bool:
        graph.invoke(QUESTION)
        return kit.value("rag_turns_total") == 2 and len(kit.trace_ids()) == 3

    assert in_a_child(work) == 0
    list(half_read)
    assert kit.value("rag_turns_total") == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_fork_while_a_thread_counts_does_not_hang_the_child() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(bound=0), SUPPORT_ROLES)
    counting, done = threading.Event(), threading.Event()

    def count_slowly() -> None:
        counting.set()
        done.wait(60)

    metrics = metric_set(kit.registry)
    metrics.post(count_slowly)
    thread = threading.Thread(target=metrics.count)
    thread.start()
    counting.wait(10)

    def work() -> bool:
        graph.invoke(QUESTION)
        return kit.value("rag_turns_total") == 1

    try:
        assert in_a_child(work) == 0
    finally:
        done.set()
        thread.join()


def test_scrapes_during_turns_see_whole_books() -> None:
    kit = Kit()
    graph = kit.watch(support_graph(bound=0), SUPPORT_ROLES)
    stop, wrong = threading.Event(), []

    def scrape() -> None:
        while not stop.is_set():
            turns = kit.value("rag_turns_total")
            later = kit.value("rag_turn_duration_seconds_count")
            if later < turns or turns > 60:
                wrong.append((turns, later))

    thread = threading.Thread(target=scrape)
    thread.start()
    graph.batch([QUESTION] * 60, {"max_concurrency": 8})
    stop.set()
    thread.join()

    assert wrong == []
    assert kit.value("rag_turns_total") == 60


def test_a_missing_provider_is_hinted_at_once_and_never_set(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from opentelemetry import trace

    before = trace.get_tracer_provider()
    with caplog.at_level(logging.INFO, "telemetry"):
        Kit().watch(support_graph(bound=0), SUPPORT_ROLES, tracer_provider=None).invoke(QUESTION)

    assert trace.get_tracer_provider() is before
    assert said(caplog) == [
        "no tracer provider is set: metrics are kept, spans go nowhere until one is set."
    ]
