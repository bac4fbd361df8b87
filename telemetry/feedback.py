"""What people say of answers: counted, and attached to the trace of the turn they speak of."""

from __future__ import annotations

from typing import Final, Literal

from opentelemetry import trace
from opentelemetry._logs import LoggerProvider
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    TraceFlags,
    TracerProvider,
    set_span_in_context,
)

from telemetry import names
from telemetry.content import ContentGate
from telemetry.events import EventLog, emit
from telemetry.families import MetricSet

NAME: Final = "user_feedback"
"""Of the evaluation, as the conventions want one."""
_SCORES: Final = {names.UP: 1.0, names.DOWN: 0.0}


class Feedback:
    """Takes verdicts on turns that have ended.

    A verdict is the event `gen_ai.evaluation.result` of the turn's span. Where no log takes
    events, it is put on a short span of its own below that one, which has ended.

    Args:
        families: Counts them; both series are there from the start.
        graph: Whose turns they are.
        gate: Lets a comment pass, or not.
        tracer_provider: Where spans go; None for the global one.
        logger_provider: Where events go; None for the global one.
    """

    def __init__(
        self,
        families: MetricSet,
        *,
        graph: str,
        gate: ContentGate,
        tracer_provider: TracerProvider | None = None,
        logger_provider: LoggerProvider | None = None,
    ) -> None:
        self._counter = families.counters[names.FEEDBACK]
        self._graph = graph
        self._gate = gate
        self._events = EventLog(logger_provider)
        self._tracer = trace.get_tracer(names.SCOPE, None, tracer_provider)
        for verdict in names.VERDICTS:
            self._counter.labels(verdict)

    def give(
        self,
        verdict: Literal["up", "down"],
        *,
        trace_id: str | None,
        span_id: str | None,
        comment: str | None = None,
    ) -> None:
        """Take a verdict on a turn.

        Args:
            verdict: What was said.
            trace_id: 32 hex digits; None for a turn without trace, whose verdict is only counted.
            span_id: 16 hex digits of the turn's span.
            comment: Leaves the process only where content capture is on.
        """
        self._counter.labels(verdict).inc()
        if trace_id is None or span_id is None:
            return
        attributes: dict[str, str | float] = {
            names.EVALUATION_NAME: NAME,
            names.EVALUATION_LABEL: verdict,
            names.EVALUATION_VALUE: _SCORES[verdict],
        }
        turn = NonRecordingSpan(
            SpanContext(
                int(trace_id, 16), int(span_id, 16), is_remote=True,
                trace_flags=TraceFlags(TraceFlags.SAMPLED),
            )
        )  # fmt: skip
        logger = self._events.logger
        is_open = self._gate.spans if logger is None else self._gate.events
        text = self._gate.safe(comment) if comment and is_open else None
        if text:
            attributes[names.EVALUATION_EXPLANATION] = text
        if logger is not None:
            emit(logger, turn, names.EVENT_EVALUATION, attributes)
            return
        span = self._tracer.start_span(
            names.SPAN_FEEDBACK.format(graph=self._graph),
            set_span_in_context(turn),
            SpanKind.INTERNAL,
        )
        span.add_event(names.EVENT_EVALUATION, attributes)
        span.end()
