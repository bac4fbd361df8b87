"""Connections that send the head of a request within a size and a time, or are closed.

Uvicorn bounds neither where it parses with httptools, so that one client could fill the memory
with headers, or hold connections open by sending one a minute. The other parser, h11, has a bound
of the size of its own.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES: Final = 65_536
"""Of address and headers; chosen by us: what h11 takes, and eight times what proxies commonly do.
What came in one piece with the end or the beginning of a head is not counted."""
HEAD_SECONDS: Final = 10.0
"""From the connection, or the first byte of a further request; chosen by us, as for a body."""
_REFUSAL: Final = (
    b"HTTP/1.1 %b\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"  # before any path is known
)


class BoundedConnection(HttpToolsProtocol):
    """One connection."""

    head_bytes = HEAD_BYTES
    head_seconds = HEAD_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._received = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Expect a head."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._head_ended()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Expect the head of a further request."""
        if self._timer is None:
            self._expect_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Take a head that came in time."""
        self._head_ended()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Count what came while a head was under way."""
        was_in_head = self._timer is not None
        super().data_received(data)
        if was_in_head and self._timer is not None:
            self._received += len(data)
            if self._received > self.head_bytes:
                self._refuse(b"431 Request Header Fields Too Large")

    def _expect_head(self) -> None:
        self._received = 0
        late = b"408 Request Timeout"
        self._timer = self.loop.call_later(self.head_seconds, self._refuse, late)

    def _head_ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: bytes) -> None:
        """Close the connection; say why where no other reply is under way in it."""
        self._head_ended()
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_REFUSAL % status)
        self.transport.close()
