"""Tail sampling in the process: every turn with a failure is kept, the others by rate.

The spans of a trace wait until its last span in this process has ended; then the trace is passed
on whole or not at all. A failure is an outcome other than `answered`, a detector's finding, or a
span with an error. Events wait and go with their trace. Counters are not sampled.

An exemplar must lead to a trace that is kept. The decision is a pure function of the trace id and
of "has it failed", so whoever writes exemplars at the end of a turn asks `keeps` with what is
known then, and gets the answer the sampler will give. Only a failure in the same trace after that
(another turn of the same caller) can still turn a no into a yes, never a yes into a no.

Head sampling (`OTEL_TRACES_SAMPLER`) comes first: what it leaves out is never seen here, failures
included. Set the rate here and leave the head sampler at its default to keep every failure.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

from telemetry import names
from telemetry.errors import ExportSettingsError

MAX_OPEN_TRACES: Final = 2_000
"""Traces that may wait. Chosen by us: ten times what one replica answers at a time; the oldest
above it are decided with what is known of them."""
MAX_SPANS: Final = 1_000
"""Spans and events of one trace that may wait. Chosen by us: a turn has 15 to 40."""
_MAX_REMEMBERED: Final = 10_000

Delivery = Callable[[], object]
"""Passes one span or event on."""


class _Trace:
    """A trace with spans open in this process."""

    __slots__ = ("has_failed", "held", "live")

    def __init__(self) -> None:
        self.live = 0
        self.has_failed = False
        self.held: list[Delivery] = []


class TailSampler(SpanProcessor):
    """Holds the spans of each trace until it is known whether to keep them.

    Args:
        passed_on: Processor that gets the spans of the traces kept.
        ratio: Share of the traces without a failure that is kept, 0 to 1.
        max_open_traces: Traces that may wait.
        max_spans: Spans and events of one trace that may wait.

    Raises:
        ExportSettingsError: `ratio` is not within 0 to 1.
    """

    def __init__(
        self,
        passed_on: SpanProcessor,
        *,
        ratio: float,
        max_open_traces: int = MAX_OPEN_TRACES,
        max_spans: int = MAX_SPANS,
    ) -> None:
        self._passed_on = passed_on
        self._bound = ratio_bound(ratio)
        self._max_open_traces = max_open_traces
        self._max_spans = max_spans
        self._reset()
        reset = weakref.WeakMethod(self._reset)
        os.register_at_fork(after_in_child=lambda: (method := reset()) and method())

    def _reset(self) -> None:
        # A garbage collection under the lock may close an abandoned stream, which ends its spans.
        self._lock = threading.RLock()
        self._traces: OrderedDict[int, _Trace] = OrderedDict()
        self._failed: OrderedDict[int, None] = OrderedDict()

    def keeps(self, trace_id: int, *, failed: bool) -> bool:
        """Return whether a trace is kept, given whether something in it has failed."""
        return failed or trace_id & TraceIdRatioBased.TRACE_ID_LIMIT < self._bound

    def on_start(
        self,
        span: Span,
        parent_context: Context | None = None,  # noqa: ARG002 - the SDK's signature
    ) -> None:
        """Note that the span's trace goes on."""
        context = span.get_span_context()
        if context is None or not context.trace_flags.sampled:
            return
        evicted: Sequence[Delivery] = ()
        with self._lock:
            trace = self._traces.get(context.trace_id)
            if trace is None:
                trace = self._traces[context.trace_id] = _Trace()
                if len(self._traces) > self._max_open_traces:
                    evicted = self._decide(next(iter(self._traces)))
            trace.live += 1
        _pass_on(evicted)

    def on_end(self, span: ReadableSpan) -> None:
        """Hold the span, or pass on what its end decides."""
        context = span.get_span_context()
        if context is None or not context.trace_flags.sampled:
            return
        with self._lock:
            released = self._ended(context.trace_id, span)
        _pass_on(released)

    def hold(self, trace_id: int, delivery: Delivery) -> None:
        """Hold an event until it is decided whether its trace is kept, and then let it go with it.

        Args:
            trace_id: The trace, which is sampled.
            delivery: Passes the event on; called at once, later, or never.
        """
        with self._lock:
            trace = self._traces.get(trace_id)
            if trace is None:
                released = self._alone(trace_id, delivery)
            else:
                trace.held.append(delivery)
                released = self._early(trace_id, trace)
        _pass_on(released)

    def keep_all(self) -> None:
        """Sample nothing from now on: another provider's spans are exported, and all of them."""
        self._bound = ratio_bound(1.0)

    def _ended(self, trace_id: int, span: ReadableSpan) -> Sequence[Delivery]:
        has_failed = is_failure(span)
        if has_failed:
            self._remember(trace_id)
        delivery = partial(self._passed_on.on_end, span)
        trace = self._traces.get(trace_id)
        if trace is None:
            return self._alone(trace_id, delivery)
        trace.live -= 1
        trace.has_failed |= has_failed
        trace.held.append(delivery)
        return self._decide(trace_id) if trace.live <= 0 else self._early(trace_id, trace)

    def _alone(self, trace_id: int, delivery: Delivery) -> Sequence[Delivery]:
        """Decide of a trace that began before this sampler, or was decided already."""
        return [delivery] if self.keeps(trace_id, failed=trace_id in self._failed) else ()

    def _early(self, trace_id: int, trace: _Trace) -> Sequence[Delivery]:
        """Decide of what a trace that goes on holds, once it has failed or holds too much."""
        if not trace.has_failed and len(trace.held) < self._max_spans:
            return ()
        held, trace.held = trace.held, []
        return held if self.keeps(trace_id, failed=trace.has_failed) else ()

    def _decide(self, trace_id: int) -> Sequence[Delivery]:
        trace = self._traces.pop(trace_id)
        failed = trace.has_failed or trace_id in self._failed
        return trace.held if self.keeps(trace_id, failed=failed) else ()

    def _remember(self, trace_id: int) -> None:
        self._failed[trace_id] = None
        if len(self._failed) > _MAX_REMEMBERED:
            self._failed.popitem(last=False)

    def release(self) -> None:
        """Pass on what still waits: its turns did not end, which is worth seeing."""
        with self._lock:
            waiting = [delivery for trace in self._traces.values() for delivery in trace.held]
            self._traces.clear()
        _pass_on(waiting)

    def shutdown(self) -> None:
        """Pass on what waits and shut the next processor down."""
        self.release()
        self._passed_on.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flush the next processor; traces that go on keep waiting."""
        return self._passed_on.force_flush(timeout_millis)


def _pass_on(deliveries: Sequence[Delivery]) -> None:
    for deliver in deliveries:
        deliver()


def is_failure(span: ReadableSpan) -> bool:
    """Return whether a span shows that its turn failed or that a detector found something."""
    if not span.status.is_ok:
        return True
    attributes = span.attributes or {}
    outcome = attributes.get(names.RAG_OUTCOME)
    return (outcome is not None and outcome != names.ANSWERED) or bool(
        attributes.get(names.RAG_FINDINGS)
    )


def ratio_bound(ratio: float) -> int:
    """Return the number below which the low 64 bits of a kept trace's id lie.

    The same rule as the SDK's ratio sampler, so services with one ratio keep the same traces.

    Raises:
        ExportSettingsError: `ratio` is not within 0 to 1.
    """
    if not 0.0 <= ratio <= 1.0:
        raise ExportSettingsError(
            "sampling ratio", str(ratio), "a number from 0 to 1", "Use 1 to keep every trace."
        )
    return TraceIdRatioBased.get_bound_for_rate(ratio)
