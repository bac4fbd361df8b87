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
    """Finds the logger that takes events, as soon as there is one.

    Args:
        provider: Logger provider to use; None for the global one.
    """

    def __init__(self, provider: LoggerProvider | None = None) -> None:
        self._given = provider
        self._logger: Logger | None = None

    @property
    def logger(self) -> Logger | None:
        """The logger; None while no logger provider is set."""
        if self._logger is None:
            provider = self._given or get_logger_provider()
            if not isinstance(provider, ProxyLoggerProvider):
                self._logger = provider.get_logger(names.SCOPE)
        return self._logger


def emit(logger: Logger | None, span: Span, event: str, attributes: Mapping[str, Any]) -> None:
    """Emit an event that belongs to the span: to the logger, on the span when there is none."""
    if logger is None:
        span.add_event(event, attributes)
        return
    # A context of its own: the current one holds the turn, which must not outlive its run.
    logger.emit(
        context=set_span_in_context(span, Context()), event_name=event, attributes=attributes
    )
