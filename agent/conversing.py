"""Questions of many callers at once: what the HTTP API, the console and traffic build on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, nullcontext
from typing import Final

from langchain_core.messages import AnyMessage

from agent.answer import Answer
from agent.errors import AgentError
from agent.events import Event, Finished
from agent.memory.memory import Memory, Message
from agent.memory.thread import Thread
from agent.service import SupportAgent, valid_question
from agent.state import Outcome

TURN_SECONDS: Final = 60.0
"""Default time limit of a turn; chosen by us: what proxies commonly wait for a reply."""
STOPPED_REPLY: Final = "The service is being restarted. Please ask again in a moment."


class Conversing:
    """Asks the agent, remembers what was said, and ends every turn within its time limit.

    For one event loop. A turn runs in a task of its own, so that it is cancelled at once when
    whoever reads its events goes away, whatever it is doing.

    Args:
        agent: Returns the agent that answers the next question; one of few.
        memory: Keeps the conversations.
        turn_seconds: Time limit of a turn, the wait for one before it in its thread included.
    """

    def __init__(
        self,
        agent: Callable[[], SupportAgent],
        memory: Memory,
        *,
        turn_seconds: float = TURN_SECONDS,
    ) -> None:
        self._agent = agent
        self._memory = memory
        self._turn_seconds = turn_seconds
        self._turns: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        self._agents: dict[int, tuple[SupportAgent, SupportAgent]] = {}

    @property
    def turns_under_way(self) -> int:
        """How many turns run or wait for one before them."""
        return len(self._turns)

    async def ask(
        self,
        question: str,
        *,
        thread: Thread | None = None,
        history: Sequence[AnyMessage] = (),
        until: float | None = None,
    ) -> Answer:
        """Answer one question; when this returns, a thread's turn is stored.

        Args:
            question: 1 to `MAX_QUESTION_CHARS` characters.
            thread: The conversation it belongs to; None for a question on its own.
            history: Earlier questions and replies, oldest first, of a question without thread.
            until: Monotonic time at which the turn has to be over, where that is earlier than its
                time limit from now.

        Returns:
            The answer. A turn that failed says so in its outcome: `error` with the reason
            `timeout` when its time was up, `cancelled` when the service was stopped.

        Raises:
            InvalidQuestionError: The question cannot be asked.
            ConversationBusyError: The turn before it did not end in time; this one never began.
            MemoryUnavailableError: The store did not answer; the turn never began.
            AgentError: The agent cannot answer this question, as `SupportAgent.answer` says.
        """
        text = valid_question(question)
        turn = self._events(text, thread, history, until, is_told=False)
        async with aclosing(turn) as events:
            async for event in events:
                if isinstance(event, Finished):
                    return event.answer
        raise AssertionError("a turn ended without its last event")

    def stream(
        self,
        question: str,
        *,
        thread: Thread | None = None,
        history: Sequence[AnyMessage] = (),
        until: float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Answer one question and tell of it meanwhile; the arguments are those of `ask`.

        Close the stream (`aclose`), or cancel who reads it, and the turn is cancelled at once: no
        further model call is made, and its thread is as it was before.

        Returns:
            Events; the last one, and only that, is `Finished`. Whatever goes wrong after the
            first event is told by that one; before it, the errors of `ask` are raised by the
            first `anext`.

        Raises:
            InvalidQuestionError: The question cannot be asked.
        """
        return self._events(valid_question(question), thread, history, until, is_told=True)

    async def messages(self, thread: Thread) -> list[Message]:
        """Return what was said in a conversation, oldest first; see `Memory.messages`."""
        return await self._memory.messages(thread)

    async def threads(self, caller: str) -> list[Thread]:
        """Return a caller's conversations, the newest first; see `Memory.threads`."""
        return await self._memory.threads(caller)

    async def forget(self, thread: Thread) -> None:
        """Remove a conversation, after the turn under way in it; see `Memory.forget`."""
        await self._memory.forget(thread, time.monotonic() + self._turn_seconds)

    async def ping(self) -> None:
        """Make sure that conversations can be reached.

        Raises:
            MemoryUnavailableError: They cannot.
        """
        await self._memory.ping()

    def stop(self) -> None:
        """Cancel every turn under way; each ends with an answer of the outcome `cancelled`."""
        self._is_stopping = True
        for task in self._turns:
            task.cancel()

    async def _events(
        self,
        question: str,
        thread: Thread | None,
        history: Sequence[AnyMessage],
        until: float | None,
        *,
        is_told: bool,
    ) -> AsyncGenerator[Event, None]:
        deadline = time.monotonic() + self._turn_seconds
        deadline = deadline if until is None else min(deadline, until)
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        put = events.put_nowait
        task = asyncio.create_task(
            self._turn(question, thread, history, deadline, put, is_told=is_told)
        )
        task.add_done_callback(lambda _: put(None))
        self._turns.add(task)
        has_begun = False
        try:
            while (event := await events.get()) is not None:
                has_begun = True
                yield event
            if task.cancelled() and self._is_stopping:
                yield _ended(question, "cancelled", "service_stopped", STOPPED_REPLY)
            elif not has_begun:
                task.result()
            elif isinstance(error := task.exception(), AgentError):
                yield _ended(question, "error", error.code, str(error))
            else:
                task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})
            self._turns.discard(task)

    async def _turn(
        self,
        question: str,
        thread: Thread | None,
        history: Sequence[AnyMessage],
        deadline: float,
        put: Callable[[Event], None],
        *,
        is_told: bool,
    ) -> None:
        key = thread.key if thread is not None else None
        alone = self._memory.turn(thread, deadline) if thread is not None else nullcontext()
        async with alone:
            agent = self._remembering()
            if not is_told:
                answer = await agent.aanswer(
                    question, history=history, thread_id=key, deadline=deadline
                )
                put(Finished(answer=answer))
                return
            events = agent.astream(question, history=history, thread_id=key, deadline=deadline)
            async with aclosing(events):
                async for event in events:
                    put(event)

    def _remembering(self) -> SupportAgent:
        """Return the agent that answers now, with our memory; made once for each agent."""
        agent = self._agent()
        if id(agent) not in self._agents:
            self._agents[id(agent)] = agent, agent.with_memory(self._memory.checkpointer)
        return self._agents[id(agent)][1]


def _ended(question: str, outcome: Outcome, reason: str, reply: str) -> Finished:
    return Finished(answer=Answer(question=question, outcome=outcome, reason=reason, reply=reply))
