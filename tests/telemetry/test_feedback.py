"""What people say of answers: a count, an event in the turn's trace, text only where asked for."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from telemetry import names
from telemetry.content import ContentGate
from telemetry.families import metric_set
from telemetry.feedback import Feedback

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CLOSED = ContentGate()
OPEN = ContentGate(spans=True, events=True, redact=lambda text: text.replace("Ann", "***"))


class Watch:
    """A feedback whose spans, events and counts can be looked at."""

    def __init__(self, gate: ContentGate = CLOSED, *, with_log: bool = True) -> None:
        self.registry = CollectorRegistry()
        self.spans = InMemorySpanExporter()
        self.events = InMemoryLogRecordExporter()
        tracer_provider = TracerProvider()
        tracer_provider.add_span_processor(SimpleSpanProcessor(self.spans))
        logger_provider = LoggerProvider()
        logger_provider.add_log_record_processor(SimpleLogRecordProcessor(self.events))
        self.feedback = Feedback(
            metric_set(self.registry),
            graph="g",
            gate=gate,
            tracer_provider=tracer_provider,
            logger_provider=logger_provider if with_log else None,
        )

    def counted(self) -> dict[str, float]:
        return {
            verdict: self.registry.get_sample_value(names.FEEDBACK, {"verdict": verdict}) or 0.0
            for verdict in names.VERDICTS
        }


def test_both_series_are_there_at_zero() -> None:
    watch = Watch()
    verdicts = {
        sample.labels["verdict"]
        for metric in watch.registry.collect()
        for sample in metric.samples
        if sample.name == names.FEEDBACK
    }

    assert (verdicts, watch.counted()) == ({"up", "down"}, {"up": 0.0, "down": 0.0})


@pytest.mark.parametrize(("verdict", "score"), [("up", 1.0), ("down", 0.0)])
def test_a_verdict_is_counted_and_an_event_of_the_turns_span(verdict: Any, score: float) -> None:
    watch = Watch()
    watch.feedback.give(verdict, trace_id=TRACE, span_id=SPAN, comment="Ann was right.")
    (log,) = watch.events.get_finished_logs()
    record = log.log_record

    assert watch.counted() == {"up": score, "down": 1.0 - score}
    assert (record.event_name, dict(record.attributes or {})) == (
        "gen_ai.evaluation.result",
        {
            "gen_ai.evaluation.name": "user_feedback",
            "gen_ai.evaluation.score.label": verdict,
            "gen_ai.evaluation.score.value": score,
        },
    )
    assert (f"{record.trace_id:032x}", f"{record.span_id:016x}") == (TRACE, SPAN)
    assert watch.spans.get_finished_spans() == ()


def test_without_a_log_of_events_it_is_put_on_a_span_below_the_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = Watch(with_log=False)
    watch.feedback.give("down", trace_id=TRACE, span_id=SPAN)
    (span,) = watch.spans.get_finished_spans()

    assert (span.name, [event.name for event in span.events]) == (
        "feedback g", ["gen_ai.evaluation.result"],
    )  # fmt: skip
    assert span.parent is not None
    assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, SPAN)


@pytest.mark.parametrize("with_log", [True, False], ids=["event", "span"])
def test_a_comment_leaves_redacted_and_only_when_content_is_asked_for(with_log: bool) -> None:
    shown = []
    for gate in (CLOSED, OPEN):
        watch = Watch(gate, with_log=with_log)
        watch.feedback.give("up", trace_id=TRACE, span_id=SPAN, comment="Ann was right.")
        if with_log:
            attributes: Any = watch.events.get_finished_logs()[0].log_record.attributes
        else:
            attributes = watch.spans.get_finished_spans()[0].events[0].attributes
        shown.append(attributes.get("gen_ai.evaluation.explanation"))

    assert shown == [None, "*** was right."]


def test_a_turn_without_trace_is_only_counted() -> None:
    watch = Watch()
    watch.feedback.give("up", trace_id=None, span_id=None)

    assert (watch.counted()["up"], watch.events.get_finished_logs()) == (1.0, ())
