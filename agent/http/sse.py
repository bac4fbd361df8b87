"""Server-sent events: a turn told while it runs, each event one line of JSON.

JSON escapes every line end, so a piece of text arrives as it was sent, whatever it holds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any, Final, Self

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent.errors import AgentError
from agent.http.leaving import disconnected, ended
from agent.http.replies import encoded

HEARTBEAT_SECONDS: Final = 10.0
"""Silence after which a comment is sent; chosen by us: proxies commonly wait 30 to 60 s."""
FIRST_SECONDS: Final = 1.0
"""How long the first event is waited for, so that what goes wrong before it keeps its status."""
HEARTBEAT: Final = b": waiting\n\n"
HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)
"""The last one keeps nginx from collecting events."""

_log = logging.getLogger(__name__)


def sse(data: Any, event: str | None = None) -> bytes:
    """Return one event.

    Args:
        data: Sent as one line of JSON.
        event: Its name; None for the default, `message`.
    """
    name = f"event: {event}\n".encode() if event is not None else b""
    return name + b"data: " + encoded(data, ascii_only=True) + b"\n\n"


class EventStream(Response):
    """A reply that tells events as they come; an ASGI application for one request.

    It ends the events at once when the caller goes away, and says in an event of its own what
    went wrong after the reply had begun.

    Args:
        events: What is told; closed at the end, whatever ends it.
        shown: An event as it is sent; none, one or several of `sse`.
        failed: The event for an error: its code and its message.
        seconds: How long the reply may take, its reading included; None for no limit. Then whoever
            does not read it is taken for gone.
        last: Sent after the last event.
        heartbeat_seconds: Silence after which a comment is sent.
    """

    def __init__(
        self,
        events: AsyncGenerator[Any, None],
        shown: Callable[[Any], Iterable[bytes]],
        failed: Callable[[str, str], bytes],
        *,
        seconds: float | None = None,
        last: bytes = b"",
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        super().__init__()
        self.raw_headers = list(HEADERS)
        self._events = events
        self._shown = shown
        self._failed = failed
        self._seconds = seconds
        self._last = last
        self._heartbeat_seconds = heartbeat_seconds
        self._next: asyncio.Task[Any] | None = None

    async def opened(self) -> Self:
        """Wait a moment for the first event.

        Raises:
            AgentError: The question was refused; no reply has begun.
        """
        self._next = asyncio.create_task(_step(self._events))
        try:
            done, _ = await asyncio.wait({self._next}, timeout=FIRST_SECONDS)
        except BaseException:
            await self._close()
            raise
        if done and (error := self._next.exception()) is not None:
            await self._close()
            raise error
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the reply."""
        gone = asyncio.create_task(disconnected(receive))
        try:
            async with asyncio.timeout(self._seconds):
                headers = self.raw_headers
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                async for piece in self._pieces(gone):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                if not gone.done():
                    await send({"type": "http.response.body", "body": self._last})
        except OSError:  # the connection broke, or nobody reads: a timeout is an OSError too
            pass
        finally:
            await ended(gone)
            await self._close()

    async def _pieces(self, gone: asyncio.Task[None]) -> AsyncGenerator[bytes, None]:
        """Yield what is sent until the events or the caller have gone."""
        while True:
            self._next = self._next or asyncio.create_task(_step(self._events))
            await asyncio.wait(
                {self._next, gone},
                timeout=self._heartbeat_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if gone.done():
                return
            if not self._next.done():
                yield HEARTBEAT
                continue
            step, self._next = self._next, None
            if (error := step.exception()) is not None:
                yield self._failed(*_said(error))
                return
            if step.result() is _END:
                return
            for piece in self._shown(step.result()):
                yield piece

    async def _close(self) -> None:
        if self._next is not None:
            await ended(self._next)
        await self._events.aclose()


_END: Final = object()


async def _step(events: AsyncGenerator[Any, None]) -> Any:
    return await anext(events, _END)


def _said(error: BaseException) -> tuple[str, str]:
    """Return code and message of an error; the text of one that is not ours stays here."""
    if isinstance(error, AgentError):
        return error.code, str(error)
    _log.error("stream failed: %s", type(error).__name__)
    return "internal_error", (
        "the service failed: got an error of its own, expected a reply. Try again; if it stays, "
        "tell its operator when it was."
    )
