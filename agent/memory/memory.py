"""The memory of the service: one turn at a time on a conversation, and what was said in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Literal, cast

from langchain_core.messages import AnyMessage, HumanMessage

from agent.memory.errors import ConversationBusyError
from agent.memory.finished import FinishedTurns
from agent.memory.store import Store
from agent.memory.thread import Thread
from agent.state import Outcome

MAX_LISTED: Final = 100
"""Conversations in one list; chosen by us: what a person looks through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What was said once in a conversation."""

    role: Literal["user", "assistant"]
    text: str
    outcome: Outcome | None = None
    """How the turn ended; None for what the user said."""


class Memory:
    """Conversations by thread, kept in one store. For one event loop.

    Args:
        store: Where they are kept.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turns: dict[str, _Queue] = {}
        self.checkpointer = FinishedTurns(store)
        """For the graph; use it inside `turn` and with `durability="exit"`."""

    @asynccontextmanager
    async def turn(self, thread: Thread, until: float) -> AsyncIterator[None]:
        """Let one turn at a time run on the thread, over all processes that share the store.

        Args:
            thread: Whose turn it is.
            until: Monotonic time (`time.monotonic`) by which the turn has to be over; the wait
                for the one before it ends then too.

        Raises:
            ConversationBusyError: The one before it did not end in time.
            MemoryUnavailableError: The store does not answer.
        """
        key, began = thread.key, time.monotonic()
        queue = self._turns.setdefault(key, _Queue())
        queue.length += 1
        try:
            try:
                async with asyncio.timeout(until - began):
                    await queue.lock.acquire()
            except TimeoutError:
                raise ConversationBusyError(time.monotonic() - began) from None
            try:
                async with self._store.locked(key, until):
                    self.checkpointer.deadlines[key] = until
                    self.checkpointer.threads[key] = thread
                    try:
                        yield
                    finally:
                        del self.checkpointer.deadlines[key]
                        del self.checkpointer.threads[key]
            finally:
                queue.lock.release()
        finally:
            queue.length -= 1
            if not queue.length:
                del self._turns[key]

    async def messages(self, thread: Thread) -> list[Message]:
        """Return what was said, oldest first: the newest `HISTORY_MESSAGES` messages.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        return [_message(message) for message in await self.checkpointer.history(thread.key)]

    async def threads(self, caller: str) -> list[Thread]:
        """Return a caller's conversations, the one that went on last first, `MAX_LISTED` at most.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        owner = Thread.new(caller).owner
        ids = await self.checkpointer.ids(owner, MAX_LISTED)
        return [Thread(id=id_, caller=caller) for id_ in ids]

    async def forget(self, thread: Thread, until: float) -> None:
        """Remove a conversation, after the turn that is under way in it.

        Args:
            thread: Which one.
            until: Monotonic time at which the wait for that turn ends.

        Raises:
            ConversationBusyError: The turn did not end in time.
            MemoryUnavailableError: The store does not answer.
        """
        async with self.turn(thread, until):
            await self.checkpointer.adelete_thread(thread.key)

    async def ping(self) -> None:
        """Make sure that the store answers.

        Raises:
            MemoryUnavailableError: It does not.
        """
        await self.checkpointer.ping()


class _Queue:
    """The turns of one thread in this process: one runs, the others wait in order."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.length = 0


def _message(message: AnyMessage) -> Message:
    if isinstance(message, HumanMessage):
        return Message(role="user", text=message.text)
    outcome = cast("Outcome | None", message.additional_kwargs.get("outcome"))
    return Message(role="assistant", text=message.text, outcome=outcome)
