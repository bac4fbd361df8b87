from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent.connection import BoundedConnection
from agent.server import listen


class Quick(BoundedConnection):
    head_bytes = 100_000
    head_seconds = 0.2


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Say 200 and what was sent."""
    request = Request(scope, receive)
    await Response(await request.body())(scope, receive, send)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server that says 200 to everything."""
    with listen("127.0.0.1", 0) as listening:
        config = uvicorn.Config(echo, http=Quick, log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server._serve(sockets=[listening]))  # without signal handlers
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        try:
            yield reader, writer
        finally:
            writer.transport.abort()
            server.should_exit = True
            await task


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
LARGE = b"X: " + b"a" * 1_000_000 + b"\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(HEAD + b"\r\n", 200, id="a-whole-head-is-served"),
        pytest.param(HEAD + LARGE, 431, id="a-large-header-is-refused-before-its-end"),
        pytest.param(HEAD + b"X: a\r\n" * 200_000, 431, id="many-headers-are-refused"),
        pytest.param(b"GET /" + b"a" * 1_000_000, 431, id="a-long-address-is-refused"),
        pytest.param(HEAD, 408, id="a-head-without-end-is-not-waited-for"),
        pytest.param(b"", 408, id="nor-one-that-never-begins"),
    ],
)
async def test_a_head_has_a_size_and_a_time(sent: bytes, status: int) -> None:
    async with connected() as (reader, writer), asyncio.timeout(10):
        writer.write(sent)
        line = await reader.readline()

    assert int(line.split()[1]) == status


async def test_a_second_request_of_a_connection_is_bounded_too() -> None:
    async with connected() as (reader, writer), asyncio.timeout(10):
        writer.write(HEAD + b"\r\n")
        served = await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        rest = await reader.read()

    assert (served.split()[1], rest.split()[1]) == (b"200", b"408")


JAVA = (
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        pytest.param(b"Content-Length: 4\r\n\r\n", b"text", id="with-a-length"),
        pytest.param(
            b"Transfer-Encoding: chunked\r\n\r\n", b"4\r\ntext\r\n0\r\n\r\n", id="in-chunks"
        ),
    ],
)
@pytest.mark.parametrize("is_split", [False, True], ids=["in-one-piece", "byte-by-byte"])
async def test_a_request_that_would_rather_speak_http_2_keeps_its_body(
    head: bytes, body: bytes, is_split: bool
) -> None:
    sent = b"POST / HTTP/1.1\r\nHost: x\r\n" + JAVA + head + body
    async with connected() as (reader, writer), asyncio.timeout(10):
        for piece in [bytes([byte]) for byte in sent] if is_split else [sent]:
            writer.write(piece)
            await asyncio.sleep(0)
        first = await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(4)
        writer.write(HEAD + JAVA + b"\r\n")  # without a body, on the same connection
        second = await reader.readline()

    assert (first.split()[1], first[-4:], second.split()[1]) == (b"200", b"text", b"200")
