"""Conversations in this process: bounded, and gone when it ends."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from agent.memory.notes import LocalNotes
from agent.memory.store import Size, strict_serializer

MAX_CONVERSATIONS: Final = 1_000
"""Chosen by us: about 20 MB when each holds ten long questions and replies."""


class LocalStore:
    """Checkpoints in memory; the conversation that was silent longest is forgotten.

    Args:
        limit: Conversations kept at most.
    """

    shown = "this process' memory"
    errors: tuple[type[Exception], ...] = ()

    def __init__(self, limit: int = MAX_CONVERSATIONS) -> None:
        self.saver = InMemorySaver(serde=strict_serializer())
        self.notes = LocalNotes()
        self._limit = limit
        self._latest: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        """Return how many conversations are kept."""
        self._tidy()
        return len(self._latest)

    async def prune(self, key: str, kept: str) -> None:
        """Remove a thread's older checkpoints, and the thread that was silent longest."""
        if len(self.saver.storage[key][""]) > 1:  # the first turn of a thread leaves nothing behind
            self._keep_only(key, kept)
        self._latest[key] = None
        self._latest.move_to_end(key)
        while len(self._latest) > self._limit:
            self.saver.delete_thread(self._latest.popitem(last=False)[0])

    def _keep_only(self, key: str, kept: str) -> None:
        config: RunnableConfig = {"configurable": {"thread_id": key, "checkpoint_ns": ""}}
        newest = self.saver.get_tuple(
            {"configurable": {**config["configurable"], "checkpoint_id": kept}}
        )
        if newest is not None:
            checkpoint = newest.checkpoint
            versions = {name: checkpoint["channel_versions"][name]
                        for name in checkpoint["channel_values"]}  # fmt: skip
            self.saver.delete_thread(key)
            self.saver.put(config, checkpoint, newest.metadata, versions)

    async def size(self) -> Size:
        """Count the conversations and their bytes as they are kept."""
        self._tidy()
        blobs = sum(len(blob) for _, blob in self.saver.blobs.values())
        checkpoints = sum(
            len(checkpoint[1]) + len(metadata[1])
            for spaces in self.saver.storage.values()
            for saved in spaces.values()
            for checkpoint, metadata, _ in saved.values()
        )
        return Size(conversations=len(self._latest), bytes=blobs + checkpoints)

    async def silent(self, before: str, limit: int) -> list[str]:
        """Look from the conversation that was silent longest on."""
        self._tidy()
        found: list[str] = []
        for key in self._latest:
            if len(found) == limit or max(self.saver.storage[key][""]) >= before:
                break
            found.append(key)
        return found

    def _tidy(self) -> None:
        """Forget what LangGraph keeps of threads without a turn: it makes a place when it looks."""
        for key in [key for key, spaces in self.saver.storage.items() if not any(spaces.values())]:
            del self.saver.storage[key]
        for key in [key for key in self._latest if key not in self.saver.storage]:
            del self._latest[key]

    async def ping(self) -> None:
        """Do nothing: the process that asks is the store."""

    def locked(self, key: str, until: float) -> AbstractAsyncContextManager[None]:  # noqa: ARG002
        """Keep nobody out: there is no other process."""
        return nullcontext()

    async def secure(self, key: str, parent: str | None) -> None:
        """Do nothing: nobody else writes."""

    async def gave_up(self) -> None:
        """Do nothing: there is no connection to doubt."""
