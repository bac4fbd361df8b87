"""One HTTP request with a time limit, and what went wrong in words of an operator."""

from __future__ import annotations

import json
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any, Final
from urllib.parse import urlsplit

TIMEOUT_SECONDS: Final = 10.0
"""Longest wait for a reply where nothing else is said. Chosen by us: what a person or a step of a
pipeline waits before it wants to know."""
MAX_BYTES: Final = 8_000_000
"""Bytes read of a reply at most. Chosen by us: a replica's metrics are 100 kB."""


class FetchError(Exception):
    """A request that brought no usable reply; the text says what happened, `fix` what to do."""

    def __init__(self, problem: str, fix: str, status: int | None = None) -> None:
        self.fix = fix
        self.status = status
        super().__init__(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply with status 200."""

    url: str
    """Where it came from in the end, after redirects."""
    content_type: str
    text: str

    def json(self) -> Any:
        """Return the body as JSON.

        Raises:
            FetchError: It is none.
        """
        try:
            return json.loads(self.text)
        except ValueError as error:
            raise FetchError(
                f"{self.url} did not answer in JSON",
                "Something else answers at that address: check host and port.",
            ) from error


def fetch(
    url: str,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> Reply:
    """GET a URL, or POST a body to it.

    Args:
        url: Of http or https.
        timeout_seconds: Longest silence of the server, and of its body as a whole.
        headers: Of the request.
        body: What is posted; None for a GET.

    Raises:
        FetchError: It is no http URL, nobody answers, or the status is not 200.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        host = url.rpartition("//")[2].partition("/")[0]
        raise FetchError(
            f"got {url.partition('?')[0]!r}, expected a URL that begins with http:// or https://",
            f"Put http:// before {host!r}.",
        )
    request = urllib.request.Request(url, body, dict(headers or {}))
    deadline = time.monotonic() + timeout_seconds
    try:
        with urllib.request.urlopen(request, timeout=timeout_seconds) as reply:
            return Reply(
                url=reply.url,
                content_type=reply.headers.get("Content-Type", ""),
                text=_body(reply, deadline).decode("utf-8", "replace"),
            )
    except urllib.error.HTTPError as error:
        with error:
            raise FetchError(
                f"{url} answered {error.code} {error.reason}",
                _FIXES.get(error.code, _LOG),
                error.code,
            ) from error
    except (OSError, HTTPException, ValueError) as error:
        raise FetchError(*_explained(parts.netloc, error, timeout_seconds)) from error


def _body(reply: HTTPResponse, deadline: float) -> bytes:
    """Return the body; a server that sends it bit by bit holds nobody for longer than a silent one.

    Raises:
        TimeoutError: The deadline is over.
    """
    parts, size = list[bytes](), 0
    while size < MAX_BYTES and (part := reply.read1(_PART_BYTES)):
        parts.append(part)
        size += len(part)
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)[:MAX_BYTES]


_PART_BYTES: Final = 65_536
_LOG: Final = "Look into the log of that server."
_FIXES: Final = {
    401: "It wants a key: open it for this machine, or go through its proxy.",
    403: "It wants a key: open it for this machine, or go through its proxy.",
    404: "The path is wrong, or another service answers there: check the address.",
}


def _explained(netloc: str, error: Exception, timeout_seconds: float) -> tuple[str, str]:
    cause = getattr(error, "reason", error)
    if isinstance(cause, ConnectionRefusedError):
        return f"nobody listens at {netloc}", "Start it, or correct host and port."
    if isinstance(cause, TimeoutError | socket.timeout):
        return (
            f"{netloc} gave no answer within {timeout_seconds:g} s",
            "Check the network, and that it is alive and not overloaded.",
        )
    if isinstance(cause, socket.gaierror):
        return f"the host of {netloc} is unknown", "Correct the host name."
    if isinstance(cause, ssl.SSLError):
        return f"TLS with {netloc} failed", "Use http://, or a certificate this machine trusts."
    return (
        f"{netloc} does not speak HTTP ({type(cause).__name__})",
        "Another service listens there: check the port.",
    )
