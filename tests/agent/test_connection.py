from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.responses import Response

from agent.connection import BoundedConnection
from agent.server import listen


class Quick(BoundedConnection):
    head_bytes = 100_000
    head_seconds = 0.2


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server that says 200 to everything."""
    with listen("127.0.0.1", 0) as listening:
        config = uvicorn.Config(Response(), http=Quick, log_config=None, lifespan="off")
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
