"""Set up the export of spans and events for our own command line and server.

A library must not do this: `instrument` uses the provider it is given, or the global one, and sets
none. Here the process is ours. Nothing set in options and environment means nothing is made: no
provider, no thread, no connection. What is made is bounded, counted and gone in two seconds at
exit, whatever the collector does.

A process may fork after the set-up, and over HTTP after the first export too; gRPC itself wants
the fork before the first export.
"""

from __future__ import annotations

import atexit
import logging
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Final

from opentelemetry import _logs, trace
from opentelemetry._logs._internal import ProxyLoggerProvider
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import ConsoleLogRecordExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter

from telemetry.batching import EXIT_SECONDS, BatchLimits, BatchWorker, close_all
from telemetry.endpoints import Endpoint, ExportOptions, resolve
from telemetry.environment import read_export
from telemetry.exporting import EventQueue, Exporter, Hold, SpanQueue, without_redirects
from telemetry.losses import Complaint, Dropped, Failed, ignore_drops, ignore_failures
from telemetry.sampling import TailSampler, ratio_bound

logger = logging.getLogger(__name__)

DEFAULT_OPTIONS: Final = ExportOptions()


class SamplingTracerProvider(TracerProvider):
    """A tracer provider that can tell whether a trace will be kept; exemplars ask it.

    Args:
        queue: Where the spans go.
        keep_ratio: Share of the traces without a failure that is exported, 0 to 1.
        resource: What the spans are about.
    """

    def __init__(self, queue: SpanQueue, *, keep_ratio: float, resource: Resource) -> None:
        super().__init__(resource=resource, shutdown_on_exit=False)
        self.tail = TailSampler(queue, ratio=keep_ratio) if keep_ratio < 1 else None
        self.add_span_processor(self.tail or queue)

    def keep_all(self) -> None:
        """Let every event go: the spans are another provider's."""
        if self.tail is not None:
            self.tail.keep_all()

    def keeps(self, trace_id: int, *, failed: bool) -> bool:
        """Return whether a sampled trace will be exported.

        Args:
            trace_id: Id of the trace.
            failed: Whether its turn failed or a detector found something.
        """
        return self.tail is None or self.tail.keeps(trace_id, failed=failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What was made. Shut it down when the process, or the lifespan of a server, ends."""

    tracer_provider: trace.TracerProvider | None = None
    """The provider to instrument with; None when spans go nowhere."""
    logger_provider: _logs.LoggerProvider | None = None
    """The provider of log events; None when they go nowhere."""
    traces: Endpoint | None = None
    logs: Endpoint | None = None
    summary: str
    """One line for the start of a server."""
    workers: tuple[BatchWorker[Any], ...] = ()

    def flush(self, timeout_seconds: float) -> bool:
        """Wait until what is queued was exported or lost; False when time ran out."""
        deadline = time.monotonic() + timeout_seconds
        flushed = [w.flush(max(0.0, deadline - time.monotonic())) for w in self.workers]
        return all(flushed)

    def release(self) -> None:
        """Pass on the spans of traces that have not ended."""
        if isinstance(self.tracer_provider, SamplingTracerProvider) and self.tracer_provider.tail:
            self.tracer_provider.tail.release()

    def shutdown(self, timeout_seconds: float = EXIT_SECONDS) -> None:
        """Export what is queued within one time box, count the rest as lost, stop."""
        self.release()
        close_all(self.workers, timeout_seconds=timeout_seconds)


def setup_export(
    options: ExportOptions = DEFAULT_OPTIONS,
    *,
    dropped: Dropped = ignore_drops,
    failed: Failed = ignore_failures,
    environment: Mapping[str, str] | None = None,
) -> Export:
    """Make the export as `make_export` does, and set its providers where none is set.

    A provider that the host has set already is left alone and used as it is. What is queued at
    exit is exported within two seconds, or counted as lost.
    """
    export = _publish(make_export(options, dropped=dropped, failed=failed, environment=environment))
    # Runs before the workers' own time box: that was registered first, when it was imported.
    atexit.register(export.release)
    return export


def make_export(
    options: ExportOptions = DEFAULT_OPTIONS,
    *,
    dropped: Dropped = ignore_drops,
    failed: Failed = ignore_failures,
    complaint: Complaint | None = None,
    environment: Mapping[str, str] | None = None,
) -> Export:
    """Make the providers that options and environment ask for; set nothing, start nothing.

    Args:
        options: Our own settings; they win over the environment.
        dropped: Told `(signal, n)` of every loss, with the signal `spans` or `events`.
        failed: Told the signal of every delivery in which an exporter raised.
        complaint: Says a trouble; by default one warning in the log.
        environment: Variables to read; those of the process when None.

    Raises:
        ExportSettingsError: Settings that are unknown or contradict each other.
    """
    ratio_bound(options.keep_ratio)
    variables = read_export(environment)
    if variables.is_disabled:
        return Export(summary="spans are not exported: OTEL_SDK_DISABLED is set")
    traces = resolve("traces", options, variables.traces)
    logs = resolve("logs", options, variables.logs)
    for warning in dict.fromkeys(e.warning for e in (traces, logs) if e and e.warning):
        logger.warning(warning)
    resource = _resource(options)
    complaint = complaint or Complaint()
    export = Export(traces=traces, logs=logs, summary=_summary(traces, logs, resource, options))
    hold: Hold | None = None
    if traces is not None:
        queue = _span_queue(traces, variables.traces.limits, dropped, failed, complaint)
        provider = SamplingTracerProvider(queue, keep_ratio=options.keep_ratio, resource=resource)
        hold = provider.tail.hold if provider.tail is not None else None
        export = replace(export, tracer_provider=provider, workers=(queue.worker,))
    if logs is not None:
        events = _event_queue(logs, variables.logs.limits, dropped, failed, complaint, hold=hold)
        logger_provider = LoggerProvider(resource=resource, shutdown_on_exit=False)
        logger_provider.add_log_record_processor(events)
        workers = (*export.workers, events.worker)
        export = replace(export, logger_provider=logger_provider, workers=workers)
    return export


def _publish(export: Export) -> Export:
    """Set the providers as the global ones, or take the host's in their place."""
    if export.tracer_provider is not None:
        host = trace.get_tracer_provider()
        if isinstance(host, trace.ProxyTracerProvider):
            trace.set_tracer_provider(export.tracer_provider)
        else:
            summary = "spans go to the tracer provider that was set before"
            if isinstance(export.tracer_provider, SamplingTracerProvider):
                export.tracer_provider.keep_all()
            export = replace(export, tracer_provider=host, traces=None, summary=summary)
    if export.logger_provider is not None:
        host_of_logs = _logs.get_logger_provider()
        if isinstance(host_of_logs, ProxyLoggerProvider):
            _logs.set_logger_provider(export.logger_provider)
        else:
            export = replace(export, logger_provider=host_of_logs, logs=None)
    return export


def _resource(options: ExportOptions) -> Resource:
    """The SDK's resource, with our name and version where the environment gives none.

    The SDK adds `service.instance.id`, and a new one in a forked child.
    """
    resource = Resource.create()
    ours: dict[str, str] = {}
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        ours[SERVICE_NAME] = options.service_name
    if options.service_version is not None and SERVICE_VERSION not in resource.attributes:
        ours[SERVICE_VERSION] = options.service_version
    return resource.merge(Resource(ours))


def _summary(
    traces: Endpoint | None, logs: Endpoint | None, resource: Resource, options: ExportOptions
) -> str:
    if traces is None and logs is None:
        return "spans are not exported: no OTLP endpoint is set"
    ratio = options.keep_ratio
    share = "" if ratio == 1 else f" ({ratio:.3g} of the turns without a failure)"
    return (
        f"spans go to {traces or 'nowhere'}{share}, events to {logs or 'nowhere'}, "
        f"as service {resource.attributes[SERVICE_NAME]!s}"
    )


def _span_queue(
    endpoint: Endpoint,
    limits: BatchLimits,
    dropped: Dropped,
    failed: Failed,
    complaint: Complaint,
) -> SpanQueue:
    open_exporter: Callable[[], Exporter[ReadableSpan]]
    # Imported now, not in the worker: it takes longer than a short run has at its end.
    if endpoint.protocol == "console":
        open_exporter = partial(ConsoleSpanExporter, out=sys.stderr)
    elif endpoint.protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc import trace_exporter as grpc

        insecure = not endpoint.is_secure
        open_exporter = partial(grpc.OTLPSpanExporter, endpoint.url, insecure=insecure)
    else:
        from opentelemetry.exporter.otlp.proto.http import trace_exporter as http

        import_module("requests")  # the exporter would, when it is made
        open_exporter = partial(without_redirects, http.OTLPSpanExporter, endpoint.url)
    return SpanQueue(
        open_exporter,
        endpoint.url,
        limits=limits,
        dropped=dropped,
        failed=failed,
        complaint=complaint,
    )


def _event_queue(
    endpoint: Endpoint,
    limits: BatchLimits,
    dropped: Dropped,
    failed: Failed,
    complaint: Complaint,
    *,
    hold: Hold | None,
) -> EventQueue:
    open_exporter: Callable[[], Exporter[ReadableLogRecord]]
    if endpoint.protocol == "console":
        open_exporter = partial(ConsoleLogRecordExporter, out=sys.stderr)
    elif endpoint.protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc import _log_exporter as grpc

        insecure = not endpoint.is_secure
        open_exporter = partial(grpc.OTLPLogExporter, endpoint.url, insecure=insecure)
    else:
        from opentelemetry.exporter.otlp.proto.http import _log_exporter as http

        open_exporter = partial(without_redirects, http.OTLPLogExporter, endpoint.url)
    return EventQueue(
        open_exporter,
        endpoint.url,
        limits=limits,
        dropped=dropped,
        failed=failed,
        complaint=complaint,
        hold=hold,
    )
