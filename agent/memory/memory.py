"""The memory of the service: one turn at a time on a conversation, and what was said in it."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Literal, cast

from langchain_core.messages import AnyMessage, HumanMessage

from agent.memory.errors import ConversationBusyError
from agent.memory.finished import FinishedTurns
from agent.memory.notes import Notes
from agent.memory.store import Size, Store, within
from agent.memory.thread import Thread
from agent.state import Outcome

MAX_LISTED: Final = 100
"""Conversations in one list; chosen by us: what a person looks through."""
MAX_FORGOTTEN: Final = 1_000
"""Conversations removed in one go; chosen by us: about a second of work for a database."""
FORGET_SECONDS: Final = 1.0
"""How long one that is busy is waited for; it is not silent any more then."""


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
        async with self._alone(thread.key, until):
            self.checkpointer.threads[thread.key] = thread
            try:
                yield
            finally:
                del self.checkpointer.threads[thread.key]

    @asynccontextmanager
    async def _alone(self, key: str, until: float) -> AsyncIterator[None]:
        """Keep everybody else from a thread."""
        began = time.monotonic()
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
                    try:
                        yield
                    finally:
                        del self.checkpointer.deadlines[key]
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

    async def forget_silent(self, before: float) -> int:
        """Remove conversations that did not go on for long, `MAX_FORGOTTEN` at most.

        One that goes on while this looks at it stays.

        Args:
            before: Unix time, seconds: when a conversation that stays went on last, or later.

        Returns:
            How many were removed.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        oldest, forgotten = first_checkpoint_id(before), 0
        for key in await self.checkpointer.silent(oldest, MAX_FORGOTTEN):
            try:
                async with self._alone(key, time.monotonic() + FORGET_SECONDS):
                    if await self.checkpointer.latest_id(key) < oldest:
                        await self.checkpointer.adelete_thread(key)
                        forgotten += 1
            except ConversationBusyError:
                continue
        return forgotten

    async def sweep_notes(self, now: float) -> None:
        """Remove notes whose time is over.

        Args:
            now: Unix time, seconds.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        await within(self._store, self._store.notes.sweep(now))

    async def size(self) -> Size:
        """Return how much is kept.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        return await self.checkpointer.size()

    def notes(self, kind: str, seconds: float) -> Notes:
        """Return the notes of one kind.

        Args:
            kind: Keeps them apart from others.
            seconds: How long each is kept.
        """
        return Notes(self._store, kind, seconds)

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


def first_checkpoint_id(when: float) -> str:
    """Return the least id that LangGraph gives a checkpoint at a time: a UUID of version 6.

    Args:
        when: Unix time, seconds.

    Source:
        RFC 9562, section 5.6: the time counts 100 ns since 15 October 1582, in this order.
    """
    ticks = int(when * 1e7) + 0x01B21DD213814000
    return str(uuid.UUID(int=(ticks >> 12) << 80 | 0x6 << 76 | (ticks & 0xFFF) << 64))
