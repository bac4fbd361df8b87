from __future__ import annotations

import pytest
from http_service import Script, client

from agent.errors import EmptyCorpusError
from agent.memory.errors import MemoryUnavailableError


async def no_index() -> None:
    raise EmptyCorpusError("the index", "no chunk")


async def test_readiness_names_what_was_asked() -> None:
    async def fine() -> None:
        pass

    async with client(Script(), checks={"index": fine}) as http:
        reply = await http.get("/readyz")

    assert (reply.status_code, reply.json()) == (
        200, {"status": "ready", "checks": {"memory": "ok", "index": "ok"}},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("error", "checks", "code", "wrong"),
    [
        pytest.param(MemoryUnavailableError("m", "away"), {}, "memory_unavailable", ["memory"],
                     id="no-memory"),
        pytest.param(None, {"index": no_index}, "empty_corpus", ["index"], id="no-index"),
        pytest.param(MemoryUnavailableError("m", "away"), {"index": no_index},
                     "memory_unavailable", ["memory", "index"], id="neither"),
    ],
)  # fmt: skip
async def test_what_is_not_ready_is_told_and_the_process_still_lives(
    error: Exception | None, checks: dict, code: str, wrong: list[str]
) -> None:
    async with client(Script(error=error), checks=checks) as http:
        ready, alive = await http.get("/readyz"), await http.get("/healthz")

    body = ready.json()
    assert (ready.status_code, body["code"], alive.status_code) == (503, code, 200)
    assert [name for name, found in body["checks"].items() if found != "ok"] == wrong
    assert body["message"] == body["checks"][wrong[0]]


@pytest.mark.parametrize(
    ("path", "error", "status"),
    [
        pytest.param("/healthz", None, 200, id="alive"),
        pytest.param("/readyz", None, 200, id="ready"),
        pytest.param("/readyz", MemoryUnavailableError("m", "away"), 503, id="not-ready"),
    ],
)
async def test_balancers_may_ask_with_head(path: str, error: Exception | None, status: int) -> None:
    async with client(Script(error=error)) as http:
        reply = await http.head(path)

    assert reply.status_code == status
