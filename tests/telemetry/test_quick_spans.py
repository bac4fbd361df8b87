"""Quick spans are seen by processors and exporters as the SDK's own would be."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    DEFAULT_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
)
from opentelemetry.trace import (
    Link,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    TraceState,
    set_span_in_context,
)

from telemetry.quick_spans import LIMIT, QuickSpan
from telemetry.turn_tracer import TurnTracer

ELSEWHERE = SpanContext(7, 8, is_remote=True, trace_flags=TraceFlags(1))
INVALID = SpanContext(0, 0, is_remote=True)


class Kept(SpanProcessor):
    """Keeps what it is told, and marks each span that starts."""

    def __init__(self) -> None:
        self.started: list[Any] = []
        self.ending: list[Any] = []
        self.ended: list[ReadableSpan] = []

    def on_start(self, span: Any, parent_context: Context | None = None) -> None:
        self.started.append((span.name, span.parent, span.kind, span.resource))
        span.set_attribute("mark", "seen at the start")

    def _on_ending(self, span: Any) -> None:
        self.ending.append(dict(span.attributes))

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)


def provider(**given: Any) -> tuple[TracerProvider, Kept]:
    made, kept = TracerProvider(**given), Kept()
    made.add_span_processor(kept)
    return made, kept


def shown(span: ReadableSpan) -> dict[str, Any]:
    """Return all that an exporter writes of a span but its own id and its times."""
    told = json.loads(span.to_json())
    told["context"].pop("span_id")
    for timed in (told, *told["events"]):
        for key in ("start_time", "end_time", "timestamp"):
            timed.pop(key, None)
    scope = span.instrumentation_scope
    return {
        **told,
        "scope": None if scope is None else (scope.name, scope.version),
        "status": (span.status.status_code, span.status.description),
    }


def both(act: Callable[[Any], object], **given: Any) -> tuple[ReadableSpan, ReadableSpan]:
    """Do the same with a span of the SDK and with a quick one; return both as exported."""
    made, kept = provider(**given)
    tracer = TurnTracer(lambda: trace.get_tracer("scope", "1", made))
    turn = tracer.start_turn("turn", Context(), {}, ())
    context = set_span_in_context(turn, Context())
    spans = [
        made.get_tracer("scope", "1").start_span("node a", context, SpanKind.CLIENT),
        tracer.start_span("node a", context, SpanKind.CLIENT),
    ]
    assert isinstance(spans[1], QuickSpan)
    for span in spans:
        act(span)
        span.end()
    return kept.ended[0], kept.ended[1]


def raise_inside(span: Any) -> None:
    with pytest.raises(KeyError), span:
        raise KeyError("lost")


def many(span: Any) -> None:
    span.set_attributes({f"key{n}": n for n in range(LIMIT + 5)})
    for n in range(LIMIT + 5):
        span.add_event(f"event{n}")
        span.add_link(ELSEWHERE)


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda span: None, id="nothing"),
        pytest.param(
            lambda span: span.set_attributes({"s": "x", "b": True, "i": 3, "f": 0.5}),
            id="plain attributes",
        ),
        pytest.param(
            lambda span: span.set_attributes({"t": ("a", "b"), "l": [1, 2], "m": [1, "a"]}),
            id="sequences",
        ),
        pytest.param(
            lambda span: span.set_attributes({"n": None, "d": {"a": 1}, "o": object}),
            id="values of other types",
        ),
        pytest.param(lambda span: span.set_attributes({"": 1, 3: "x"}), id="keys that are none"),
        pytest.param(
            lambda span: [span.set_attribute("k", n) for n in (1, 2)], id="a key set twice"
        ),
        pytest.param(lambda span: span.add_event("e", {"a": [1, 2], "n": None}, 5), id="an event"),
        pytest.param(lambda span: span.add_link(ELSEWHERE, {"a": 1}), id="a link"),
        pytest.param(lambda span: span.add_link(INVALID), id="a link to nothing"),
        pytest.param(lambda span: span.add_link(INVALID, {"a": 1}), id="a link with attributes"),
        pytest.param(lambda span: span.update_name("other"), id="another name"),
        pytest.param(lambda span: span.set_status(StatusCode.ERROR, "why"), id="a status code"),
        pytest.param(lambda span: span.set_status(Status(StatusCode.OK)), id="a status"),
        pytest.param(
            lambda span: [span.set_status(code) for code in (StatusCode.OK, StatusCode.ERROR)],
            id="OK is final",
        ),
        pytest.param(
            lambda span: [span.set_status(code) for code in (StatusCode.ERROR, StatusCode.UNSET)],
            id="UNSET changes nothing",
        ),
        pytest.param(
            lambda span: span.record_exception(ValueError("no"), {"more": 1}), id="an exception"
        ),
        pytest.param(raise_inside, id="an error leaves the with block"),
        pytest.param(many, id="more than the limits"),
    ],
)
def test_exports_what_the_sdk_exports(act: Callable[[Any], object]) -> None:
    own, quick = both(act)
    expected, found = shown(own), shown(quick)
    for told in (expected, found):  # a stack names the lines of whoever recorded it
        for event in told["events"]:
            event["attributes"].pop("exception.stacktrace", None)
    assert found == expected


def test_counts_what_does_not_fit() -> None:
    own, quick = both(many)
    for span in (own, quick):  # one more attribute: the mark of the processor
        assert (span.dropped_attributes, span.dropped_events, span.dropped_links) == (6, 5, 5)


def test_takes_an_end_time_and_has_started_before_it_ends() -> None:
    made, kept = provider()
    tracer = TurnTracer(lambda: made.get_tracer("scope"))
    context = set_span_in_context(tracer.start_turn("turn", Context(), {}, ()), Context())
    tracer.start_span("a", context).end(2**62)
    tracer.start_span("b", context).end()
    assert kept.ended[0].end_time == 2**62
    last = kept.ended[1]
    assert last.start_time is not None and last.end_time is not None
    assert 0 < last.start_time <= last.end_time


def test_is_closed_once_ended(caplog: pytest.LogCaptureFixture) -> None:
    made, kept = provider()
    tracer = TurnTracer(lambda: made.get_tracer("scope"))
    context = set_span_in_context(tracer.start_turn("turn", Context(), {}, ()), Context())
    span = tracer.start_span("a", context)
    span.end()
    for act in (
        lambda: span.set_attribute("late", 1),
        lambda: span.add_event("late"),
        lambda: span.add_link(ELSEWHERE),
        lambda: span.update_name("late"),
        lambda: span.set_status(StatusCode.ERROR),
        lambda: span.record_exception(ValueError()),
        span.end,
    ):
        caplog.clear()
        act()
        assert "ended span" in caplog.text
    assert not span.is_recording()
    assert len(kept.ended) == 1
    (ended,) = kept.ended
    assert (ended.name, dict(ended.attributes or {}), len(ended.events)) == (
        "a",
        {"mark": "seen at the start"},
        0,
    )


def test_processors_see_it_start_and_end() -> None:
    made, kept = provider()
    tracer = TurnTracer(lambda: made.get_tracer("scope"))
    turn = tracer.start_turn("turn", Context(), {}, ())
    tracer.start_span("a", set_span_in_context(turn, Context())).end()
    assert kept.started[1] == ("a", turn.get_span_context(), SpanKind.INTERNAL, made.resource)
    assert kept.ending == [{"mark": "seen at the start"}]


class ByName(Sampler):
    """Decides by the name of the span."""

    def should_sample(
        self, parent_context: Any, trace_id: int, name: str, *_: Any, **__: Any
    ) -> SamplingResult:
        decision = {"drop": Decision.DROP, "record": Decision.RECORD_ONLY}.get(
            name, Decision.RECORD_AND_SAMPLE
        )
        return SamplingResult(decision, {"by": "name"}, TraceState([("k", "v")]))

    def get_description(self) -> str:
        return "by name"


@pytest.mark.parametrize("name", ["keep", "record", "drop"])
def test_the_sampler_decides_on_each_span(name: str) -> None:
    made, _ = provider(sampler=ByName())
    tracer = TurnTracer(lambda: made.get_tracer("scope"))
    context = set_span_in_context(tracer.start_turn("turn", Context(), {}, ()), Context())
    own = made.get_tracer("scope").start_span(name, context)
    quick = tracer.start_span(name, context)
    assert quick.is_recording() == own.is_recording()
    mine, theirs = quick.get_span_context(), own.get_span_context()
    assert (mine.trace_id, mine.trace_flags, mine.trace_state) == (
        theirs.trace_id,
        theirs.trace_flags,
        theirs.trace_state,
    )
    assert getattr(quick, "attributes", None) == getattr(own, "attributes", None)


@pytest.mark.parametrize("is_sampled", [True, False], ids=["sampled", "not-sampled"])
@pytest.mark.parametrize(
    "sampler", [ALWAYS_ON, DEFAULT_ON, ParentBased(ALWAYS_OFF)], ids=["all", "default", "parents"]
)
def test_below_a_parent_the_usual_samplers_decide_as_they_do_for_the_sdk(
    sampler: Sampler, is_sampled: bool
) -> None:
    made, _ = provider(sampler=sampler)
    parent = SpanContext(5, 6, False, TraceFlags(3 * is_sampled), TraceState([("k", "v")]))
    context = set_span_in_context(trace.NonRecordingSpan(parent), Context())
    own = made.get_tracer("scope").start_span("a", context)
    quick = TurnTracer(lambda: made.get_tracer("scope")).start_span("a", context)
    mine, theirs = quick.get_span_context(), own.get_span_context()
    assert quick.is_recording() == own.is_recording()
    assert (mine.trace_id, mine.trace_flags, mine.trace_state) == (
        theirs.trace_id,
        theirs.trace_flags,
        theirs.trace_state,
    )


def test_spans_of_an_unsampled_parent_are_not_recorded() -> None:
    made, kept = provider(sampler=ParentBased(ALWAYS_ON))
    tracer = TurnTracer(lambda: made.get_tracer("scope"))
    remote = trace.NonRecordingSpan(SpanContext(5, 6, is_remote=True))
    span = tracer.start_span("a", set_span_in_context(remote, Context()))
    assert not span.is_recording()
    assert kept.started == []


def test_without_a_parent_the_sdk_starts_the_trace() -> None:
    made, kept = provider()
    span = TurnTracer(lambda: made.get_tracer("scope")).start_span("a", Context())
    assert not isinstance(span, QuickSpan)
    span.end()
    assert kept.ended[0].parent is None


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param(SpanLimits(max_span_attributes=3), id="fewer attributes"),
        pytest.param(SpanLimits(max_span_attribute_length=4), id="shorter texts"),
        pytest.param(SpanLimits(max_events=1), id="fewer events"),
    ],
)
def test_limits_of_the_host_are_kept_by_the_sdks_own_spans(limits: SpanLimits) -> None:
    made, _ = provider(span_limits=limits)
    tracer = TurnTracer(lambda: made.get_tracer("scope"))
    context = set_span_in_context(tracer.start_turn("turn", Context(), {}, ()), Context())
    assert not isinstance(tracer.start_span("a", context), QuickSpan)


def test_limits_of_the_environment_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "4")
    test_limits_of_the_host_are_kept_by_the_sdks_own_spans(SpanLimits())


def test_another_products_tracer_makes_all_spans() -> None:
    made, _ = provider()

    class Other(type(made.get_tracer("x"))):  # type: ignore[misc]
        pass

    inner = made.get_tracer("scope")
    other = Other.__new__(Other)
    other.__dict__.update(inner.__dict__)
    tracer = TurnTracer(lambda: other)
    context = set_span_in_context(tracer.start_turn("turn", Context(), {}, ()), Context())
    assert not isinstance(tracer.start_span("a", context), QuickSpan)


def test_a_provider_that_is_set_later_makes_the_spans_from_then_on() -> None:
    made, kept = provider()
    tracers: list[Tracer] = [trace.ProxyTracer("scope"), made.get_tracer("scope")]
    tracer = TurnTracer(lambda: tracers.pop(0))
    turn = tracer.start_turn("turn", Context(), {}, [Link(ELSEWHERE)])
    assert isinstance(tracer.start_span("a", set_span_in_context(turn, Context())), QuickSpan)
    assert [name for name, *_ in kept.started] == ["turn", "a"]
