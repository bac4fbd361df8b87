"""One known question asked of a service over HTTP; whatever comes back has a name."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any, Final

import httpx

from agent.http.chat_schemas import MODEL
from agent.http.probing import PROBE_HEADER
from agent.probing.known import NO_ANSWER, OUTCOMES, KnownQuestion

PATH: Final = "/v1/chat/completions"
"""It takes a history and keeps no conversation."""
MAX_REPLY_BYTES: Final = 1_048_576
"""Chosen by us: a reply with its history is a hundred times smaller; nonsense may have no end."""
_SHOWN_CHARS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one probe."""

    question: KnownQuestion
    got: str
    seconds: float
    problem: str | None = None
    """Why there was no answer."""
    trace_id: str | None = None

    @property
    def is_expected(self) -> bool:
        """Whether the question was answered as it should be."""
        return self.got == self.question.expected


class NoAnswerError(Exception):
    """What came back is no answer of a service of ours; its text says what it was."""


class HttpProbe:
    """Asks a service as its prober.

    Args:
        url: Its base address.
        key: Its probe key.
        timeout_seconds: Longest wait for a whole reply.
        client: Makes the connections; closed by its owner.
    """

    def __init__(
        self, url: str, key: str, *, timeout_seconds: float, client: httpx.AsyncClient
    ) -> None:
        self._url = f"{url.rstrip('/')}{PATH}"
        self._headers = {"Authorization": f"Bearer {key}", PROBE_HEADER: "1"}
        self._timeout_seconds = timeout_seconds
        self._client = client

    async def __call__(self, question: KnownQuestion) -> Result:
        """Ask one question. Never raises, whatever the service does."""
        began = time.perf_counter()
        got, problem, trace_id = NO_ANSWER, None, None
        try:
            async with asyncio.timeout(self._timeout_seconds):
                told = await self._told(question)
            got = _got(question, told)
            trace_id = told.get("trace_id")
        except NoAnswerError as error:
            problem = str(error)
        except TimeoutError:
            problem = f"no reply in {self._timeout_seconds:g} s"
        except (httpx.HTTPError, httpx.StreamError) as error:
            problem = f"{type(error).__name__}: {error}"[:_SHOWN_CHARS].rstrip(": ")
        seconds = time.perf_counter() - began
        trace = trace_id if isinstance(trace_id, str) else None
        return Result(question=question, got=got, seconds=seconds, problem=problem, trace_id=trace)

    async def _told(self, question: KnownQuestion) -> dict[str, Any]:
        """Return what the reply says of the turn."""
        body = {"model": MODEL, "messages": _messages(question)}
        async with self._client.stream(
            "POST", self._url, json=body, headers=self._headers, timeout=None
        ) as reply:
            text = bytearray()
            async for piece in reply.aiter_bytes():
                text += piece
                if len(text) > MAX_REPLY_BYTES:
                    raise NoAnswerError(f"a reply above {MAX_REPLY_BYTES:,} bytes")
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            read = None
        if reply.status_code != httpx.codes.OK:
            raise NoAnswerError(_refused(reply.status_code, read))
        told = read.get("loopscope") if isinstance(read, dict) else None
        if not isinstance(told, dict):
            raise NoAnswerError("a reply that is none of `loopscope serve`")
        return told


def _messages(question: KnownQuestion) -> list[dict[str, str]]:
    messages = []
    for asked, reply in question.history:
        messages.append({"role": "user", "content": asked})
        messages.append({"role": "assistant", "content": reply})
    return [*messages, {"role": "user", "content": question.question}]


def _got(question: KnownQuestion, told: dict[str, Any]) -> str:
    outcome, citations = told.get("outcome"), told.get("citations")
    if outcome == NO_ANSWER:
        raise NoAnswerError(f"the turn failed: {str(told.get('reason'))[:_SHOWN_CHARS]}")
    if outcome not in OUTCOMES or not isinstance(citations, list):
        raise NoAnswerError(f"an outcome of {str(outcome)[:40]!r}")
    return question.got(outcome, [id_ for id_ in citations if isinstance(id_, str)])


def _refused(status: int, read: Any) -> str:
    """Say what a refusal says; one that is none of ours has its status alone."""
    if isinstance(read, dict) and isinstance(read.get("message"), str):
        return f"HTTP {status}: {read['message'][:_SHOWN_CHARS]}"
    return f"HTTP {status}"
