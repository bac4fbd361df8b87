"""Collectors on loopback that accept, refuse, answer late or never answer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

NO_HEADERS: Mapping[str, str] = {}


@dataclass
class Collected:
    """What a stub has received."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [
            span.name
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def trace_ids(self) -> set[str]:
        return {
            span.trace_id.hex()
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }

    def resource_values(self, key: str) -> set[str]:
        return {
            attribute.value.string_value
            for request in self.requests
            for resource in request.resource_spans
            for attribute in resource.resource.attributes
            if attribute.key == key
        }


@contextmanager
def collector(
    *, status: int = 200, delay_seconds: float = 0.0, headers: Mapping[str, str] = NO_HEADERS
) -> Iterator[Collected]:
    """An OTLP/HTTP receiver with a status, a delay and headers of its own."""
    collected = Collected()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(delay_seconds)
            collected.paths.append(self.path)
            collected.sizes.append(len(body))
            if status == 200 and self.path.endswith("/v1/traces"):
                collected.requests.append(ExportTraceServiceRequest.FromString(body))
            if status == 200 and self.path.endswith("/v1/logs"):
                logs = ExportLogsServiceRequest.FromString(body)
                collected.events += [
                    record.event_name
                    for resource in logs.resource_logs
                    for scope in resource.scope_logs
                    for record in scope.log_records
                ]
            try:
                self.send_response(status)
                self.send_header("Content-Length", "0")
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that went away

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        collected.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield collected
        finally:
            server.shutdown()


@contextmanager
def grpc_collector() -> Iterator[Collected]:
    """An OTLP/gRPC receiver of spans."""
    import grpc
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as service

    collected = Collected()

    class Servicer(service.TraceServiceServicer):
        def Export(
            self, request: ExportTraceServiceRequest, context: object
        ) -> ExportTraceServiceResponse:
            collected.requests.append(request)
            return ExportTraceServiceResponse()

    server = grpc.server(ThreadPoolExecutor(2))
    service.add_TraceServiceServicer_to_server(Servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    collected.url = f"http://127.0.0.1:{port}"
    try:
        yield collected
    finally:
        server.stop(0).wait(5)


@contextmanager
def black_hole() -> Iterator[str]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as hole:
        yield f"http://127.0.0.1:{hole.getsockname()[1]}"


@contextmanager
def closed_port() -> Iterator[str]:
    """A port on which nobody listens, and nobody else can begin to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
