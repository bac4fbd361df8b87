from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from http_service import Script, client, exposition

from agent.api import create_app
from agent.http.limits import Limits

SMALL = Limits(max_body_bytes=1_024)
JSON = {"Content-Type": "application/json"}


async def pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * 256


@pytest.mark.parametrize(
    ("body", "got"),
    [
        pytest.param(b" " * 1_025, "got 1025 bytes", id="as-announced"),
        pytest.param(pieces(5), "got more than that", id="as-it-comes"),
    ],
)
async def test_a_body_above_the_limit_is_refused(body: Any, got: str) -> None:
    async with client(Script(), limits=SMALL) as http:
        reply = await http.post("/ask", content=body, headers=JSON)

    assert (reply.status_code, reply.json()["code"]) == (413, "body_too_large")
    assert f"{got}, expected at most 1,024 bytes" in reply.json()["message"]


async def test_a_body_in_pieces_within_the_limit_is_read_whole() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b'{"ques'
        yield b'tion": "q?"}'

    async with client(Script(), limits=SMALL) as http:
        reply = await http.post("/ask", content=body(), headers=JSON)

    assert reply.json()["question"] == "q?"


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        pytest.param("application/json", 200, id="json"),
        pytest.param("Application/JSON; charset=utf-8", 200, id="json-with-a-charset"),
        pytest.param("application/vnd.api+json", 200, id="a-kind-of-json"),
        pytest.param("text/plain", 415, id="text"),
        pytest.param("application/x-www-form-urlencoded", 415, id="a-form"),
        pytest.param("json", 415, id="no-type"),
        pytest.param(None, 415, id="none"),
    ],
)
async def test_only_json_is_read(content_type: str | None, status: int) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    async with client(Script()) as http:
        reply = await http.post("/ask", content=b'{"question": "q?"}', headers=headers)

    assert reply.status_code == status


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    never = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b'{"ques'
        await never.wait()

    async with client(Script(), limits=Limits(body_seconds=0.01)) as http:
        reply = await http.post("/ask", content=body(), headers=JSON)

    assert (reply.status_code, reply.json()["code"]) == (408, "slow_body")


async def test_a_client_that_goes_while_it_sends_gets_nothing_and_asks_nothing() -> None:
    script, sent = Script(), []
    messages = [{"type": "http.request", "body": b"{", "more_body": True},
                {"type": "http.disconnect"}]  # fmt: skip

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/ask", "headers": []}
    await create_app(script, exposition)(scope, receive, send)

    assert (sent, script.asked) == ([], [])


async def test_what_has_no_body_needs_no_type() -> None:
    async with client(Script()) as http:
        replies = [await http.get("/healthz"), await http.delete("/conversations/a")]

    assert [reply.status_code for reply in replies] == [200, 204]


async def test_a_deeply_nested_body_is_a_refusal_like_any_other() -> None:
    async with client(Script()) as http:
        reply: httpx.Response = await http.post("/ask", content=b"[" * 100_000, headers=JSON)

    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_request")
