"""Events about a span: through the Logs API where a logger provider is set, else on the span.

OpenTelemetry is retiring span events in favour of log events; most users have no log pipeline yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry._logs import Logger, LoggerProvider, get_logger_provider
from opentelemetry._logs._internal import ProxyLoggerProvider
from opentelemetry.context import Context
from opentelemetry.trace import Span, set_span_in_context

from telemetry import names


class EventLog:
    """Emits events of a span.

    Args:
        provider: Logger provider to use; None for the global one, as soon as there is one.
    """

    def __init__(self, provider: LoggerProvider | None = None) -> None:
        self._given = provider
        self._logger: Logger | None = None

    def emit(self, span: Span, event: str, attributes: Mapping[str, Any]) -> None:
        """Emit an event that belongs to the span."""
        if self.emit_log(span, event, attributes):
            return
        if span.is_recording():
            span.add_event(event, dict(attributes))

    def emit_log(self, span: Span, event: str, attributes: Mapping[str, Any]) -> bool:
        """Emit an event where a logger provider is set, and tell whether one is."""
        log = self._logger or self._find_logger()
        if log is None:
            return False
        # A context of its own: the current one holds the turn, which must not outlive its run.
        log.emit(
            context=set_span_in_context(span, Context()),
            event_name=event,
            attributes=dict(attributes),
        )
        return True

    def _find_logger(self) -> Logger | None:
        provider = self._given or get_logger_provider()
        if not isinstance(provider, ProxyLoggerProvider):
            self._logger = provider.get_logger(names.SCOPE)
        return self._logger
