from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from agent.errors import ServeError
from agent.server import ByPort, address, complaints, listen


def test_port_zero_takes_a_free_one_and_the_address_tells_it() -> None:
    with listen("127.0.0.1", 0) as first, listen("127.0.0.1", 0) as second:
        ports = {at.getsockname()[1] for at in (first, second)}

        assert address(first) == f"http://127.0.0.1:{first.getsockname()[1]}"
        assert len(ports - {0}) == 2


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_ipv6_address_is_written_in_brackets() -> None:
    try:
        listening = listen("::1", 0)
    except ServeError:
        pytest.skip("this machine has no IPv6 address")
    with listening:
        assert address(listening) == f"http://[::1]:{listening.getsockname()[1]}"


def test_what_connects_before_the_service_runs_waits_for_it() -> None:
    with listen("127.0.0.1", 0) as listening, socket.socket() as caller:
        caller.settimeout(5)

        assert caller.connect_ex(listening.getsockname()) == 0


def test_a_port_that_is_taken_is_refused() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServeError, match=f"cannot serve at 127.0.0.1:{port}: .*in use"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("192.0.2.1", id="an-address-of-another-machine"),
        pytest.param("no such host", id="no-address"),
    ],
)
def test_a_host_that_is_not_ours_is_refused(host: str) -> None:
    with pytest.raises(ServeError, match="expected an address of this machine"):
        listen(host, 0)


def named(name: str) -> Starlette:
    async def say(request: Request) -> PlainTextResponse:
        return PlainTextResponse(name)

    return Starlette(routes=[Route("/", say)])


async def test_each_port_has_its_own_application() -> None:
    transport = httpx.ASGITransport(app=ByPort({1001: named("a"), 1002: named("b")}))
    async with httpx.AsyncClient(transport=transport) as http:
        said = [(await http.get(f"http://service:{port}/")).text for port in (1001, 1002, 1001)]

    assert said == ["a", "b", "a"]


def test_a_want_of_files_is_told_once_a_minute_and_other_failures_each_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [100.0]
    tell = complaints(lambda: now[0])
    loop = asyncio.new_event_loop()
    want = {
        "message": "socket.accept() out of system resource",
        "exception": OSError(24, "Too many open files"),
    }
    for seconds in (0, 1, 60):
        now[0] = 100.0 + seconds
        tell(loop, want)
    tell(loop, {"message": "a task failed"})
    loop.close()

    line = (
        "no connection can be taken: [Errno 24] Too many open files; see `ulimit -n`; tried again"
    )
    assert caplog.messages == [line, line, "a task failed"]


FAREWELL = """
import asyncio, signal, sys
from contextlib import asynccontextmanager
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from agent import server

server.GRACE_SECONDS = 0.2
signal.signal(signal.SIGHUP, getattr(signal, sys.argv[1]))
stopped = asyncio.Event()

async def wait(request):
    print("asked", flush=True)
    await stopped.wait()
    return PlainTextResponse("cancelled")

@asynccontextmanager
async def opened():
    try:
        yield server.Service(app=Starlette(routes=[Route("/", wait)]), stop=stopped.set)
    finally:
        await asyncio.sleep(0)  # closing may wait for something
        print("closed", flush=True)

with server.listen("127.0.0.1", 0) as listening:
    print(server.address(listening), flush=True)
    server.run(opened, [listening])
"""
"""A service whose only request ends when it is cancelled."""


@pytest.mark.parametrize(
    ("hang_up", "sent"),
    [
        pytest.param("SIG_DFL", [signal.SIGTERM], id="told-to-end"),
        pytest.param("SIG_DFL", [signal.SIGHUP], id="its-terminal-closes"),
        pytest.param("SIG_IGN", [signal.SIGHUP, signal.SIGTERM], id="its-terminal-closes-in-vain"),
    ],
)
def test_a_stop_cancels_turns_after_the_grace_tells_their_callers_and_closes_what_was_opened(
    hang_up: str, sent: list[signal.Signals]
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", FAREWELL, hang_up],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(httpx.get, url, trust_env=False, timeout=30)
            assert process.stdout.readline() == "asked\n"
            for number in sent[:-1]:
                process.send_signal(number)
                assert httpx.get(f"{url}/other", trust_env=False).status_code == 404
            process.send_signal(sent[-1])
            reply = asked.result(30).text
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()

    assert (reply, out, process.returncode, err) == ("cancelled", "closed\n", 0, "")
