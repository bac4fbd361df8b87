"""Code of the host may treat a quick span as it may treat one of the SDK."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span, SpanContext, Status, StatusCode, set_span_in_context

from telemetry.quick_spans import LIMIT, QuickSpan
from telemetry.turn_tracer import TurnTracer

ELSEWHERE = SpanContext(7, 8, is_remote=True)


@pytest.fixture(name="kept")
def fixture_kept() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture(name="begin")
def fixture_begin(kept: InMemorySpanExporter) -> Callable[..., QuickSpan]:
    def begin(*processors: SpanProcessor) -> QuickSpan:
        made = TracerProvider()
        for processor in (*processors, SimpleSpanProcessor(kept)):
            made.add_span_processor(processor)
        tracer = TurnTracer(lambda: made.get_tracer("scope"))
        turn = tracer.start_turn("turn", Context(), {}, ())
        span = tracer.start_span("node a", set_span_in_context(turn, Context()))
        assert isinstance(span, QuickSpan)
        return span

    return begin


def ended(kept: InMemorySpanExporter) -> ReadableSpan:
    (span,) = kept.get_finished_spans()
    assert encode_spans([span]).ByteSize() > 0
    return span


def test_it_is_a_span_of_the_sdk(begin: Callable[..., QuickSpan]) -> None:
    span = begin()
    assert isinstance(span, SdkSpan)
    assert isinstance(span, ReadableSpan)
    assert span._readable_span().name == "node a"
    span.start()  # only told that it has started


@pytest.mark.parametrize("given", ["OK", None, 1])
def test_a_status_that_is_none_changes_nothing(
    given: Any, begin: Callable[..., QuickSpan], kept: InMemorySpanExporter
) -> None:
    span = begin()
    span.set_status(given)
    span.end()
    assert ended(kept).status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("key", [3, None, [1], ("a",)])
def test_a_key_that_is_none_is_left_out(
    key: Any, begin: Callable[..., QuickSpan], kept: InMemorySpanExporter
) -> None:
    span = begin()
    span.set_attribute(key, "x")
    span.end()
    assert not ended(kept).attributes


class Private(SpanProcessor):
    """Writes what the SDK keeps under names of its own, as some products do."""

    def on_start(self, span: Any, parent_context: Context | None = None) -> None:
        span._name = "renamed"
        span._status = Status(StatusCode.ERROR, "marked")
        span._resource = Resource({"product": "other"})
        span._attributes["private"] = True


def test_private_fields_that_a_processor_writes_are_exported(
    begin: Callable[..., QuickSpan], kept: InMemorySpanExporter
) -> None:
    begin(Private()).end()
    span = ended(kept)
    assert (span.name, span.status.description) == ("renamed", "marked")
    assert dict(span.resource.attributes) == {"product": "other"}
    assert dict(span.attributes or {}) == {"private": True}


def test_many_events_links_and_attributes_hold_no_memory_before_the_end(
    begin: Callable[..., QuickSpan],
) -> None:
    span = begin()
    for n in range(3 * LIMIT):
        span.add_event("e")
        span.add_link(ELSEWHERE)
        span.set_attribute(f"k{n}", n)
    told = (span.events, span.links, span.attributes or {})
    assert [len(each) for each in told] == [LIMIT] * 3
    assert [event.name for event in span.events] == ["e"] * LIMIT


def test_what_is_written_while_it_ends_does_not_reach_the_exporter(
    begin: Callable[..., QuickSpan], kept: InMemorySpanExporter
) -> None:
    span = begin()

    class EndsMeanwhile(dict[str, int]):
        def items(self) -> Iterator[tuple[str, int]]:  # type: ignore[override]
            yield "early", 1
            span.end()
            yield "late", 2

    span.set_attributes(EndsMeanwhile())
    assert dict(ended(kept).attributes or {}) == {"early": 1}


def test_a_log_handler_may_end_spans_of_its_own(begin: Callable[..., QuickSpan]) -> None:
    span, other = begin(), begin()

    class Traced(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            other.end()

    handler, logger = Traced(), logging.getLogger("telemetry.quick_spans")
    logger.addHandler(handler)
    try:
        span.end()
        ends = threading.Thread(target=span.end, daemon=True)
        ends.start()
        ends.join(5)
    finally:
        logger.removeHandler(handler)
    assert not ends.is_alive()
    assert not other.is_recording()


def test_one_of_many_threads_ends_it_and_all_their_notes_are_kept(
    begin: Callable[..., QuickSpan], kept: InMemorySpanExporter
) -> None:
    span, together = begin(), threading.Barrier(8)

    def note(number: int) -> None:
        together.wait()
        span.add_event(f"e{number}")
        span.add_link(ELSEWHERE, {"n": number})
        span.set_attribute(f"k{number}", number)
        together.wait()
        span.end()

    threads = [threading.Thread(target=note, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one = ended(kept)
    assert [len(each) for each in (one.events, one.links, one.attributes or {})] == [8] * 3


def test_the_host_may_end_it_by_use_span(
    begin: Callable[..., QuickSpan], kept: InMemorySpanExporter
) -> None:
    span: Span = begin()
    with pytest.raises(ValueError, match="no"), trace.use_span(span, end_on_exit=True):
        assert trace.get_current_span() is span
        raise ValueError("no")
    span.end()
    one = ended(kept)
    assert one.status.status_code is StatusCode.ERROR
    assert [event.name for event in one.events] == ["exception"]
    assert one.end_time is not None
