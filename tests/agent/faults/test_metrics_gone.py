from __future__ import annotations

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from agent.faults.metrics import MetricsGone


async def shown(request: Request) -> PlainTextResponse:
    return PlainTextResponse("rag_turns_total 1")


APP = Starlette(routes=[Route(path, shown) for path in ("/metrics", "/metrics/", "/ask", "/m")])


@pytest.mark.parametrize(
    ("path", "is_on", "expected"),
    [
        pytest.param("/metrics", True, 503, id="gone"),
        pytest.param("/metrics/", True, 503, id="gone-with-a-slash-too"),
        pytest.param("/metrics", False, 200, id="there-while-the-fault-is-off"),
        pytest.param("/ask", True, 200, id="the-service-goes-on"),
    ],
)
async def test_metrics_gone(path: str, is_on: bool, expected: int) -> None:
    app = MetricsGone(APP, is_on=lambda: is_on)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://service"
    ) as http:
        assert (await http.get(path)).status_code == expected


async def test_another_path_may_be_the_one_of_the_metrics() -> None:
    transport = httpx.ASGITransport(app=MetricsGone(APP, path="/m"))
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as http:
        replies = [(await http.get(path)).status_code for path in ("/m", "/metrics")]

    assert replies == [503, 200]
