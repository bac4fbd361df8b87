"""Trace and span id on every line of Python logging that a node writes.

A filter on the handler, not a record factory: it touches the lines of that handler alone, and goes
away with it. The ids are those of the span that is current where the line is written; with a
`QueueHandler` put the filter on that one, because its listener writes in another thread.
"""

from __future__ import annotations

import logging
from typing import Final

from opentelemetry import trace

FORMAT: Final = (
    "%(asctime)s %(levelname)s %(name)s trace_id=%(trace_id)s span_id=%(span_id)s %(message)s"
)
"""A format that shows the ids, under the names of OpenTelemetry's text formats."""


class TraceContextFilter(logging.Filter):
    """Sets `trace_id`, `span_id` (hex digits) and `trace_flags` (`01` when sampled).

    Without a current span they are "" so that one format fits every line.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the ids; every line passes."""
        context = trace.get_current_span().get_span_context()
        valid = context.is_valid
        record.trace_id = trace.format_trace_id(context.trace_id) if valid else ""
        record.span_id = trace.format_span_id(context.span_id) if valid else ""
        record.trace_flags = f"{context.trace_flags:02x}" if valid else ""
        return True


def add_trace_context(handler: logging.Handler, log_format: str | None = FORMAT) -> None:
    """Let a handler write the ids of the current span on each line.

    Args:
        handler: Any handler; a second call changes nothing.
        log_format: Format to set, or None to keep the handler's own.
    """
    if not any(isinstance(known, TraceContextFilter) for known in handler.filters):
        handler.addFilter(TraceContextFilter())
    if log_format is not None:
        handler.setFormatter(logging.Formatter(log_format))
