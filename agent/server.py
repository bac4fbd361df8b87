"""One process that serves ASGI applications on sockets of its own until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import logging
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from types import FrameType
from typing import Any, Final, Literal

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.errors import ServeError

GRACE_SECONDS: Final = 6
"""How long turns under way may take after a stop; then they are cancelled. Chosen by us: most turns
end in this time, and with the farewell it is well below the 30 s that Kubernetes waits."""
FAREWELL_SECONDS: Final = 2
"""How long callers of cancelled turns may take to read that; then connections are closed."""
BACKLOG: Final = 2_048
QUIET_SECONDS: Final = 60.0
"""Between two lines that no connection can be taken; chosen by us. asyncio writes `BACKLOG`
tracebacks each second that this lasts: 4 MB (measured)."""

_log = logging.getLogger(__name__)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; what connects before the service runs waits for it.

    Args:
        host: Name or address of this machine, IPv4 or IPv6.
        port: 0 takes a free one.

    Raises:
        ServeError: The address is not one of this machine, or the port is taken.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ServeError(host, port, error.strerror or str(error)) from error


def address(listening: socket.socket) -> str:
    """Return the URL under which a socket is reached."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(listening: socket.socket) -> bool:
    """Return whether this machine alone reaches a socket."""
    return ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


class ByPort:
    """Hands each request to the application of the port that it came in on.

    Args:
        apps: Port -> application.
    """

    def __init__(self, apps: Mapping[int, ASGIApp]) -> None:
        self._apps = apps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await self._apps[scope["server"][1]](scope, receive, send)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What is served, and what its server tells it."""

    app: ASGIApp
    stop: Callable[[], None] = lambda: None
    """Called when turns under way have had `GRACE_SECONDS` to end: they are cancelled."""
    switch: Callable[[], None] | None = None
    """Called on each SIGUSR1."""


class _Server(uvicorn.Server):
    """Cancels what is under way before the server would do it, so that each caller is told."""

    def __init__(self, service: Service) -> None:
        super().__init__(
            uvicorn.Config(
                service.app,
                http=_protocol(),
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=GRACE_SECONDS + FAREWELL_SECONDS,
            )
        )
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for the connections to end, for turns under way no longer than they may."""
        timer = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._service.stop)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()


def run(
    opened: Callable[[], AbstractAsyncContextManager[Service]], sockets: Sequence[socket.socket]
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; turns under way are finished first.

    SIGHUP comes when the terminal closes; where it is ignored, as `nohup` has it, it stays so.

    Args:
        opened: Makes the service in the event loop that serves it, with what it needs there, and
            closes that again after the last turn.
        sockets: Listening ones.

    Raises:
        AgentError: The service cannot be opened.
    """

    async def serve() -> None:
        async with opened() as service:
            _keep_what_is_loaded()
            asyncio.get_running_loop().set_exception_handler(complaints())
            if service.switch is not None:
                asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, service.switch)
            await _Server(service).serve(sockets=list(sockets))

    # Uvicorn raises the signal again when it has stopped: then leave in order, with exit code 0.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _as_terminated)
    with contextlib.suppress(SystemExit):
        asyncio.run(serve())


def complaints(
    clock: Callable[[], float] = time.monotonic,
) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return what tells of an event loop's failures: a want of files or memory once in a while.

    Args:
        clock: Seconds.
    """
    told = -QUIET_SECONDS

    def tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal told
        if not str(context.get("message")).startswith("socket.accept()"):
            loop.default_exception_handler(context)
        elif clock() - told >= QUIET_SECONDS:
            told = clock()
            problem = context.get("exception")
            _log.error("no connection can be taken: %s; see `ulimit -n`; tried again", problem)

    return tell


def _protocol() -> type[asyncio.Protocol] | Literal["h11"]:
    """Return what reads requests: the quick parser where it is installed, within our bounds."""
    if find_spec("httptools") is None:
        return "h11"
    from agent.connection import BoundedConnection  # needs httptools

    return BoundedConnection


def _keep_what_is_loaded() -> None:
    """Take all there is by now out of garbage collection: it lives as long as the process.

    A full collection of the 205,000 objects that the libraries have made takes 150 ms (measured),
    in which no question is served, and at the exit it keeps a stopped process from ending.
    """
    gc.collect()
    gc.freeze()


def _as_terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as `_leave`
    signal.raise_signal(signal.SIGTERM)


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
    raise SystemExit(0)
