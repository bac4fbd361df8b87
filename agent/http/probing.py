"""Probes: questions that a monitor asks, which are kept out of what users' questions count in.

Who may hide turns from the books must be known: the header that asks for it is refused without the
probe key, so that a stranger cannot, and so that a probe that lost its key is no user by mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.http.callers import PROBER, Callers
from agent.http.errors import ProbeRefusedError, RequestError
from agent.http.refusals import refusal

PROBE_HEADER: Final = "loopscope-probe"
"""Of a request whose turn is a probe; its value does not matter."""
Apart = Callable[[], AbstractContextManager[None]]
"""Opens a context in which turns are kept apart."""


class ProbesApart:
    """Serves the requests of probes apart from all others.

    Args:
        app: What serves them.
        callers: Tell who asks with the probe key.
        apart: None for a service that cannot keep turns apart: it refuses every probe.
    """

    def __init__(self, app: ASGIApp, callers: Callers, apart: Apart | None) -> None:
        self._app = app
        self._callers = callers
        self._apart = apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or PROBE_HEADER not in (headers := Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        try:
            apart = self._allowed(headers.get("authorization"))
        except RequestError as error:
            await refusal(error, scope["path"])(scope, receive, send)
            return
        with apart():
            await self._app(scope, receive, send)

    def _allowed(self, authorization: str | None) -> Apart:
        if self._apart is None or self._callers.named(authorization) != PROBER:
            raise ProbeRefusedError
        return self._apart
