"""The desk at which questions are taken: who asks, how often, how many at once, what came of it."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from fastapi import Request
from langchain_core.messages import AnyMessage

from agent.answer import Answer
from agent.events import Event, Finished
from agent.http.body import check_type
from agent.http.callers import PROBER, Callers
from agent.http.crowd import Crowd
from agent.http.leaving import unless_gone
from agent.http.limits import READ_SECONDS
from agent.http.rate import Rate
from agent.http.turns import AnsweredTurns
from agent.memory.memory import Message
from agent.memory.thread import Thread
from agent.service import valid_question


class Asking(Protocol):
    """What answers questions and keeps conversations: `agent.conversing.Conversing`."""

    async def ask(
        self,
        question: str,
        *,
        thread: Thread | None = None,
        history: Sequence[AnyMessage] = (),
        until: float | None = None,
    ) -> Answer:
        """Answer one question without blocking the event loop."""

    def stream(
        self,
        question: str,
        *,
        thread: Thread | None = None,
        history: Sequence[AnyMessage] = (),
        until: float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Answer one question and tell of it meanwhile."""

    async def messages(self, thread: Thread) -> list[Message]:
        """Return what was said in a conversation, oldest first."""

    async def threads(self, caller: str) -> list[Thread]:
        """Return a caller's conversations, the newest first."""

    async def forget(self, thread: Thread) -> None:
        """Remove a conversation."""

    async def ping(self) -> None:
        """Make sure that conversations can be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The last event at the desk: an answer, and the id under which its turn is remembered."""

    answer: Answer
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Takes the questions of one service."""

    asking: Asking
    callers: Callers
    rate: Rate
    crowd: Crowd
    turns: AnsweredTurns
    turn_seconds: float
    """Longest time of a question, the wait for a place included."""

    @property
    def stream_seconds(self) -> float:
        """Longest time of a streamed reply, its reading included: so long it keeps its place."""
        return self.turn_seconds + READ_SECONDS

    async def admitted(self, request: Request) -> str:
        """Return the caller who sent a request.

        Raises:
            UnauthorizedError: It is nobody who may.
            MediaTypeError: Its body is no JSON.
        """
        caller = self.callers.named(request.headers.get("authorization"))
        if request.method == "POST":
            check_type(request.headers.get("content-type"))
        return caller

    async def ask(
        self,
        request: Request,
        question: str,
        *,
        caller: str,
        thread: Thread | None = None,
        history: Sequence[AnyMessage] = (),
    ) -> Answered:
        """Answer a question, as long as its caller waits for it.

        Raises:
            RateLimitedError: The caller asks too often.
            OverloadedError: Too many turns are under way.
            CallerGoneError: The caller has gone; the turn was cancelled.
            AgentError: As `Conversing.ask`.
        """
        text, until = self._taken(question, caller)
        async with self.crowd.place():
            work = self.asking.ask(text, thread=thread, history=history, until=until)
            answer = await unless_gone(request.receive, work)
        return Answered(answer=answer, turn_id=await self.turns.add(caller, answer, until))

    async def stream(
        self,
        question: str,
        *,
        caller: str,
        thread: Thread | None = None,
        history: Sequence[AnyMessage] = (),
    ) -> AsyncGenerator[Event | Answered, None]:
        """Answer a question and tell of it; closing the stream cancels the turn.

        Yields:
            The events of `Conversing.stream`, and `Answered` in place of the last one.

        Raises:
            AgentError: As `ask`, before the first event.
        """
        text, until = self._taken(question, caller)
        async with (
            self.crowd.place(),
            aclosing(
                self.asking.stream(text, thread=thread, history=history, until=until)
            ) as events,
        ):
            async for event in events:
                if isinstance(event, Finished):
                    turn_id = await self.turns.add(caller, event.answer, until)
                    yield Answered(answer=event.answer, turn_id=turn_id)
                else:
                    yield event

    def _taken(self, question: str, caller: str) -> tuple[str, float]:
        """Refuse what cannot be asked before it takes a place; return by when it is answered."""
        text = valid_question(question)
        if caller != PROBER:
            self.rate.spend(caller)
        return text, time.monotonic() + self.turn_seconds
