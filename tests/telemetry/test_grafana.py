from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from standing import standing

from telemetry.fetch import FetchError
from telemetry.grafana import annotate
from telemetry.records.marks import make_mark

NOW = 1_700_000_000.0
MARK = make_mark("new prompt", at=NOW - 0.5, tags=["prompt", "loopscope"], now=NOW)


@dataclass
class Grafana:
    """A server that answers as told, and keeps what it was sent."""

    status: int = 200
    body: bytes = b'{"message": "Annotation added", "id": 7}'
    headers: dict[str, str] = field(default_factory=dict)
    sent: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""


@contextmanager
def served(grafana: Grafana) -> Iterator[Grafana]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])), grafana.status)

        def do_GET(self) -> None:  # what a redirect of the POST leads to: Grafana lists there
            self._answer(b"", 200, b"[]")

        def _answer(self, sent: bytes, status: int, body: bytes | None = None) -> None:
            grafana.sent.append((self.command, self.path, dict(self.headers), sent))
            self.send_response(status)
            for name, value in grafana.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(grafana.body if body is None else body)

        def log_message(self, *_: object) -> None:
            pass

    with standing(Handler) as url:
        grafana.url = f"{url}/grafana/"
        yield grafana


@pytest.mark.parametrize(
    ("token", "authorization"),
    [
        pytest.param("glsa_x", "Bearer glsa_x", id="with-a-token"),
        pytest.param(None, None, id="without"),
    ],
)
def test_a_mark_becomes_an_annotation_with_the_tag_of_the_boards(
    token: str | None, authorization: str | None
) -> None:
    with served(Grafana()) as grafana:
        made = annotate(grafana.url, token, MARK)
    ((method, path, headers, body),) = grafana.sent

    assert made == 7
    assert (method, path) == ("POST", "/grafana/api/annotations")
    assert headers.get("Authorization") == authorization
    assert headers["Content-Type"] == "application/json"
    assert json.loads(body) == {
        "time": 1_699_999_999_500, "tags": ["loopscope", "prompt"], "text": "new prompt",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "problem", "fix"),
    [
        pytest.param({"status": 401}, "answered 401", "It wants a key", id="no-token"),
        pytest.param({"status": 403}, "answered 403", "It wants a key", id="a-viewers-token"),
        pytest.param({"status": 404}, "answered 404", "The path is wrong", id="no-grafana"),
        pytest.param({"status": 500}, "answered 500", "log of that server", id="broken"),
        pytest.param({"body": b"<html>"}, "did not answer in JSON", "Something else", id="html"),
        pytest.param({"body": b"{}"}, "made no annotation", "Grafana's own address", id="no-id"),
        pytest.param(
            {"status": 302, "headers": {"Location": "/login"}},
            "made no annotation",
            "Grafana's own address",
            id="a-redirect-is-no-success",
        ),
    ],
)
def test_a_refusal_says_what_to_do(changes: dict[str, Any], problem: str, fix: str) -> None:
    with served(Grafana(**changes)) as grafana, pytest.raises(FetchError, match=problem) as caught:
        annotate(grafana.url, "t0ken", MARK)

    assert fix in caught.value.fix
    assert "t0ken" not in str(caught.value)


def test_nobody_listens() -> None:
    with pytest.raises(FetchError, match=r"nobody listens at 127\.0\.0\.1:1"):
        annotate("http://127.0.0.1:1", None, MARK)
