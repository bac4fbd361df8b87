"""Streams over a real socket, where a client can go away."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from http_service import Script, read_sse, served

from agent.http import desk as desk_module
from agent.http import sse as sse_module
from agent.http.limits import Limits
from agent.http.sse import EventStream, sse

ONE = Limits(max_turns=1, max_waiting=0)


def test_an_event_is_its_name_and_one_line_of_json() -> None:
    assert sse({"text": "a\nb"}, "token") == b'event: token\ndata: {"text":"a\\nb"}\n\n'
    assert sse([1]) == b"data: [1]\n\n"


async def until(condition: Any) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


async def asking(url: str, path: str) -> asyncio.StreamWriter:
    """Ask on a connection of its own, from which nobody reads."""
    body = {"question": "q?"} if "chat" not in path else {
        "stream": True, "messages": [{"role": "user", "content": "q?"}]
    }  # fmt: skip
    host, _, port = url.removeprefix("http://").partition(":")
    sent = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    _, writer = await asyncio.open_connection(host, int(port), limit=1)
    writer.write(head.encode() + f"Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
    return writer


@pytest.mark.parametrize("path", ["/ask", "/ask/stream", "/v1/chat/completions"])
async def test_a_client_that_goes_away_cancels_the_turn_and_frees_its_place(path: str) -> None:
    script = Script()
    script.gate.clear()
    async with served(script, limits=ONE) as url, httpx.AsyncClient(trust_env=False) as http:
        writer = await asking(url, path)
        await script.began.wait()
        writer.close()
        await until(lambda: script.ended)
        script.gate.set()
        again = await http.post(f"{url}/ask", json={"question": "q?"})

    assert script.ended[0] == "cancelled"
    assert again.status_code == 200


async def test_a_comment_is_sent_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_module, "FIRST_SECONDS", 0.01)
    script = Script()
    script.gate.clear()
    events = script.stream("q?")
    stream = EventStream(
        events, lambda event: [sse(type(event).__name__)], _no_error, heartbeat_seconds=0.01
    )
    sent: list[bytes] = []
    beat = asyncio.Event()

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))
        if sent.count(sse_module.HEARTBEAT) == 2:
            script.gate.set()
            beat.set()

    await (await stream.opened())({"type": "http"}, receive, send)

    assert beat.is_set()
    assert read_sse(b"".join(sent))[-1] == ("message", '"Finished"')


async def test_headers_are_sent_before_a_first_event_that_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse_module, "FIRST_SECONDS", 0.01)
    holding, waiting = Script(), asyncio.Event()
    holding.gate.clear()
    limits = Limits(max_turns=1, max_waiting=1, queue_seconds=30)
    async with served(holding, limits=limits) as url, httpx.AsyncClient(trust_env=False) as http:
        first = asyncio.create_task(http.post(f"{url}/ask", json={"question": "q?"}))
        await holding.began.wait()
        async with http.stream("POST", f"{url}/ask/stream", json={"question": "q?"}) as reply:
            waiting.set()
            status = reply.status_code
            holding.gate.set()
            body = await reply.aread()
        await first

    assert (status, read_sse(body)[-1][0]) == (200, "final")


@pytest.mark.parametrize("path", ["/ask/stream", "/v1/chat/completions"])
async def test_a_client_that_reads_nothing_gives_its_place_back_when_its_time_is_over(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "READ_SECONDS", 0.2)
    limits = Limits(max_turns=1, max_waiting=1, turn_timeout_seconds=0.1, queue_seconds=10)
    script = Script(["x" * 1_000_000] * 30)  # more than any system keeps for a reader
    async with served(script, limits=limits) as url, httpx.AsyncClient(trust_env=False) as http:
        writer = await asking(url, path)
        await script.began.wait()
        again = await http.post(f"{url}/ask", json={"question": "q?"})
        writer.transport.abort()

    assert (again.status_code, script.ended[0]) == (200, "cancelled")


def _no_error(code: str, message: str) -> bytes:
    raise AssertionError((code, message))
