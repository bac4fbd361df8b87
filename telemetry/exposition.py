"""Metrics over HTTP: `/metrics` and `/metrics/`, in the format that the scraper asks for.

OpenMetrics, which alone carries exemplars, is given to a scraper that accepts it; the older text
format to any other.

Several worker processes of one server: set `PROMETHEUS_MULTIPROC_DIR` to an empty directory before
anything imports `prometheus_client`. Each worker then writes its values to files there, and a
scrape of any worker adds all up. Limits of that mode, which are the client's: no exemplars, no
series before a worker has started, the counters of a worker that is gone stay (as they should),
and its gauges go only when `worker_died` is called. The directory must be empty at each start.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from prometheus_client import REGISTRY, CollectorRegistry, multiprocess
from prometheus_client.exposition import choose_encoder

PATHS: Final = ("/metrics", "/metrics/")
MULTIPROCESS_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scrape:
    """What a scraper gets."""

    status: int
    content_type: str
    body: bytes


def scrape(
    path: str, *, accept: str = "", query: str = "", registry: CollectorRegistry | None = None
) -> Scrape:
    """Return the metrics, or a 404 for another path than `/metrics`.

    Args:
        path: Path of the request.
        accept: Its `Accept` header.
        query: Its query string; `name[]` picks single metrics.
        registry: The registry; the client's global one by default. In multiprocess mode the files
            of all workers are read instead.
    """
    if path not in PATHS:
        return Scrape(404, "text/plain; charset=utf-8", b"Metrics are at /metrics.\n")
    source: Any = _all_workers() or (registry if registry is not None else REGISTRY)
    wanted = parse_qs(query).get("name[]")
    if wanted:
        source = source.restricted_registry(wanted)
    encode, content_type = choose_encoder(accept)
    return Scrape(200, content_type, encode(source))


class MetricsApp:
    """An ASGI app that serves the metrics at both paths and answers 404 elsewhere.

    Give a router both paths (`Route("/metrics", app)`, `Route("/metrics/", app)`): a mount of
    Starlette answers the path without a slash with a redirect, which a scraper need not follow.
    """

    def __init__(self, registry: CollectorRegistry | None) -> None:
        self._registry = registry

    async def __call__(
        self,
        scope: Scope,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer one request, or the server's start and stop."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        found = scrape(
            scope["path"],
            accept=_header(scope["headers"], b"accept"),
            query=scope.get("query_string", b"").decode("latin-1"),
            registry=self._registry,
        )
        headers = [
            (b"content-type", found.content_type.encode("latin-1")),
            (b"content-length", str(len(found.body)).encode()),
        ]
        await send({"type": "http.response.start", "status": found.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else found.body
        await send({"type": "http.response.body", "body": body})


def metrics_app(registry: CollectorRegistry | None = None) -> MetricsApp:
    """Return the ASGI app of a registry; the client's global one by default."""
    return MetricsApp(registry)


class MetricsServer:
    """A small HTTP server for the metrics, in a daemon thread."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, args=(0.05,), name="loopscope-metrics", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Where the metrics are."""
        return f"http://127.0.0.1:{self.port}{PATHS[0]}"

    def close(self) -> None:
        """Stop serving and release the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start_metrics_server(
    port: int = 9464, *, host: str = "127.0.0.1", registry: CollectorRegistry | None = None
) -> MetricsServer:
    """Serve the metrics from a thread of this process, for an agent that is no web server.

    Args:
        port: Port to listen on; 0 for any free one. The default is the OpenTelemetry convention's.
        host: Address to listen on; only this machine by default.
        registry: The registry; the client's global one by default.

    Raises:
        OSError: The port is taken.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            found = scrape(
                parts.path,
                accept=self.headers.get("Accept", ""),
                query=parts.query,
                registry=registry,
            )
            self.send_response(found.status)
            self.send_header("Content-Type", found.content_type)
            self.send_header("Content-Length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        def log_message(self, *_: object) -> None:
            """Write no line for each scrape."""

    return MetricsServer(ThreadingHTTPServer((host, port), Handler))


def worker_died(pid: int, folder: str | None = None) -> None:
    """Forget the gauges of a worker process that is gone; for the server's own exit hook.

    Args:
        pid: Its process id.
        folder: Where the workers count; None for `PROMETHEUS_MULTIPROC_DIR` of this process.
    """
    multiprocess.mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]  # the client's


def _all_workers(environment: Mapping[str, str] = os.environ) -> CollectorRegistry | None:
    """Return a registry over the files of all workers, None outside multiprocess mode."""
    if not environment.get(MULTIPROCESS_VARIABLE):
        return None
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the client's
    return registry


def _header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    return ",".join(value.decode("latin-1") for key, value in headers if key.lower() == name)


async def _live(
    receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
