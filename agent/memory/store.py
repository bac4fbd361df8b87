"""What the three kinds of memory have in common, and how long each may take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agent.memory.errors import ConversationBusyError, MemoryUnavailableError

T = TypeVar("T")

STORE_SECONDS: Final = 5.0
"""Longest wait for one operation of a store; chosen by us: healthy ones take milliseconds."""
FIRST_WAIT_SECONDS: Final = 0.01
LONGEST_WAIT_SECONDS: Final = 0.25
"""How long to wait between two looks at a lock that another process holds: from the first to the
longest, doubled each time. Chosen by us: turns take a second or more."""


class NoteStore(Protocol):
    """Where notes are. Times are Unix time in seconds."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes find them."""

    async def add(self, kind: str, name: str, value: str, until: float, now: float) -> bool:
        """Keep a note unless one of its name is there; return whether it was kept."""

    async def put(self, kind: str, values: Mapping[str, str], until: float) -> None:
        """Keep notes in place of those of the same names."""

    async def find(self, kind: str, name: str, now: float) -> str | None:
        """Return a note."""

    async def remove(self, kind: str, name: str) -> None:
        """Forget a note."""

    async def sweep(self, now: float) -> None:
        """Forget every note whose time is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much a store holds."""

    conversations: int
    bytes: int
    """Of the conversations in a process, of the whole file or the tables elsewhere."""


class Store(Protocol):
    """Where conversations are: a checkpointer of LangGraph and what it has no words for."""

    @property
    def shown(self) -> str:
        """Its name for messages, without any password."""

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """Keeps the checkpoints."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What it raises when it cannot be reached; empty when it always can, without a wait."""

    @property
    def notes(self) -> NoteStore:
        """What is kept beside the conversations."""

    async def size(self) -> Size:
        """Return how much is kept, counted where it is cheap."""

    async def silent(self, before: str, limit: int) -> list[str]:
        """Return the keys of threads whose newest checkpoint is older than another.

        Args:
            before: Id of a checkpoint: ids are in the order of time.
            limit: Keys at most.
        """

    async def prune(self, key: str, kept: str) -> None:
        """Remove every checkpoint of a thread but the one with the id `kept`."""

    async def ping(self) -> None:
        """Do something small; raises one of `errors` when that fails."""

    def locked(self, key: str, until: float) -> AbstractAsyncContextManager[None]:
        """Keep every other process from a turn on the thread.

        Args:
            key: The thread's.
            until: Monotonic time at which the wait for another process ends.

        Raises:
            ConversationBusyError: Another process did not let go in time.
        """

    async def secure(self, key: str, parent: str | None) -> None:
        """Make sure that nobody wrote since the turn began; called before each write.

        Args:
            key: The thread's.
            parent: Id of the checkpoint that the turn began from; None for a new thread.
        """

    async def gave_up(self) -> None:
        """Hear that an operation took longer than `STORE_SECONDS` and was abandoned."""


def strict_serializer() -> JsonPlusSerializer:
    """Return a serializer that loads built-ins and messages of LangChain, and nothing else.

    LangGraph's default also imports and calls whatever a checkpoint names, so that whoever can
    write to the database could run code here.
    """
    return JsonPlusSerializer(allowed_msgpack_modules=None)


async def taken(take: Callable[[], Awaitable[bool]], until: float) -> None:
    """Take a lock, looking again and again while another process holds it.

    Args:
        take: Takes it if it is free and returns whether it was.
        until: Monotonic time at which the wait ends.

    Raises:
        ConversationBusyError: It was not free in time.
    """
    began, wait = time.monotonic(), FIRST_WAIT_SECONDS
    while not await take():
        if time.monotonic() + wait > until:
            raise ConversationBusyError(time.monotonic() - began)
        await asyncio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT_SECONDS)


async def within(store: Store, work: Coroutine[Any, Any, T], seconds: float = STORE_SECONDS) -> T:
    """Give a store's work the time it may take, and its failure a name.

    Args:
        store: Whose work it is.
        work: Not cut by a cancellation.
        seconds: Longest wait.

    Raises:
        MemoryUnavailableError: It failed, or took longer.
    """
    if not store.errors:
        return await work

    async def timed() -> T:
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError as error:
            await store.gave_up()
            problem = f"it did not answer within {seconds:g} s"
            raise MemoryUnavailableError(store.shown, problem) from error
        except store.errors as error:
            raise MemoryUnavailableError(store.shown, reason(error)) from error

    return await to_its_end(timed())


def reason(error: Exception) -> str:
    """Return the first line of a driver's message: the further ones may quote values."""
    lines = str(error).strip().splitlines()
    return lines[0][:200].rstrip(".") if lines else type(error).__name__


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Await work that is not cut by a cancellation: that would spoil a connection or a lock.

    The cancellation is raised once the work has ended, at most `STORE_SECONDS` later.

    Raises:
        Exception: What the work raises.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()  # nobody else asks for it, and asyncio would complain
        raise cancelled
    return task.result()
