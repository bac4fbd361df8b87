"""Telemetry that fails never breaks a turn: same answer, the failure counted and said once."""

from __future__ import annotations

import logging
from dataclasses import fields, replace
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from loop_graphs import LOOP_ROLES, line_graph, loop_graph
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
from opentelemetry.trace import Tracer, TracerProvider

from telemetry import DEFAULT_READERS, names
from telemetry.testing import Kit

QUESTION = {"question": "where is it?"}


class Boom(Exception):
    """Only telemetry's own parts raise it here."""


def boom(*_: Any, **__: Any) -> Any:
    raise Boom("with a secret in it")


class BrokenSampler(Sampler):
    def should_sample(self, *_: Any, **__: Any) -> Any:
        raise Boom

    def get_description(self) -> str:
        return "broken"


class BrokenProcessor(SpanProcessor):
    def on_end(self, span: ReadableSpan) -> None:
        raise Boom


class BrokenRecords:
    put = boom


class Untouchable:
    """A state value that cannot be looked at."""

    __repr__ = __len__ = __bool__ = __iter__ = __eq__ = boom
    __hash__ = object.__hash__


def broken_readers(**_: Any) -> dict[str, Any]:
    read = ("chunks", "grades", "verdict", "query", "question", "statement")
    return {"readers": replace(DEFAULT_READERS, **dict.fromkeys(read, boom))}


FAULTS: dict[str, dict[str, Any]] = {
    "readers that raise": broken_readers(),
    "a similarity that raises": {"similarity": boom},
    "a detector that raises": {"detectors": (boom,)},
    "records that raise": {"records": BrokenRecords()},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_answer_is_the_same_and_the_failure_is_counted(
    fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    kit = Kit()
    graph = loop_graph(bound=1)
    expected = graph.invoke(QUESTION)
    watched = kit.watch(graph, LOOP_ROLES, **FAULTS[fault])
    with caplog.at_level(logging.WARNING, "telemetry"):
        for _ in range(100):
            assert watched.invoke(QUESTION) == expected

    assert kit.value("rag_turns_total") == 100
    assert kit.value("rag_telemetry_errors_total") >= 100
    kinds = [record.message for record in caplog.records if record.name.startswith("telemetry")]
    assert len(kinds) == len(set(kinds)) <= 2
    assert "secret" not in caplog.text
    assert len(kit.named("invoke_workflow loop")) == 100


@pytest.mark.parametrize("part", ["sampler", "processor"])
def test_a_broken_tracing_set_up_costs_spans_and_nothing_else(part: str) -> None:
    kit = Kit(BrokenSampler() if part == "sampler" else ALWAYS_ON)
    if part == "processor":
        kit.provider.add_span_processor(BrokenProcessor())
    graph = loop_graph(bound=1)
    watched = kit.watch(graph, LOOP_ROLES)

    assert watched.invoke(QUESTION) == graph.invoke(QUESTION)
    assert kit.outcomes() == {"no_results": 1}
    assert kit.value("rag_telemetry_errors_total") >= 1


def test_a_tracer_provider_that_is_broken_costs_spans_and_nothing_else() -> None:
    class BrokenTracer(Tracer):
        start_span = start_as_current_span = boom

    class BrokenProvider(TracerProvider):
        def get_tracer(self, *_: Any, **__: Any) -> Tracer:
            return BrokenTracer()

    kit = Kit()
    kit.watch(loop_graph(), LOOP_ROLES, tracer_provider=BrokenProvider()).invoke(QUESTION)

    assert kit.outcomes() == {"no_results": 1}


def test_a_state_that_cannot_be_looked_at_is_left_alone() -> None:
    kit = Kit()
    untouchable = Untouchable()

    def search(_: dict[str, Any]) -> dict[str, Any]:
        return {"documents": untouchable, "answer": untouchable, "outcome": untouchable}

    result = kit.watch(line_graph(search), {"search": "retrieve"}).invoke({})

    assert result["documents"] is untouchable
    assert kit.value("rag_turns_total") == 1


@pytest.mark.parametrize(
    ("role", "update"),
    [
        pytest.param("retrieve", {"answer": "x"}, id="no chunks"),
        pytest.param("grade", {"answer": "x"}, id="no grades"),
        pytest.param("guard", {"answer": "x"}, id="no verdict"),
    ],
)
def test_a_role_that_does_not_fit_its_node_is_said(
    role: str, update: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    kit = Kit()

    def node(_: dict[str, Any]) -> dict[str, Any]:
        return update

    graph = kit.watch(line_graph(node), {"node": role})
    for _ in range(3):
        graph.invoke({})

    assert kit.value("rag_telemetry_errors_total", where="reader") == 3
    assert kit.turn.retrievals == ()
    assert [record.message for record in caplog.records] == [
        "telemetry failed in reader of graph 'line' with NothingFoundError: node 'node' returned "
        f"none of the keys that are read for its role {role!r} (docs/telemetry.md, Roles): return "
        "one of them, give `instrument` a reader (readers=), or correct the role; the graph is not "
        "affected. Further ones are only counted, in rag_telemetry_errors_total."
    ]


@pytest.mark.parametrize("found", [5, "x", [1], object()], ids=["number", "text", "list", "object"])
def test_a_reader_or_detector_that_returns_anything_changes_no_turn(
    found: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def read(*_: Any) -> Any:
        return found

    names_of_readers = [field.name for field in fields(DEFAULT_READERS)]
    if isinstance(found, str):  # what these two may return
        names_of_readers = [n for n in names_of_readers if n not in ("question", "query")]
    readers = replace(DEFAULT_READERS, **dict.fromkeys(names_of_readers, read))
    roles = ("enhance", "guard", "retrieve", "grade", "rewrite", "critique", "answer")
    kit = Kit()

    def node(name: str) -> Any:
        def body(_: dict[str, Any]) -> dict[str, Any]:
            return {"answer": "x"}

        body.__name__ = name
        return body

    nodes = [node(role) for role in roles]
    graph = kit.watch(
        line_graph(*nodes), {role: role for role in roles}, readers=readers, detectors=[read]
    )

    assert graph.invoke({"question": "q"})["answer"] == "x"
    assert kit.outcomes() == {"answered": 1}
    assert kit.turn.retrievals == ()
    assert len(kit.roots()) == 1
    kind = type(found).__name__
    assert f"returned {kind}, expected Chunks or None" in caplog.text
    assert f"returned {kind}, expected Finding or None" in caplog.text


def test_a_broken_handler_of_calls_does_not_reach_the_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("telemetry.call_spans.SpanHandler._start_span", boom)
    monkeypatch.setattr("telemetry.calls.usage_of", boom)
    kit = Kit()

    def ask(_: dict[str, Any]) -> dict[str, Any]:
        return {"answer": FakeListChatModel(responses=["x"]).invoke("hi").content}

    assert kit.watch(line_graph(ask)).invoke({}) == {"answer": "x"}
    assert kit.value("rag_telemetry_errors_total", where="model") == 2
    assert kit.value("rag_llm_calls_total") == 1


def test_a_reply_that_cannot_be_read_costs_what_it_says_and_not_its_span(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("telemetry.calls.usage_of", boom)
    kit = Kit()

    def ask(_: dict[str, Any]) -> dict[str, Any]:
        return {"answer": FakeListChatModel(responses=["x"]).invoke("hi").content}

    assert kit.watch(line_graph(ask)).invoke({}) == {"answer": "x"}
    assert kit.tree()[1] == [("node ask", [("chat fake-list-chat-model", [])])]
    assert kit.value("rag_telemetry_errors_total", where="model") == 1


def test_labels_stay_in_their_sets_whatever_the_graph_says() -> None:
    kit = Kit()
    words = iter(f"reason {n}" for n in range(10_000))

    def reply(_: dict[str, Any]) -> dict[str, Any]:
        word = next(words)
        return {
            "outcome": word,
            "reason": word,
            "topic": {"classification": word, "confidence": None},
            "judgement_failures": [],
        }

    graph = kit.watch(line_graph(reply), {"reply": "answer"})
    for _ in range(10):
        graph.invoke({})
    before = len(kit.series())
    for n in range(200):
        graph.invoke({}, {"configurable": {"thread_id": f"thread {n}"}})

    assert len(kit.series()) == before
    assert "None" not in kit.scrape()


def test_error_types_are_capped() -> None:
    kit = Kit()
    numbers = iter(range(100))

    def fail(_: dict[str, Any]) -> None:
        raise type(f"Error{next(numbers)}", (Exception,), {})

    graph = kit.watch(line_graph(fail))
    for _ in range(50):
        with pytest.raises(Exception, match="During task"):
            graph.invoke({})

    kinds = kit.counted("rag_node_errors_total", "error_type")
    assert len(kinds) <= 9
    assert sum(kinds.values()) == 50
    assert kinds[(names.OTHER,)] >= 42
