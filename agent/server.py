"""One process that serves ASGI applications on sockets of its own until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.errors import ServeError

GRACE_SECONDS: Final = 20
"""How long turns under way may take after a stop; chosen by us: below the 30 s that Kubernetes
waits before it kills."""
BACKLOG: Final = 2_048


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


def run(
    app: ASGIApp, sockets: Sequence[socket.socket], *, on_switch: Callable[[], None] | None = None
) -> None:
    """Serve until SIGTERM or SIGINT; turns under way are finished first.

    Args:
        app: What is served.
        sockets: Listening ones.
        on_switch: Called on each SIGUSR1.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = uvicorn.Server(config)

    async def serve() -> None:
        if on_switch is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, on_switch)
        await server.serve(sockets=list(sockets))

    # Uvicorn raises the signal again when it has stopped: then leave in order, with exit code 0.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    with contextlib.suppress(SystemExit):
        asyncio.run(serve())


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
    raise SystemExit(0)
