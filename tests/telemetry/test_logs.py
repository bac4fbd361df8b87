from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest
from langgraph.graph import END, START, StateGraph
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import format_span_id, format_trace_id

from telemetry.logs import FORMAT, add_trace_context


@pytest.fixture
def written() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    add_trace_context(handler)
    log = logging.getLogger("test.inside.a.node")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield log, stream
    log.removeHandler(handler)


def test_a_line_inside_a_node_carries_the_ids_of_its_span(
    written: tuple[logging.Logger, io.StringIO],
) -> None:
    log, stream = written
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    ids: list[str] = []

    def node(state: dict[str, int]) -> dict[str, int]:
        with tracer.start_as_current_span("node fetch") as span:
            context = span.get_span_context()
            log.info("fetched %d", 2)
            ids.append(
                f"trace_id={format_trace_id(context.trace_id)} "
                f"span_id={format_span_id(context.span_id)} fetched 2"
            )
        return state

    graph = StateGraph(dict)
    graph.add_node("fetch", node)
    graph.add_edge(START, "fetch")
    graph.add_edge("fetch", END)
    graph.compile().invoke({"x": 1})

    assert stream.getvalue().strip().endswith(ids[0])


def test_a_line_without_a_span_has_the_same_format(
    written: tuple[logging.Logger, io.StringIO],
) -> None:
    log, stream = written

    log.info("starting")

    assert stream.getvalue().strip().endswith("trace_id= span_id= starting")


def test_adding_twice_changes_nothing_and_other_handlers_are_left_alone() -> None:
    handler, other = logging.StreamHandler(), logging.StreamHandler()
    add_trace_context(handler)
    add_trace_context(handler, log_format=None)

    assert len(handler.filters) == 1
    assert other.filters == []
    assert handler.formatter is not None
    assert handler.formatter._fmt == FORMAT
