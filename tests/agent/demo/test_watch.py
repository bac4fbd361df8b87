from __future__ import annotations

from typing import Any

import httpx
import pytest

from agent.demo import watch
from agent.demo.watch import Prometheus
from agent.errors import DemoError


def series(**labels: str) -> dict[str, Any]:
    return {"metric": labels, "value": [0, "1"], "values": [[12.5, "1"], [14.5, "1"]]}


def prometheus(replies: dict[str, Any], seen: list[httpx.Request] | None = None) -> Prometheus:
    def reply(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        asked = request.url.params.get("query", request.url.path)
        data = replies[asked]
        found = data.pop(0) if isinstance(data, list) else data
        return httpx.Response(200, json={"data": found})

    return Prometheus("http://prometheus", transport=httpx.MockTransport(reply))


FIRING = 'ALERTS{alertstate="firing"}'


async def test_what_fires_is_told_by_job_and_alert() -> None:
    result = [series(job="a", alertname="X"), series(alertname="Y")]
    async with prometheus({FIRING: {"result": result}}) as server:
        assert await server.firing() == {("a", "X"), ("", "Y")}


async def test_what_fired_has_its_first_time() -> None:
    seen: list[httpx.Request] = []
    async with prometheus({FIRING: {"result": [series(job="a", alertname="X")]}}, seen) as server:
        assert await server.fired(10.0, 20.0, 0.5) == [("a", "X", 12.5)]
    assert dict(seen[0].url.params) == {
        "query": FIRING, "start": "10.000", "end": "20.000", "step": "0.5",
    }  # fmt: skip


async def test_a_rule_that_cannot_be_evaluated_is_told() -> None:
    rules = [
        {"name": "A", "health": "ok"},
        {"name": "B", "health": "err", "lastError": "many-to-many"},
        {"name": "C", "health": "unknown"},
    ]
    async with prometheus({"/api/v1/rules": {"groups": [{"rules": rules}]}}) as server:
        assert await server.rule_problems() == ["rule B: many-to-many", "rule C: unknown"]


async def test_it_waits_until_all_is_scraped_and_nothing_is_missing_any_more() -> None:
    up = [
        {"result": [series(job="a")]},
        {"result": [series(job="a"), series(job="b")]},
        {"result": [series(job="a"), series(job="b")]},
    ]
    firing = [{"result": [series(alertname="Absent")]}, {"result": []}]
    async with prometheus({"up == 1": up, FIRING: firing}) as server:
        await server.scrapes({"a", "b"})

    assert (up, firing) == ([], [])


async def test_what_is_never_scraped_ends_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "READY_SECONDS", 0.3)
    up = {"result": [series(job="a")]}
    async with prometheus({"up == 1": up}) as server:
        with pytest.raises(DemoError, match="scrapes 1 of 2 services"):
            await server.scrapes({"a", "b"})
