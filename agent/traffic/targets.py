"""Whom the questions go to: a service at a URL, or an agent in this process."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

import httpx

from agent.conversing import Conversing
from agent.errors import AgentError, TargetError
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.memory.thread import Thread
from agent.service import SupportAgent
from agent.traffic.load import MAX_IN_FLIGHT, NoReplyError

TIMEOUT_SECONDS: Final = 120.0
"""Longest wait for one reply: the last bucket of the turn's duration."""
READY_SECONDS: Final = 10.0
"""Longest wait for the word that a service is ready, which takes it no turn; chosen by us."""


class HttpTarget:
    """A service at a URL; an `Ask`, from `async with` to the end of its block.

    Args:
        url: Its base address.
        max_in_flight: Connections at most.
        timeout_seconds: Longest wait for one reply.
        transport: Another way to reach it than a connection.

    Raises:
        TargetError: The URL is none of HTTP.
    """

    def __init__(
        self,
        url: str,
        *,
        max_in_flight: int = MAX_IN_FLIGHT,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = base_address(url)
        self._client = httpx.AsyncClient(
            timeout=timeout_seconds,
            limits=httpx.Limits(max_connections=max_in_flight),
            transport=transport,
            trust_env=False,  # a proxy of the environment knows nothing of loopback
        )

    async def check(self) -> None:
        """Ask once whether the service is ready.

        Raises:
            TargetError: It does not answer, or not as ours does.
        """
        try:
            reply = await self._client.get(f"{self._url}/readyz", timeout=READY_SECONDS)
        except httpx.TimeoutException as error:
            raise TargetError(self._url, f"no answer within {READY_SECONDS:g} s") from error
        except httpx.HTTPError as error:
            raise TargetError(self._url, f"{type(error).__name__}: {error}") from error
        if reply.status_code != httpx.codes.OK:
            raise TargetError(self._url, f"/readyz answered {reply.status_code}")

    async def __call__(self, question: str, thread_id: str | None) -> str:
        """Ask one question and return the outcome."""
        body = {"question": question, "thread_id": thread_id}
        try:
            reply = await self._client.post(f"{self._url}/ask", json=body)
        except httpx.TimeoutException as error:
            raise NoReplyError("timeout") from error
        except httpx.HTTPError as error:
            raise NoReplyError(type(error).__name__) from error
        if reply.status_code != httpx.codes.OK:
            raise NoReplyError(f"http_{reply.status_code}")
        return str(reply.json()["outcome"])

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.__aexit__(kind, error, trace)


def base_address(url: str) -> str:
    """Return the base address of a service, without a slash at its end.

    Raises:
        TargetError: It is none of HTTP.
    """
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise TargetError(url, f"it is no URL ({error})") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise TargetError(url, "it is no HTTP address")
    return url.rstrip("/")


class InProcessTarget:
    """An agent in this process; an `Ask`.

    Args:
        agent: Returns what answers the next question.
    """

    def __init__(self, agent: Callable[[], SupportAgent]) -> None:
        self._conversing = Conversing(agent, Memory(LocalStore()), turn_seconds=TIMEOUT_SECONDS)

    async def __call__(self, question: str, thread_id: str | None) -> str:
        """Ask one question and return the outcome."""
        thread = Thread(id=thread_id) if thread_id is not None else None
        try:
            return (await self._conversing.ask(question, thread=thread)).outcome
        except AgentError as error:
            raise NoReplyError(error.code) from error
