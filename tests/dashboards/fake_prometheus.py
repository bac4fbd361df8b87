"""A Prometheus on loopback that has an answer to every query, with labels nobody should trust."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from standing import standing

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028&\"'`{{job}}"
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
EDGES = ("0.5", "2.5", "+Inf")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    parameters: Mapping[str, str]


@dataclass(slots=True)
class Answers:
    """What the server says; change it in a test."""

    job: str = HOSTILE
    is_empty: bool = False
    error: str | None = None
    asked: list[Asked] = field(default_factory=list)

    def to(self, path: str, parameters: Mapping[str, str]) -> Any:
        kind = path.removeprefix("/api/v1/")
        if kind == "targets":
            return {"activeTargets": [{"scrapeInterval": "10s"}, {"scrapeInterval": "20s"}]}
        if kind.startswith("label/"):
            return [self.job]
        if kind == "query_exemplars":
            at = float(parameters["end"]) - 1
            one = {"labels": {"trace_id": TRACE_ID}, "value": "3", "timestamp": at}
            return [{"seriesLabels": {}, "exemplars": [one]}]
        series = [] if self.is_empty else list(self._series(kind, parameters))
        return {"resultType": "matrix" if kind == "query_range" else "vector", "result": series}

    def _series(self, kind: str, parameters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        for place, edge in enumerate(EDGES, 1):
            labels = {
                "__name__": "rag", "job": self.job, "le": edge, "outcome": self.job,
                "rewrites": str(place), "window": edge, "version": self.job, "alertname": self.job,
                "alertstate": "firing",
            }  # fmt: skip
            if kind == "query":
                yield {"metric": labels, "value": [float(parameters["time"]), str(place)]}
            else:
                start, end, step = (float(parameters[name]) for name in ("start", "end", "step"))
                times = [start + step * nth for nth in range(int((end - start) / step) + 1)]
                yield {"metric": labels, "values": [[at, str(place)] for at in times]}


@contextmanager
def fake_prometheus() -> Iterator[tuple[str, Answers]]:
    """Yield the server's base URL and its answers."""
    answers = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self._reply(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def _reply(self, query: str) -> None:
            path = urlsplit(self.path).path
            parameters = dict(parse_qsl(query))
            answers.asked.append(Asked(self.command, path, parameters))
            failed = answers.error is not None
            said: dict[str, Any] = (
                {"status": "error", "error": answers.error}
                if failed
                else {"status": "success", "data": answers.to(path, parameters)}
            )
            body = json.dumps(said).encode()
            self.send_response(400 if failed else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with standing(Handler) as url:
        yield url, answers
