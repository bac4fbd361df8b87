"""Where text could slip out or grow: every byte of hostile turns, and sizes at the caps."""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

import pytest
from graphs import QUESTION, SUPPORT_ROLES, Scripted, Shelf, support_graph
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, StreamWriter, interrupt
from opentelemetry import baggage
from opentelemetry import context as otel
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from pydantic import BaseModel

from telemetry import DEFAULT_READERS, Chunks, Statement, Verdict
from telemetry.attributes import MARKER, SPAN_BYTES, TEXT_BYTES, byte_size
from telemetry.content import VARIABLE
from telemetry.records.sink import RecordSink
from telemetry.testing import Kit

SECRETS = ("ZQXCANARY", "4111 1111 1111 1111", "ann@example.org")
SECRET = " ".join(SECRETS)
TRACES = tuple(part.encode() for part in SECRETS)


class State(TypedDict, total=False):
    question: str
    query: str
    documents: Any
    messages: list[Any]
    topic: Any
    grade: Any
    outcome: Any
    reason: Any
    reply: Any
    citations: Any
    judgement_failures: Any


def one_node(body: Any, *, route: Any = None, **options: Any) -> Any:
    node_options = {k: options.pop(k) for k in ("cache_policy", "retry_policy") if k in options}
    graph = StateGraph(State)
    graph.add_node("work", body, **node_options)
    graph.add_edge(START, "work")
    if route is not None:
        graph.add_conditional_edges("work", route)
    return graph.compile(name="one", **options)


class Form(BaseModel):
    age: int


def quote_a_model(_: State) -> State:
    Form.model_validate({"age": SECRET})
    return {}


def quote_in_a_chain_of_errors(_: State) -> State:
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        error.add_note(SECRET)
        raise ExceptionGroup(SECRET, [ValueError(SECRET)]) from error


def quote_in_a_class(_: State) -> State:
    class WordyError(Exception):
        code = SECRET

    raise WordyError(SECRET)


def quote_in_a_command(_: State) -> Command[Any]:
    return Command(goto=[Send(SECRET, {"question": SECRET})], update={"reason": SECRET})


def quote_a_tool(_: State) -> State:
    @tool
    def lookup(text: str) -> str:
        """Look a text up."""
        raise ValueError(text)

    lookup.invoke({"text": SECRET})
    return {}


def quote_model_and_retriever_errors(_: State) -> State:
    Scripted(replies=[RuntimeError(SECRET)]).invoke([HumanMessage(SECRET)])
    return {}


def quote_in_a_stream(_: State, writer: StreamWriter) -> State:
    writer({"seen": SECRET})
    list(Scripted(replies=[SECRET]).stream(SECRET))
    Shelf(text=SECRET).invoke(SECRET)
    return {"reply": SECRET}


def say_it_everywhere(_: State) -> State:
    call = {"name": SECRET, "args": {"query": SECRET}, "id": SECRET}
    return {
        "question": SECRET, "query": SECRET, "reply": SECRET, "reason": SECRET,
        "outcome": SECRET, "grade": SECRET, "topic": {"classification": SECRET},
        "citations": [SECRET], "documents": [SECRET],
        "judgement_failures": [{"role": SECRET, "reason": SECRET}],
        "messages": [
            HumanMessage(SECRET, name=SECRET), AIMessage("", tool_calls=[call]),
            ToolMessage(SECRET, tool_call_id="1"),
        ],
    }  # fmt: skip


def pause(_: State) -> State:
    return {"reply": interrupt(SECRET)}


def fail_twice() -> Callable[[State], State]:
    tries: list[int] = []

    def work(_: State) -> State:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError(SECRET)
        return {}

    return work


ROLES = ("answer", "retrieve", "grade", "guard", "rewrite", "enhance")
RETRY = RetryPolicy(initial_interval=0.001, jitter=False)
HOSTILE: dict[str, Callable[[], Any]] = {
    "a validation error": lambda: one_node(quote_a_model),
    "a chain of errors": lambda: one_node(quote_in_a_chain_of_errors),
    "an error class": lambda: one_node(quote_in_a_class),
    "a command": lambda: one_node(quote_in_a_command),
    "a tool": lambda: one_node(quote_a_tool),
    "a model error": lambda: one_node(quote_model_and_retriever_errors),
    "a token stream": lambda: one_node(quote_in_a_stream),
    "every key of the state": lambda: one_node(say_it_everywhere),
    "a router": lambda: one_node(say_it_everywhere, route=lambda state: state["question"]),
    "a router's error": lambda: one_node(say_it_everywhere, route=lambda _: {}[SECRET]),
    "a retry": lambda: one_node(fail_twice(), retry_policy=RETRY),
    "a pause": lambda: one_node(pause, checkpointer=InMemorySaver()),
    "a cached node": lambda: one_node(
        say_it_everywhere, cache_policy=CachePolicy(), cache=InMemoryCache()
    ),
}


def exported(kit: Kit, path: Path, log_text: str) -> bytes:
    """Return every byte that leaves: OTLP spans and events, metrics, records, log lines."""
    with sqlite3.connect(path) as database:
        dump = "\n".join(database.iterdump())
    return b"\n".join(
        [
            encode_spans(kit.spans).SerializeToString(),
            encode_logs(kit.log_exporter.get_finished_logs()).SerializeToString(),
            generate_latest(kit.registry),
            generate_openmetrics(kit.registry),
            dump.encode(),
            log_text.encode(),
        ]
    )


@pytest.mark.filterwarnings("ignore::UserWarning")  # LangGraph's, about what a cache cannot hold
@pytest.mark.parametrize("log_events", [False, True], ids=["events on spans", "events as logs"])
@pytest.mark.parametrize("way", HOSTILE)
def test_hostile_text_stays_inside_whatever_the_role(
    way: str, log_events: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kit = Kit(log_events=log_events)
    path = tmp_path / "turns.db"
    records = RecordSink(path)
    token = otel.attach(baggage.set_baggage("user", SECRET))
    try:
        with caplog.at_level(logging.DEBUG, "telemetry"):
            for role in ROLES:
                ask_twice(kit.watch(HOSTILE[way](), {"work": role}, records=records))
            assert records.flush()
    finally:
        otel.detach(token)
        records.close()
    ours = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("telemetry"))
    out = exported(kit, path, ours)

    assert kit.value("rag_turns_total") == 2 * len(ROLES)
    assert b"rag.outcome" in out
    assert [secret for secret in TRACES if secret in out] == []


def ask_twice(graph: Any) -> None:
    config: Any = {
        "configurable": {"thread_id": SECRET, "user": SECRET},
        "metadata": {"session": SECRET}, "tags": [SECRET],
    }  # fmt: skip
    for given in (
        {"question": SECRET, "messages": [HumanMessage(SECRET)]},
        Command(resume=SECRET) if graph.checkpointer else {"question": SECRET},
    ):
        with contextlib.suppress(Exception):  # what was exported is what matters
            graph.invoke(given, config)


def test_what_readers_of_the_hosts_return_cannot_become_a_label_or_an_outcome() -> None:
    readers = replace(
        DEFAULT_READERS,
        verdict=lambda _, __: Verdict(SECRET, SECRET),
        statement=lambda _, __: Statement(
            outcome=SECRET, reason=SECRET, reply=SECRET, failures=((SECRET, SECRET),)
        ),
    )
    kit = Kit()
    kit.watch(one_node(lambda _: {"reply": "x"}), {"work": "guard"}, readers=readers).invoke({})
    out = encode_spans(kit.spans).SerializeToString() + generate_latest(kit.registry)

    assert kit.outcomes() == {"answered": 1}
    assert kit.counted("rag_judgement_failures_total", "role", "reason") == {("other", "other"): 1}
    assert [secret for secret in TRACES if secret in out] == []


@pytest.mark.parametrize("mode", ["SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"])
def test_what_the_hook_masks_is_in_no_byte_in_any_mode(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def redact(text: str) -> str:
        for secret in SECRETS[1:]:
            text = text.replace(secret, "***")
        return text

    monkeypatch.setenv(VARIABLE, mode)
    kit = Kit(log_events=True)
    for make in HOSTILE.values():
        graph = kit.watch(make(), {"work": "retrieve"}, redact=redact)
        try:
            graph.invoke({"question": SECRET}, {"configurable": {"thread_id": SECRET}})
        except Exception:
            continue
    out = b"".join(
        [
            encode_spans(kit.spans).SerializeToString(),
            encode_logs(kit.log_exporter.get_finished_logs()).SerializeToString(),
            generate_openmetrics(kit.registry),
        ]
    )

    assert b"ZQXCANARY" in out
    assert [secret for secret in TRACES[1:] if secret in out] == []


def test_the_store_of_the_graph_and_its_context_are_not_read(tmp_path: Path) -> None:
    store = InMemoryStore()
    store.put(("users",), "1", {"name": SECRET})
    kit = Kit()
    graph = kit.watch(support_graph(bound=0, store=store), SUPPORT_ROLES)
    graph.invoke(QUESTION, {"configurable": {"thread_id": "1"}}, context={"user": SECRET})

    assert TRACES[0] not in encode_spans(kit.spans).SerializeToString()


# -- sizes ----------------------------------------------------------------------------------------

BIG = {
    "letters": "x" * 200_000,
    "umlauts": "ü" * 100_000,
    "quotes": '"' * 200_000,
    "control characters": "\x01\n\\" * 60_000,
    "half of a pair": "\ud83d" * 100_000,
}
SHELF = [[(f"document-{n}", 0.5) for n in range(50)]]


@pytest.mark.parametrize("text", BIG.values(), ids=BIG)
def test_with_content_on_every_attribute_and_span_keeps_its_cap(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "SPAN_ONLY")
    kit = Kit()
    graph = support_graph(bound=0, grades=["yes"], replies=[text], finds=SHELF, text=text)
    kit.watch(graph, SUPPORT_ROLES).invoke({"question": text})

    read = 0
    for span in kit.spans:
        sizes = {
            key: byte_size(value)
            for holder in (span, *span.events)
            for key, value in (holder.attributes or {}).items()
        }
        assert max(sizes.values()) <= TEXT_BYTES + len(MARKER.encode())
        assert sum(sizes.values()) <= SPAN_BYTES
        for key in set(sizes) & {
            "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.retrieval.documents",
        }:  # fmt: skip
            assert isinstance(json.loads(span.attributes[key]), list)
            read += 1
    assert read >= 5
    assert kit.value("rag_telemetry_errors_total") == 0


def test_many_short_messages_and_documents_keep_the_cap_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work(_: State) -> State:
        Scripted().invoke([HumanMessage(str(n)) for n in range(3_000)])
        Shelf(finds=[[(str(n), 0.5) for n in range(3_000)]], text="").invoke("q")
        return {}

    monkeypatch.setenv(VARIABLE, "SPAN_ONLY")
    kit = Kit()
    kit.watch(one_node(work)).invoke({})
    asked = json.loads(kit.span("chat scripted-1").attributes["gen_ai.input.messages"])
    found = json.loads(kit.span("retrieval Shelf").attributes["gen_ai.retrieval.documents"])

    assert asked[-1]["parts"][0]["content"] == "2999"
    assert asked[0]["parts"][0]["content"] == MARKER
    assert (found[0]["id"], found[-1]["content"]) == ("0", MARKER)
    for span in kit.spans:
        assert all(byte_size(value) <= TEXT_BYTES for value in span.attributes.values())


def test_twenty_turns_of_fifty_big_documents_fit_one_message_of_a_collector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shelf = Shelf(finds=SHELF, text="y" * 200_000)
    monkeypatch.setenv(VARIABLE, "SPAN_ONLY")
    kit = Kit()
    graph = kit.watch(
        one_node(lambda state: {"documents": shelf.invoke(state["question"])}),
        {"work": "retrieve"},
    )
    for _ in range(20):
        graph.invoke({"question": "q" * 200_000})

    assert len(kit.spans) == 60
    assert len(encode_spans(kit.spans).SerializeToString()) < 60 * 3 * TEXT_BYTES


def test_without_content_the_size_of_a_trace_does_not_depend_on_the_size_of_the_state() -> None:
    def size(characters: int) -> int:
        kit = Kit()
        text = "y" * characters
        graph = support_graph(bound=0, replies=[text], grades=["yes"], text=text)
        kit.watch(graph, SUPPORT_ROLES).invoke({"question": "q" * characters})
        return len(encode_spans(kit.spans).SerializeToString())

    assert abs(size(10) - size(1_000_000)) < 64


def test_chunks_beyond_the_cap_are_left_out_and_counting_goes_on() -> None:
    def search(_: State) -> Any:
        return {"documents": [{"id": "d" * 500 + str(n), "score": 0.5} for n in range(5_000)]}

    def read(update: Any, _: Any) -> Chunks:
        return Chunks(tuple(d["id"] for d in update["documents"]), ())

    for readers in (None, replace(DEFAULT_READERS, chunks=read)):
        kit = Kit()
        kit.watch(one_node(search), {"work": "retrieve"}, readers=readers).invoke({})
        ids = kit.span("node work").attributes["rag.chunk.ids"]

        assert ids[-1] == MARKER
        assert byte_size(ids) <= TEXT_BYTES + len(MARKER.encode())
        assert kit.value("rag_retrievals_total", result="hit") == 1
