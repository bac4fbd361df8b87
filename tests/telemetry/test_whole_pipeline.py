"""A graph, its spans, its counters and its records together, as our own entries put them."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.documents import Document
from langgraph.graph import END, START, StateGraph
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from otlp_stub import black_hole, closed_port, collector
from prometheus_client import CollectorRegistry

from telemetry import names
from telemetry.endpoints import ExportOptions
from telemetry.export import Export, make_export
from telemetry.families import metric_set
from telemetry.instrumentation import instrument
from telemetry.logs import add_trace_context
from telemetry.records import RecordSink, Selection, open_reader

CANARY = "ZQX-CANARY 4111 1111 1111 1111"
LOG = logging.getLogger("test.whole.way")


class State(TypedDict, total=False):
    question: str
    query: str
    documents: list[Document]
    topic: str
    outcome: str
    reply: str


def fetch(state: State) -> dict[str, Any]:
    LOG.warning("fetching")
    if "fail" in state["question"]:
        raise ValueError(f"cannot search for {state['question']}")
    return {"documents": [Document(page_content=CANARY, id="cancel")]}


def respond(state: State) -> dict[str, Any]:
    return {"reply": f"About {state['question']}", "outcome": "answered"}


def compiled() -> Any:
    graph = StateGraph(State)
    graph.add_node("fetch", fetch)
    graph.add_node("respond", respond)
    graph.add_edge(START, "fetch")
    graph.add_edge("fetch", "respond")
    graph.add_edge("respond", END)
    return graph.compile(name="desk")


ROLES = {"fetch": names.RETRIEVE, "respond": names.ANSWER}


@contextmanager
def watched(
    endpoint: str | None, store: Path, keep_ratio: float = 1.0
) -> Iterator[tuple[Any, Export, CollectorRegistry]]:
    registry = CollectorRegistry()
    books = metric_set(registry)
    export = make_export(
        ExportOptions(endpoint=endpoint, keep_ratio=keep_ratio),
        dropped=books.dropped,
        failed=books.failed,
        environment={},
    )
    sink = RecordSink(store, dropped=books.dropped, failed=books.failed)
    graph = instrument(
        compiled(),
        roles=ROLES,
        registry=registry,
        records=sink,
        tracer_provider=export.tracer_provider,
        logger_provider=export.logger_provider,
    )
    yield graph, export, registry
    sink.close()
    export.shutdown()


def test_one_turn_is_one_trace_one_record_and_one_count(tmp_path: Path) -> None:
    store = tmp_path / "turns.db"
    with collector() as seen:
        with watched(seen.url, store) as (graph, _, registry):
            graph.invoke({"question": "How do I cancel?"})
        with open_reader(store) as reader:
            (record,) = reader.list().records

    assert record.outcome == "answered"
    assert record.graph == "desk"
    assert seen.trace_ids == {record.trace_id}
    assert sorted(seen.names) == ["invoke_workflow desk", "node fetch", "node respond"]
    labels = {"graph": "desk", "version": "unknown", "outcome": "answered", "retrieved": "yes"}
    assert registry.get_sample_value(names.TURNS, {**labels, "last_grade": "none"}) == 1


def test_text_is_in_no_exported_byte_and_in_no_record(tmp_path: Path) -> None:
    store = tmp_path / "turns.db"
    with collector() as seen:
        with watched(seen.url, store) as (graph, _, _):
            graph.invoke({"question": CANARY})
            with pytest.raises(ValueError, match="cannot search"):
                graph.invoke({"question": f"fail {CANARY}"})
        exported = b"".join(request.SerializeToString() for request in seen.requests)
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())

    assert len(seen.trace_ids) == 2
    assert b"ValueError" in exported
    for secret in (b"ZQX", b"4111"):
        assert secret not in exported
        assert secret not in kept


def test_tail_sampling_drops_answers_and_keeps_failures_while_everything_is_counted(
    tmp_path: Path,
) -> None:
    store = tmp_path / "turns.db"
    with collector() as seen:
        with watched(seen.url, store, keep_ratio=0.0) as (graph, _, registry):
            for _ in range(10):
                graph.invoke({"question": "How do I cancel?"})
            with pytest.raises(ValueError, match="cannot search"):
                graph.invoke({"question": "fail"})
        with open_reader(store) as reader:
            (failed,) = reader.list(Selection(outcome=names.ERROR)).records
            assert reader.count() == 11

    assert seen.trace_ids == {failed.trace_id}
    (family,) = [f for f in registry.collect() if f"{f.name}_total" == names.TURNS]
    assert sum(s.value for s in family.samples if s.name == names.TURNS) == 11


def ask(graph: Any, question: str) -> None:
    with suppress(ValueError):
        graph.invoke({"question": question})


@pytest.mark.parametrize(
    ("keep_ratio", "expected"),
    [
        pytest.param(1.0, ["good", "fail"], id="everything is kept"),
        pytest.param(0.0, ["fail"], id="only failures are kept"),
    ],
)
def test_events_are_kept_and_dropped_with_their_trace(
    tmp_path: Path, keep_ratio: float, expected: list[str]
) -> None:
    def guard(state: State) -> dict[str, Any]:
        if state["question"] == "fail":
            return {"topic": "irrelevant", "outcome": "off_topic"}
        return {"topic": "relevant", "outcome": "answered"}

    graph = StateGraph(State)
    graph.add_node("guard", guard)
    graph.add_edge(START, "guard")
    with collector() as seen:
        export = make_export(
            ExportOptions(endpoint=seen.url, keep_ratio=keep_ratio), environment={}
        )
        watched_guard = instrument(
            graph.compile(name="gate"),
            roles={"guard": names.GUARD},
            registry=CollectorRegistry(),
            tracer_provider=export.tracer_provider,
            logger_provider=export.logger_provider,
        )
        for _ in range(3):
            watched_guard.invoke({"question": "good"})
            watched_guard.invoke({"question": "fail"})
        assert export.logger_provider is not None
        export.logger_provider.get_logger("the host's").emit(event_name="host.event")
        export.shutdown()

    assert seen.events.count(names.EVENT_EVALUATION) == 3 * len(expected)
    assert seen.events.count("host.event") == 1
    assert seen.names.count("invoke_workflow gate") == 3 * len(expected)


@pytest.mark.parametrize("keep_ratio", [0.0, 0.3])
def test_with_tail_sampling_every_exemplar_leads_to_an_exported_trace(
    tmp_path: Path, keep_ratio: float
) -> None:
    linked: set[str] = set()
    with (
        collector() as seen,
        watched(seen.url, tmp_path / "t.db", keep_ratio) as (graph, _, registry),
    ):
        for number in range(60):
            ask(graph, "fail" if number % 10 == 0 else "How do I cancel?")
            linked |= {
                sample.exemplar.labels[names.EXEMPLAR_TRACE_ID]
                for family in registry.collect()
                for sample in family.samples
                if sample.exemplar
            }

    assert linked
    assert linked <= seen.trace_ids
    assert 6 <= len(seen.trace_ids) < 60


def telemetry_errors(registry: CollectorRegistry) -> dict[str, float]:
    return {
        sample.labels["where"]: sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == names.TELEMETRY_ERRORS and sample.value
    }


def test_a_store_that_cannot_be_written_is_a_failure_before_a_record_is_dropped(
    tmp_path: Path,
) -> None:
    store = tmp_path / "turns.db"
    store.mkdir()
    registry, tried = CollectorRegistry(), threading.Event()
    books = metric_set(registry)

    def failed(signal: str) -> None:
        books.failed(signal)
        tried.set()

    sink = RecordSink(store, dropped=books.dropped, failed=failed)
    instrument(compiled(), roles=ROLES, registry=registry, records=sink).invoke(
        {"question": "How do I cancel?"}
    )
    assert tried.wait(10)
    assert registry.get_sample_value(names.TELEMETRY_DROPPED, {"signal": "records"}) == 0
    sink.close()

    assert list(telemetry_errors(registry)) == ["record"]


def test_an_exporter_that_raises_is_a_failure_and_its_spans_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(*_: Any, **__: Any) -> Any:
        raise ValueError

    monkeypatch.setattr(OTLPSpanExporter, "export", raises)
    with collector() as seen, watched(seen.url, tmp_path / "t.db") as (graph, export, registry):
        graph.invoke({"question": "How do I cancel?"})
        export.flush(10)

    assert telemetry_errors(registry) == {"export": 1}
    assert registry.get_sample_value(names.TELEMETRY_DROPPED, {"signal": "spans"}) == 3


def test_a_collector_that_refuses_is_a_loss_and_no_failure_inside_telemetry(
    tmp_path: Path,
) -> None:
    with closed_port() as nobody, watched(nobody, tmp_path / "t.db") as (graph, _, registry):
        graph.invoke({"question": "How do I cancel?"})

    assert telemetry_errors(registry) == {}
    assert registry.get_sample_value(names.TELEMETRY_DROPPED, {"signal": "spans"}) == 3


def test_a_collector_that_hangs_changes_neither_answers_nor_latency(tmp_path: Path) -> None:
    def turns(endpoint: str | None, name: str) -> tuple[list[str], float]:
        replies, times = [], []
        with watched(endpoint, tmp_path / name) as (graph, export, _):
            for number in range(30):
                started = time.perf_counter()
                replies.append(graph.invoke({"question": f"question {number}"})["reply"])
                times.append(time.perf_counter() - started)
            export.shutdown(0.1)
        return replies, sorted(times)[28]

    with collector() as healthy:
        expected, healthy_p95 = turns(healthy.url, "healthy.db")
    with black_hole() as hole:
        replies, p95 = turns(hole, "hole.db")

    assert replies == expected
    assert p95 <= healthy_p95 + 0.05


def test_a_log_line_of_a_node_carries_the_ids_of_its_span(tmp_path: Path) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    add_trace_context(handler, "%(trace_id)s %(span_id)s %(message)s")
    LOG.addHandler(handler)
    try:
        with collector() as seen:
            with watched(seen.url, tmp_path / "turns.db") as (graph, _, _):
                graph.invoke({"question": "How do I cancel?"})
            ids = {
                span.name: f"{span.trace_id.hex()} {span.span_id.hex()}"
                for request in seen.requests
                for resource in request.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            }
    finally:
        LOG.removeHandler(handler)

    assert stream.getvalue() == f"{ids['node fetch']} fetching\n"
