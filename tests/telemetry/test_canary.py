"""No text leaves unless asked for: every exported byte is searched, in every way of calling."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from prometheus_client.openmetrics.exposition import generate_latest

from telemetry import names
from telemetry.content import VARIABLE
from telemetry.records.sink import RecordSink
from telemetry.testing import Kit

CANARY = "ZQX-CANARY"
CARD = "4111 1111 1111 1111"
SECRET = f"{CANARY} {CARD}"

ROLES = {
    "enhance": "enhance", "guard": "guard", "search": "retrieve", "judge": "grade",
    "rephrase": "rewrite", "reply": "answer",
}  # fmt: skip


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        metadata = {"source": SECRET, "score": 0.5}
        return [Document(SECRET, id="d1", metadata=metadata), Document(SECRET, metadata=metadata)]


def secret_graph(  # noqa: C901 - the six nodes of one graph
    *, fails: bool = False, pauses: bool = False, is_bounded: bool = True
) -> Any:
    """Return a graph that meets the canary everywhere: state, models, documents, errors, routes."""
    model = FakeListChatModel(responses=[SECRET])

    def enhance(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "standalone": model.invoke([HumanMessage(SECRET)]).content, "n": 0}

    def guard(state: dict[str, Any]) -> dict[str, Any]:
        verdict = {"classification": "RELEVANT", "confidence": SECRET}
        return {**state, "topic": verdict, "reason": SECRET}

    def search(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "documents": Shelf().invoke(SECRET), "query": SECRET}

    def judge(state: dict[str, Any]) -> dict[str, Any]:
        if fails:
            try:
                int(SECRET)
            except ValueError as error:
                raise RuntimeError(f"cannot grade {SECRET}") from error
        if pauses:
            interrupt({"question": SECRET})
        return {**state, "grade": "no" if state["n"] == 0 or not is_bounded else "yes"}

    def rephrase(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "query": f"{SECRET} again", "n": state["n"] + 1}

    def reply(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "reply": SECRET, "outcome": "answered", "reason": SECRET}

    def route(state: dict[str, Any]) -> str:
        return f"{SECRET}-again" if state["grade"] == "no" else f"{SECRET}-done"

    graph = StateGraph(dict)
    for node in (enhance, guard, search, judge, rephrase, reply):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "enhance")
    graph.add_edge("enhance", "guard")
    graph.add_edge("guard", "search")
    graph.add_edge("search", "judge")
    graph.add_conditional_edges(
        "judge", route, {f"{SECRET}-again": "rephrase", f"{SECRET}-done": "reply"}
    )
    graph.add_edge("rephrase", "search")
    graph.add_edge("reply", END)
    return graph.compile(name="secret", checkpointer=InMemorySaver())


GIVEN = {"question": SECRET, "messages": [HumanMessage(SECRET), AIMessage(SECRET)]}
CONFIG = {"configurable": {"thread_id": f"{SECRET}@example.com", "note": SECRET}, "tags": [SECRET]}


async def consume(chunks: Any) -> None:
    async for _ in chunks:
        pass


def fail(graph: Any) -> None:
    with pytest.raises(RuntimeError):
        graph.invoke(GIVEN, CONFIG)


def run_in_circles(graph: Any) -> None:
    with pytest.raises(GraphRecursionError):
        graph.invoke(GIVEN, {**CONFIG, "recursion_limit": 8})


def pause_and_resume(graph: Any) -> None:
    graph.invoke(GIVEN, CONFIG)
    graph.invoke(Command(resume=SECRET), CONFIG)


WAYS: dict[str, tuple[dict[str, bool], Callable[[Any], Any]]] = {
    "invoke": ({}, lambda g: g.invoke(GIVEN, CONFIG)),
    "stream": ({}, lambda g: list(g.stream(GIVEN, CONFIG, stream_mode=["messages", "debug"]))),
    "batch": ({}, lambda g: g.batch([GIVEN, GIVEN], CONFIG)),
    "ainvoke": ({}, lambda g: asyncio.run(g.ainvoke(GIVEN, CONFIG))),
    "astream": ({}, lambda g: asyncio.run(consume(g.astream(GIVEN, CONFIG)))),
    "astream_events": (
        {},
        lambda g: asyncio.run(consume(g.astream_events(GIVEN, CONFIG, version="v2"))),
    ),
    "a break": ({}, lambda g: next(g.stream(GIVEN, CONFIG))),
    "a pause and a resume": ({"pauses": True}, pause_and_resume),
    "an exception": ({"fails": True}, fail),
    "a recursion error": ({"is_bounded": False}, run_in_circles),
}


def exported(kit: Kit, records: RecordSink, path: Path, log_text: str) -> dict[str, bytes]:
    """Return every byte that leaves, by the way it leaves."""
    assert records.flush()
    with sqlite3.connect(path) as database:
        dump = "\n".join(database.iterdump())
    return {
        "spans": encode_spans(kit.spans).SerializeToString(),
        "events": encode_logs(kit.log_exporter.get_finished_logs()).SerializeToString(),
        "metrics": generate_latest(kit.registry),
        "records": dump.encode(),
        "logs": log_text.encode(),
    }


def run(
    way: str, log_events: bool, path: Path, caplog: pytest.LogCaptureFixture, **options: Any
) -> tuple[Kit, dict[str, bytes]]:
    kit = Kit(log_events=log_events)
    how, call = WAYS[way]
    gate = options.pop("gate", None)
    records = RecordSink(path) if gate is None else RecordSink(path, gate=gate)
    graph = kit.watch(secret_graph(**how), ROLES, records=records, **options)
    with caplog.at_level(logging.DEBUG, "telemetry"):
        call(graph)
    out = exported(kit, records, path, caplog.text)
    records.close()
    return kit, out


@pytest.mark.parametrize("log_events", [False, True], ids=["events on spans", "events as logs"])
@pytest.mark.parametrize("way", WAYS)
def test_the_canary_stays_inside(
    way: str, log_events: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, out = run(way, log_events, tmp_path / "turns.db", caplog)

    assert {name: b"CANARY" in data or CARD.encode() in data for name, data in out.items()} == {
        "spans": False, "events": False, "metrics": False, "records": False, "logs": False,
    }  # fmt: skip
    assert len(out["spans"]) > 1000
    assert b"rag_turns_total" in out["metrics"]
    if way == "an exception":
        assert b"RuntimeError" in out["spans"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "an exception"])
def test_with_content_on_it_is_only_where_content_may_be(
    way: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "SPAN_ONLY")
    kit, out = run(way, False, tmp_path / "turns.db", caplog)
    keys = {
        key
        for span in kit.spans
        for holder in (span, *span.events)
        for key, value in (holder.attributes or {}).items()
        if CANARY in str(value)
    }

    assert keys <= {*names.CONTENT_ATTRIBUTES, names.CONVERSATION_ID}
    assert {names.INPUT_MESSAGES, names.RETRIEVAL_QUERY, names.RETRIEVAL_DOCUMENTS} <= keys
    if way == "an exception":
        assert {names.EXCEPTION_MESSAGE, names.EXCEPTION_STACKTRACE} <= keys
    else:
        assert {names.OUTPUT_MESSAGES, names.REWRITE_QUERY} <= keys
    assert b"CANARY" not in out["metrics"]
    assert CANARY not in caplog.text


@pytest.mark.parametrize("mode", ["SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"])
def test_what_the_hook_masks_is_nowhere(
    mode: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, mode)
    _, out = run(
        "an exception", True, tmp_path / "turns.db", caplog, redact=lambda t: t.replace(CARD, "#")
    )

    assert not [name for name, data in out.items() if CARD.encode() in data]
    assert (b"CANARY" in out["spans"]) == ("SPAN" in mode)
    assert (b"CANARY" in out["events"]) == ("EVENT" in mode)


def test_a_hook_that_fails_lets_nothing_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "SPAN_AND_EVENT")

    def redact(text: str) -> str:
        raise ValueError(text)

    _, out = run("an exception", True, tmp_path / "turns.db", caplog, redact=redact)

    assert not [name for name, data in out.items() if b"CANARY" in data]


def test_the_switch_is_read_when_the_graph_is_instrumented(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kit = Kit()
    graph = kit.watch(secret_graph(), ROLES)
    monkeypatch.setenv(VARIABLE, "SPAN_ONLY")
    graph.invoke(GIVEN, CONFIG)

    assert CANARY not in str([dict(span.attributes or {}) for span in kit.spans])
