"""Connections that send the head of a request within a size and a time, or are closed.

The body of a request that asks for another protocol is read too: Java's client asks for HTTP/2 in
each one, and Uvicorn's parser loses what follows such a head.

Uvicorn bounds neither where it parses with httptools, so that one client could fill the memory
with headers, or hold connections open by sending one a minute. The other parser, h11, has a bound
of the size of its own.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

import httptools
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
        self._data = b""
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
        if not self._asks_in_vain():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        if not self._asks_in_vain():
            super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Count what came while a head was under way."""
        was_in_head, self._data = self._timer is not None, data
        super().data_received(data)
        if was_in_head and self._timer is not None:
            self._received += len(data)
            if self._received > self.head_bytes:
                self._refuse(b"431 Request Header Fields Too Large")

    def _asks_in_vain(self) -> bool:
        """Return whether a head asks for a protocol that is not spoken here."""
        asks = self.parser.should_upgrade() and self._get_upgrade() is not None
        return asks and not self._should_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """Read a request again without what it asks in vain (RFC 9110, 7.8); nothing is wrong."""
        if not isinstance(end_of_head := sys.exception(), httptools.HttpParserUpgrade):
            return
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        kept = [(name, value) for name, value in self.headers if name != b"upgrade"]
        head = [
            b"%b %b HTTP/%b" % (method, self.url, version),
            *(b"%b: %b" % each for each in kept),
        ]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn
        self.data_received(b"\r\n".join([*head, b"", self._data[end_of_head.args[0] :]]))

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
