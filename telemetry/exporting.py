"""Spans and log events through a batch worker to an exporter of the SDK.

The SDK's own batch processors are not used: they start a thread when they are made, drop without
telling, flush without a time limit and hold the process at exit for as long as an exporter
retries. The exporters are the SDK's.
"""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, Context, attach, detach, set_value
from opentelemetry.sdk._logs import LogRecordProcessor, ReadableLogRecord, ReadWriteLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from telemetry import names
from telemetry.batching import EXIT_SECONDS, BatchLimits, BatchWorker
from telemetry.endpoints import explain
from telemetry.losses import Complaint, Dropped, Failed, LostError, ignore_failures

SPANS: Final = "spans"
EVENTS: Final = "events"

Hold = Callable[[int, Callable[[], object]], None]
"""Takes a trace id and what passes an event of that trace on."""

_T = TypeVar("_T")
_T_contra = TypeVar("_T_contra", contravariant=True)


class Result(Protocol):
    """What an exporter returns: an enum of the SDK with the members SUCCESS and FAILURE."""

    @property
    def name(self) -> str:
        """`SUCCESS` or `FAILURE`."""


class Exporter(Protocol[_T_contra]):
    """An exporter of the SDK, of spans or of log records."""

    def export(self, batch: Sequence[_T_contra], /) -> Result:
        """Send a batch, with the exporter's own retries."""

    def shutdown(self) -> None:
        """Stop; a retry that waits gives up."""


class SpanQueue(SpanProcessor):
    """Takes ended spans to an exporter; the last tenth of the queue is kept for root spans.

    Args:
        open_exporter: Called in the worker's thread before the first export.
        destination: Where they go, for messages.
        limits: Bounds of the queue.
        dropped: Told of losses under the signal `spans`.
        failed: Told of an exporter that raised.
        complaint: Says a trouble once.
    """

    def __init__(
        self,
        open_exporter: Callable[[], Exporter[ReadableSpan]],
        destination: str,
        *,
        limits: BatchLimits,
        dropped: Dropped,
        complaint: Complaint,
        failed: Failed = ignore_failures,
    ) -> None:
        self._reserve = limits.capacity // 10
        self.worker: BatchWorker[ReadableSpan] = BatchWorker(
            SPANS,
            lambda: ExporterOutlet(open_exporter(), destination),
            limits=limits,
            destination=destination,
            dropped=dropped,
            failed=failed,
            complaint=complaint,
        )

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a sampled span."""
        context = span.get_span_context()
        if context is None or not context.trace_flags.sampled:
            return
        is_root = span.parent is None or span.parent.is_remote
        self.worker.put(span, reserve=0 if is_root else self._reserve)

    def shutdown(self) -> None:
        """Export what is queued, within the time box of an exit."""
        self.worker.close(EXIT_SECONDS)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until what is queued was exported or lost, no longer than asked."""
        return self.worker.flush(timeout_millis / 1_000)


class EventQueue(LogRecordProcessor):
    """Takes log events to an exporter; arguments as for `SpanQueue`, and one more.

    Args:
        hold: Given the trace id of an event of ours and what passes it on, where a tail sampler
            decides of both; None passes every event on.
    """

    def __init__(
        self,
        open_exporter: Callable[[], Exporter[ReadableLogRecord]],
        destination: str,
        *,
        limits: BatchLimits,
        dropped: Dropped,
        complaint: Complaint,
        failed: Failed = ignore_failures,
        hold: Hold | None = None,
    ) -> None:
        self._hold = hold
        self.worker: BatchWorker[ReadableLogRecord] = BatchWorker(
            EVENTS,
            lambda: ExporterOutlet(open_exporter(), destination),
            limits=limits,
            destination=destination,
            dropped=dropped,
            failed=failed,
            complaint=complaint,
        )

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        """Queue an event without the context it was emitted in, which may hold a whole turn."""
        record = copy.copy(log_record.log_record)
        record.context = Context()
        scope = log_record.instrumentation_scope
        event = ReadableLogRecord(
            log_record=record,
            resource=log_record.resource or Resource.get_empty(),
            instrumentation_scope=scope,
            limits=log_record.limits,
        )
        is_ours = scope is not None and scope.name == names.SCOPE  # the host's own logs all go
        if self._hold is not None and record.trace_id and is_ours:
            self._hold(record.trace_id, partial(self.worker.put, event))
        else:
            self.worker.put(event)

    def shutdown(self) -> None:
        """Export what is queued, within the time box of an exit."""
        self.worker.close(EXIT_SECONDS)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until what is queued was exported or lost, no longer than asked."""
        return self.worker.flush(timeout_millis / 1_000)


def without_redirects(kind: Callable[[str], Any], url: str) -> Any:
    """Make an OTLP/HTTP exporter of the SDK to which a redirect is a failure.

    The SDK's follow none, and take one for a success: all would be lost, and nobody told.
    """
    exporter = kind(url)
    with suppress(AttributeError):  # the SDK has no public way to its session
        exporter._client._transport._session.hooks["response"].append(_refuse_redirect)
    return exporter


def _refuse_redirect(response: Any, **_: object) -> None:
    if 300 <= response.status_code < 400:
        response.close()
        raise ValueError(f"redirected by status {response.status_code}")


class ExporterOutlet(Generic[_T]):
    """An exporter as a worker's outlet; what the exporter logs becomes the reason of a loss.

    Args:
        exporter: Used in this thread alone.
        destination: Where it sends to, for messages.
    """

    def __init__(self, exporter: Exporter[_T], destination: str) -> None:
        self._exporter = exporter
        self._destination = destination
        self._is_hurried = False
        self._is_shut = False
        self._voice = ExporterVoice(self._on_word)
        self._voice.install()

    def send(self, batch: Sequence[_T]) -> None:
        """Export a batch.

        Raises:
            LostError: The exporter gave up on it.
        """
        self._voice.last = ""
        token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
        try:
            result = self._exporter.export(batch)
        finally:
            detach(token)
        if result.name != "SUCCESS":
            raise LostError(f"{self._destination}: {explain(self._voice.last)}", len(batch))

    def hurry(self) -> None:
        """Let a retry that waits, and any later one, give up."""
        self._is_hurried = True
        if self._voice.last:
            self._shut()

    def close(self) -> None:
        """Shut the exporter down."""
        self._shut()
        self._voice.remove()

    def _on_word(self) -> None:
        if self._is_hurried:
            self._shut()

    def _shut(self) -> None:
        if not self._is_shut:
            self._is_shut = True
            self._exporter.shutdown()


class ExporterVoice(logging.Filter):
    """Keeps what the SDK's exporters log in one thread to itself.

    They write a line for every retry. We say a trouble once, so theirs are held back; the last
    one is the reason we give. Lines of other threads pass.

    Args:
        on_word: Called after each line, in the exporter's thread.
    """

    LOGGERS: Final = (
        "opentelemetry.exporter.otlp.proto.http.trace_exporter",
        "opentelemetry.exporter.otlp.proto.http._log_exporter",
        "opentelemetry.exporter.otlp.proto.grpc.exporter",
    )

    def __init__(self, on_word: Callable[[], None]) -> None:
        super().__init__()
        self.last = ""
        self._on_word = on_word
        self._thread = threading.get_ident()

    def install(self) -> None:
        """Listen, before any filter that would swallow a repeated line."""
        for name in self.LOGGERS:
            logging.getLogger(name).filters.insert(0, self)

    def remove(self) -> None:
        """Stop listening."""
        for name in self.LOGGERS:
            logging.getLogger(name).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Take a line of this thread; let any other pass."""
        if record.thread != self._thread:
            return True
        words = " ".join(record.getMessage().split())
        if "hutdown" not in words or not self.last:  # that one says less than those before it
            self.last = words[:300]
        self._on_word()
        return False
