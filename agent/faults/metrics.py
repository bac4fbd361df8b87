"""A metrics endpoint that is gone while the service goes on, for any ASGI application."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send


def _always() -> bool:
    return True


class MetricsGone:
    """Answers 503 on the metrics path, and hands everything else on.

    Args:
        app: The application.
        path: Where its metrics are; with and without a slash at the end.
        is_on: Asked on each request.
    """

    def __init__(
        self, app: ASGIApp, *, path: str = "/metrics", is_on: Callable[[], Any] = _always
    ) -> None:
        self._app = app
        self._path = path.rstrip("/")
        self._is_on = is_on

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        is_metrics = scope["type"] == "http" and scope["path"].rstrip("/") == self._path
        if is_metrics and self._is_on():
            gone = PlainTextResponse("the metrics are gone: a fault is on", status_code=503)
            await gone(scope, receive, send)
        else:
            await self._app(scope, receive, send)
