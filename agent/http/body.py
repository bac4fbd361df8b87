"""Bodies: read whole before anything else, within a size and a time, and taken only as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.http.errors import BodyTooLargeError, MediaTypeError, RequestError, SlowBodyError
from agent.http.limits import Limits
from agent.http.refusals import refusal

_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})


class WholeBody:
    """Reads the body of a request and hands it on in one piece, or refuses the request.

    A slow client keeps nobody but itself waiting: no turn has begun and no place is taken.

    Args:
        app: What serves the request.
        limits: The size and the time.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or scope["method"] not in _WITH_BODY:
            await self._app(scope, receive, send)
            return
        try:
            whole = await self._read(Headers(scope=scope), receive)
        except RequestError as error:
            await refusal(error, scope["path"])(scope, receive, send)
            return
        if whole is None:  # the client has gone
            return
        pending: list[Message] = [whole]

        async def again() -> Message:
            return pending.pop() if pending else await receive()

        await self._app(scope, again, send)

    async def _read(self, headers: Mapping[str, str], receive: Receive) -> Message | None:
        limit = self._limits.max_body_bytes
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:19]) > limit:
            raise BodyTooLargeError(f"{announced[:19]} bytes", limit)
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                is_more = True
                while is_more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > limit:
                        raise BodyTooLargeError("more than that", limit)
                    is_more = message.get("more_body", False)
        except TimeoutError:
            raise SlowBodyError(self._limits.body_seconds) from None
        return {"type": "http.request", "body": bytes(body), "more_body": False}


def check_type(content_type: str | None) -> None:
    """Make sure that a body says it is JSON.

    Raises:
        MediaTypeError: It says something else, or nothing.
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and "+json" in kind):
        shown = f"the content type {kind[:60]!r}" if kind else "no content type"
        raise MediaTypeError(shown)
