"""Makes the spans of one graph: a turn's as the SDK makes it, those inside a turn quickly.

Where the tracer is not the SDK's plain one (another product's, or span limits of the host's), all
spans are made by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, DEFAULT_ON, Decision
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    ProxyTracer,
    Span,
    SpanContext,
    SpanKind,
    TraceFlags,
    Tracer,
    TraceState,
    get_current_span,
)

from telemetry.quick_spans import LIMIT, QuickSpan

_USUAL_LIMITS: Final = {
    "max_span_attributes": LIMIT,
    "max_event_attributes": LIMIT,
    "max_link_attributes": LIMIT,
    "max_events": LIMIT,
    "max_links": LIMIT,
    "max_attribute_length": None,
    "max_span_attribute_length": None,
}
_RANDOM: Final = 0x02
"""The flag of a trace id whose bits are random; a span has its parent's."""
_KNOWN: Final = TraceFlags.SAMPLED | _RANDOM
_KEEP_ALL: Final = (ALWAYS_ON, DEFAULT_ON)
"""Samplers that sample whatever has a sampled parent: they need not be asked."""
_FLAGS: Final = tuple(TraceFlags(bits) for bits in range(4))


class TurnTracer:
    """Makes the spans of one instrumented graph.

    Args:
        opened: Returns the tracer of the provider; called again until that is a real one, since a
            program may set its provider after it has instrumented a graph.
    """

    def __init__(self, opened: Callable[[], Tracer]) -> None:
        self._opened = opened
        self._tracer = opened()
        self._plain = _plain(self._tracer)

    def start_turn(
        self, name: str, context: Context, attributes: Mapping[str, Any], links: Sequence[Link]
    ) -> Span:
        """Begin the span of a turn: the SDK's own."""
        if isinstance(self._tracer, ProxyTracer):
            self._tracer = self._opened()
            self._plain = _plain(self._tracer)
        return self._tracer.start_span(name, context, attributes=attributes, links=links)

    def start_span(
        self,
        name: str,
        context: Context,
        kind: SpanKind = SpanKind.INTERNAL,
        above: Span | None = None,
    ) -> Span:
        """Begin a span, as the provider's sampler decides.

        Args:
            name: Its name.
            context: In which it begins.
            kind: Its kind.
            above: The span that is current there, where that is known.
        """
        source = self._plain
        parent = (get_current_span(context) if above is None else above).get_span_context()
        if source is None or not parent.is_valid:
            return self._tracer.start_span(name, context, kind)
        decision, attributes = Decision.RECORD_AND_SAMPLE, None
        state: TraceState | None = parent.trace_state
        flags: int = parent.trace_flags
        if not (flags & TraceFlags.SAMPLED and source.sampler in _KEEP_ALL):
            sampled = source.sampler.should_sample(context, parent.trace_id, name, kind)
            decision, attributes, state = sampled.decision, sampled.attributes, sampled.trace_state
            flags &= _RANDOM
            if decision is Decision.RECORD_AND_SAMPLE:
                flags |= TraceFlags.SAMPLED
        ids = SpanContext(
            parent.trace_id,
            source.id_generator.generate_span_id(),
            False,  # it is not of another process
            _FLAGS[flags & _KNOWN],
            state,
        )
        if decision is Decision.DROP:
            return NonRecordingSpan(ids)
        span = QuickSpan(source, name, ids, parent, kind=kind, attributes=attributes)
        source.span_processor.on_start(span, context)
        return span


def _plain(tracer: Tracer) -> SdkTracer | None:
    """Return a tracer whose spans a quick one can stand for, else None."""
    if type(tracer) is not SdkTracer:
        return None
    limits = getattr(tracer, "_span_limits", None)
    usual = all(getattr(limits, name, ...) == limit for name, limit in _USUAL_LIMITS.items())
    return tracer if usual else None
