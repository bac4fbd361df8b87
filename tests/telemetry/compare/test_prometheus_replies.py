"""What answers in place of Prometheus is no verdict: `compare` and `canary` end with 4."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from click.testing import CliRunner

from telemetry.canary.command import canary
from telemetry.compare.command import compare
from telemetry.compare.prometheus_replies import Found, instant, labels_of_series
from telemetry.fetch import FetchError
from telemetry.prometheus_api import Prometheus

SERIES = [{"__name__": "rag_build_info", "graph": "g", "job": "j"}]


class Stand(ThreadingHTTPServer):
    """Gives one body for /api/v1/series and one for everything else."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.series: Any = {"status": "success", "data": SERIES}
        self.query: Any = result()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        stand: Any = self.server
        body = stand.series if "/api/v1/series" in self.path else stand.query
        told = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(name="stand")
def fixture_stand() -> Iterator[Stand]:
    with Stand() as stand:
        thread = threading.Thread(target=stand.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield stand
        stand.shutdown()
        thread.join()


def result(*found: Any) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "vector", "result": list(found)}}


STRANGE = [
    pytest.param([1], id="a list"),
    pytest.param(None, id="null"),
    pytest.param("ok", id="a text"),
    pytest.param({}, id="no data"),
    pytest.param({"data": None}, id="data that is null"),
    pytest.param({"data": 5}, id="data that is a number"),
]


@pytest.mark.parametrize(
    "body",
    [
        *STRANGE,
        pytest.param({"data": {"result": []}}, id="the result of a query"),
        pytest.param({"data": [["graph", "g"]]}, id="pairs"),
        pytest.param({"data": [None]}, id="a series that is null"),
    ],
)
def test_strange_series_are_no_series(stand: Stand, body: Any) -> None:
    stand.series = body
    with pytest.raises(FetchError, match="not answered as by Prometheus"):
        labels_of_series(Prometheus(url=stand.url), "rag_build_info", 0, 1)


@pytest.mark.parametrize(
    "body",
    [
        *STRANGE,
        pytest.param(result(None), id="a series that is null"),
        pytest.param(result({"metric": {}}), id="no value"),
        pytest.param(result({"metric": {}, "value": []}), id="an empty value"),
        pytest.param(result({"metric": {}, "value": [1, None]}), id="a value that is null"),
        pytest.param(result({"metric": {}, "value": [1, "x"]}), id="a value that is no number"),
        pytest.param(result({"metric": {}, "value": [1, "NaN"]}), id="a value that counts nothing"),
        pytest.param(result({"metric": [], "value": [1, "2"]}), id="labels that are a list"),
        pytest.param(result({"metric": {}, "values": [["x", "2"]]}), id="a time that is none"),
    ],
)
def test_a_strange_result_is_no_result(stand: Stand, body: Any) -> None:
    stand.query = body
    with pytest.raises(FetchError, match="not answered as by Prometheus"):
        instant(Prometheus(url=stand.url), "up", 1)


def test_vectors_and_ranges_are_read(stand: Stand) -> None:
    one = {"metric": {"a": "b"}, "value": [1.5, "2"]}
    more = {"metric": {}, "values": [[1, "2"], [3, "4"]]}
    stand.query = result(one, more)
    assert labels_of_series(Prometheus(url=stand.url), "rag_build_info", 0, 1) == SERIES
    assert instant(Prometheus(url=stand.url), "up", 1) == [
        Found(labels={"a": "b"}, points=[(1.5, 2.0)]),
        Found(labels={}, points=[(1.0, 2.0), (3.0, 4.0)]),
    ]


@pytest.mark.parametrize("part", ["series", "query"])
@pytest.mark.parametrize(
    ("command", "more"),
    [
        pytest.param(canary, ["--stable", "1", "--canary", "2", "--once"], id="canary"),
        pytest.param(compare, [], id="compare"),
    ],
)
def test_a_strange_reply_is_no_verdict(
    stand: Stand, command: Any, more: list[str], part: str
) -> None:
    setattr(stand, part, [1])
    ran = CliRunner().invoke(command, ["--prometheus", stand.url, *more])
    told = getattr(ran.exception, "exit_code", ran.exit_code)
    assert told == 4, (told, ran.output)
