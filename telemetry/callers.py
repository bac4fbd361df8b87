"""The trace of whoever sent a request: its turn becomes a part of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from telemetry.exposition import Message, Scope

Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_NAMES: Final = (b"traceparent", b"tracestate")
_READER: Final = TraceContextTextMapPropagator()


class CallersTrace:
    """An ASGI application in whose requests the caller's span (W3C `traceparent`) is the current.

    It makes no span of its own and stands back where another instrumentation has made one. The
    span stays the current one until the reply was sent to its end, also when that is a stream.

    Args:
        app: What serves the request.
    """

    def __init__(self, app: Callable[[Any, Any, Any], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        told = _told(scope)
        if not told or trace.get_current_span().get_span_context().is_valid:
            await self._app(scope, receive, send)
            return
        token = otel.attach(_READER.extract(told))
        try:
            await self._app(scope, receive, send)
        finally:
            otel.detach(token)


def _told(scope: Scope) -> dict[str, str]:
    """Return what the request says of its trace; nothing for what is no request."""
    if scope["type"] != "http":
        return {}
    return {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in scope["headers"]
        if name in _NAMES
    }
