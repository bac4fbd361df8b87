"""A service whose answers are scripted, in this process or on a socket of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn
from langchain_core.messages import AnyMessage

from agent.answer import Answer, Observation
from agent.api import create_app
from agent.events import Event, Finished, NodeStarted, Token
from agent.memory.memory import Message
from agent.memory.thread import Thread
from agent.server import address, listen

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SEEN = Observation(
    trace_id=TRACE, span_id="00f067aa0ba902b7", similarities=(), synonym_swaps=(),
    input_tokens=30, output_tokens=12,
)  # fmt: skip


def answer(question: str, **changes: Any) -> Answer:
    return Answer(
        **{"question": question, "outcome": "answered", "reason": "passing_chunk",
           "reply": "It is so [a].", "citations": ("a",), "seen": SEEN, "trace_id": TRACE,
           **changes}
    )  # fmt: skip


class Script:
    """Answers as told, and keeps what it was asked; `gate` holds every turn until it is set."""

    def __init__(
        self,
        pieces: Sequence[str] = ("It is ", "so [a]."),
        *,
        error: Exception | None = None,
        breaks: Exception | None = None,
        events: Sequence[Event] = (),
    ) -> None:
        self.pieces = pieces
        self.error = error
        self.breaks = breaks
        self.more = events
        self.gate = asyncio.Event()
        self.gate.set()
        self.began = asyncio.Event()
        self.ended: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self.kept: dict[Thread, list[Message]] = {}

    async def ask(
        self, question: str, *, thread: Thread | None = None,
        history: Sequence[AnyMessage] = (), until: float | None = None,
    ) -> Answer:  # fmt: skip
        async for event in self.stream(question, thread=thread, history=history, until=until):
            if isinstance(event, Finished):
                return event.answer
        raise AssertionError

    async def stream(
        self, question: str, *, thread: Thread | None = None,
        history: Sequence[AnyMessage] = (), until: float | None = None,
    ) -> AsyncGenerator[Event, None]:  # fmt: skip
        self.asked.append(
            {"question": question, "thread": thread, "history": list(history), "until": until}
        )
        if self.error is not None:
            raise self.error
        self.began.set()
        try:
            yield NodeStarted(node="enhance_query", attempt=0)
            await self.gate.wait()
            for event in self.more:
                yield event
            for piece in self.pieces:
                yield Token(text=piece)
            if self.breaks is not None:
                raise self.breaks
            reply = "".join(self.pieces)
            if thread is not None:
                said = self.kept.setdefault(thread, [])
                said.append(Message(role="user", text=question))
                said.append(Message(role="assistant", text=reply, outcome="answered"))
            yield Finished(answer=answer(question, reply=reply))
            self.ended.append("finished")
        except (GeneratorExit, asyncio.CancelledError):
            self.ended.append("cancelled")
            raise

    async def messages(self, thread: Thread) -> list[Message]:
        return self.kept.get(thread, [])

    async def threads(self, caller: str) -> list[Thread]:
        return [thread for thread in reversed(self.kept) if thread.caller == caller]

    async def forget(self, thread: Thread) -> None:
        self.kept.pop(thread, None)

    async def ping(self) -> None:
        if self.error is not None:
            raise self.error


def exposition(_: str | None) -> tuple[bytes, str]:
    return b"a_metric 1\n", "text/plain"


def client(script: Any, **options: Any) -> httpx.AsyncClient:
    app = create_app(script, exposition, **options)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://service")


@asynccontextmanager
async def served(script: Any, **options: Any) -> AsyncIterator[str]:
    """The address of the service on a free port of loopback."""
    app = create_app(script, exposition, **options)
    with listen("127.0.0.1", 0) as listening:
        server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        )
        task = asyncio.create_task(server._serve(sockets=[listening]))  # without signal handlers
        try:
            yield address(listening)
        finally:
            server.should_exit = True
            await task


def read_sse(body: bytes) -> list[tuple[str, str]]:
    """Read events as the standard says (WHATWG HTML, 9.2.6): (name, data) pairs."""
    events, name, data = [], "", []
    text = body.decode().replace("\r\n", "\n").replace("\r", "\n")
    for line in text.split("\n"):
        if line == "":
            if data:
                events.append((name or "message", "\n".join(data)))
            name, data = "", []
        elif not line.startswith(":"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
    return events
