"""What a reply of Prometheus holds, and what is said of the reply of something else."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from standing import standing

from telemetry.fetch import FetchError
from telemetry.prometheus_api import Prometheus


def says(body: str) -> type[BaseHTTPRequestHandler]:
    class Says(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path.startswith("/prom/api/v1/") else 404)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    return Says


@pytest.mark.parametrize("slash", ["", "/"])
def test_what_is_wanted_is_taken_from_the_data(slash: str) -> None:
    with standing(says('{"status": "success", "data": {"groups": [1, 2]}}')) as url:
        server = Prometheus(url=f"{url}/prom{slash}")

        assert server.read("rules", lambda data: sum(data["groups"])) == 3


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param("<html>", "did not answer in JSON", id="a-page"),
        pytest.param("[1]", "is not answered as by Prometheus", id="a-list"),
        pytest.param("{}", "is not answered as by Prometheus", id="no-data"),
        pytest.param('{"data": null}', "is not answered as by Prometheus", id="null"),
        pytest.param('{"data": {}}', "is not answered as by Prometheus", id="another-shape"),
        pytest.param('{"data": {"groups": ["a"]}}', "is not answered as by", id="other-values"),
    ],
)
def test_the_reply_of_something_else_is_refused_with_its_address(body: str, problem: str) -> None:
    def take(data: Any) -> float:
        return sum(map(float, data["groups"]))

    with standing(says(body)) as url, pytest.raises(FetchError) as caught:
        Prometheus(url=f"{url}/prom").read("rules", take)

    assert str(caught.value).startswith(f"{url}/prom/api/v1/rules ")
    assert problem in str(caught.value)
    assert "Something else answers at that address" in caught.value.fix
