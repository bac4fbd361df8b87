"""The checkpointer that the graph sees: it keeps what crosses turns, of turns that have ended."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any, Final, TypeVar, cast

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from agent.errors import TurnTimeoutError
from agent.memory.errors import MemoryUnavailableError
from agent.memory.store import STORE_SECONDS, Size, Store, within
from agent.memory.thread import Thread

T = TypeVar("T")

KEPT: Final = ("messages",)
"""The channels that a later turn reads; `enhance_query` resets all others. What was retrieved,
graded and asked of the model is gone with its turn."""

OWNER: Final = "loopscope_owner"
THREAD: Final = "loopscope_thread"
"""Under which the metadata of a checkpoint say whose conversation it is, and its id there."""

_log = logging.getLogger(__name__)


class FinishedTurns(BaseCheckpointSaver[Any]):
    """Keeps one checkpoint a thread: its history after the last turn that reached an outcome.

    A turn that failed, was cancelled or was cut leaves the thread as it found it. To be used with
    LangGraph's `durability="exit"`, which saves once, at the end of the run and before it returns.

    Args:
        store: Where the checkpoints are.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(serde=store.saver.serde)
        self._store = store
        self.deadlines: dict[str, float] = {}
        """Threads with a turn under way, and the monotonic time at which it has to be over."""
        self.threads: dict[str, Thread] = {}
        """The same threads, whose owner and id are kept beside their checkpoint."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint of a thread.

        Raises:
            MemoryUnavailableError: The store does not answer.
            TurnTimeoutError: The turn has no time left.
        """
        return await self._within(_key(config), self._store.saver.aget_tuple(config))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep the history of a turn that has ended; it is on disk when this returns.

        Raises:
            MemoryUnavailableError: The store does not answer.
            TurnTimeoutError: The turn has no time left.
        """
        values = checkpoint["channel_values"]
        is_whole = not config["configurable"].get("checkpoint_ns")  # else that of a subgraph
        if is_whole and values.get("outcome") is not None:
            kept: Checkpoint = {
                **checkpoint,
                "channel_values": {name: values[name] for name in KEPT if name in values},
            }
            versions = {name: new_versions[name] for name in KEPT if name in new_versions}
            await self._within(_key(config), self._put(config, kept, metadata, versions))
        return {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}

    async def history(self, key: str) -> list[AnyMessage]:
        """Return the messages of a thread, oldest first, whatever turn is under way in it.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        await self.ping()  # finds and mends a connection that broke while nobody used it
        config: RunnableConfig = {"configurable": {"thread_id": key}}
        saved = await self._within(None, self._store.saver.aget_tuple(config))
        return list(saved.checkpoint["channel_values"].get("messages", ())) if saved else []

    async def latest_id(self, key: str) -> str:
        """Return the id of a thread's checkpoint; empty when there is none.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        config: RunnableConfig = {"configurable": {"thread_id": key}}
        saved = await self._within(key, self._store.saver.aget_tuple(config))
        return saved.checkpoint["id"] if saved else ""

    async def ids(self, owner: str, limit: int) -> list[str]:
        """Return the ids of an owner's threads, the one that went on last first.

        Args:
            owner: `Thread.owner`.
            limit: Threads at most.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        await self.ping()
        return await self._within(None, self._ids(owner, limit))

    async def _ids(self, owner: str, limit: int) -> list[str]:
        found = self._store.saver.alist(None, filter={OWNER: owner}, limit=limit)
        saved = [(each.checkpoint["ts"], each.metadata) async for each in found]
        saved.sort(key=lambda each: each[0], reverse=True)
        return [str(cast("dict[str, Any]", metadata)[THREAD]) for _, metadata in saved]

    async def size(self) -> Size:
        """Return how much the store holds.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        await self.ping()
        return await self._within(None, self._store.size())

    async def silent(self, before: str, limit: int) -> list[str]:
        """Return the keys of threads that went on last before a checkpoint id was made.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        await self.ping()
        return await self._within(None, self._store.silent(before, limit))

    async def ping(self) -> None:
        """Make sure that the store answers.

        Raises:
            MemoryUnavailableError: It does not.
        """
        await self._within(None, self._store.ping())

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep nothing of a turn that did not end."""

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints that the store holds."""
        found = self._store.saver.alist(config, filter=filter, before=before, limit=limit)
        async for checkpoint in found:
            yield checkpoint

    async def adelete_thread(self, thread_id: str) -> None:
        """Forget a thread.

        Raises:
            MemoryUnavailableError: The store does not answer.
        """
        await self._within(thread_id, self._store.saver.adelete_thread(thread_id))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Number the versions as the store's own checkpointer does."""
        return self._store.saver.get_next_version(current, channel)

    async def _put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        versions: ChannelVersions,
    ) -> None:
        key = _key(config)
        if (thread := self.threads.get(key)) is not None:
            told = {**metadata, OWNER: thread.owner, THREAD: thread.id}
            metadata = cast(CheckpointMetadata, told)
        await self._store.secure(key, config["configurable"].get("checkpoint_id"))
        await self._store.saver.aput(config, checkpoint, metadata, versions)
        try:
            await self._store.prune(key, checkpoint["id"])
        except self._store.errors as error:  # the turn is kept, and the next one prunes again
            _log.warning("older turns were not removed: %s", type(error).__name__)

    async def _within(self, key: str | None, work: Coroutine[Any, Any, T]) -> T:
        """Give the work the time that it and the turn may take, and its failure a name."""
        deadline = float("inf") if key is None else self.deadlines.get(key, float("inf"))
        left = deadline - time.monotonic()
        try:
            return await within(self._store, work, min(left, STORE_SECONDS))
        except MemoryUnavailableError as error:
            if isinstance(error.__cause__, TimeoutError) and left <= STORE_SECONDS:
                raise TurnTimeoutError() from error
            raise


def _key(config: RunnableConfig) -> str:
    return str(config["configurable"]["thread_id"])
