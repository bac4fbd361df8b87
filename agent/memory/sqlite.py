"""Conversations in a SQLite file of one process."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent.memory.errors import MemoryUnavailableError
from agent.memory.finished import reason
from agent.memory.store import STORE_SECONDS, strict_serializer


class SqliteStore:
    """Checkpoints in a file.

    Args:
        path: Of the file, for messages.
        connection: Open, with the file locked for this process.
    """

    errors = (sqlite3.Error,)

    def __init__(self, path: Path, connection: aiosqlite.Connection) -> None:
        self.shown = f"the SQLite file {str(path)!r}"
        self.saver = AsyncSqliteSaver(connection, serde=strict_serializer())

    async def prune(self, key: str, kept: str) -> None:
        """Remove a thread's older checkpoints."""
        await self._execute(
            "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_id <> ?", (key, kept)
        )

    async def ping(self) -> None:
        """Read one value."""
        await self._execute("SELECT count(*) FROM sqlite_master", ())

    def locked(self, key: str, until: float) -> AbstractAsyncContextManager[None]:  # noqa: ARG002
        """Keep nobody out: the whole file belongs to this process."""
        return nullcontext()

    async def secure(self, key: str, parent: str | None) -> None:
        """Do nothing: nobody else writes."""

    async def gave_up(self) -> None:
        """Do nothing: the connection's thread goes on with the next statement."""

    async def _execute(self, sql: str, parameters: tuple[str, ...]) -> None:
        async with self.saver.lock, self.saver.conn.execute(sql, parameters) as cursor:
            await cursor.fetchall()
            await self.saver.conn.commit()


@asynccontextmanager
async def open_sqlite(path: str) -> AsyncIterator[SqliteStore]:
    """Open the file, made when it is not there and for its user alone, and close it.

    Raises:
        MemoryUnavailableError: It cannot be opened, or another process has it open: two of them
            would each answer from a history that misses the other's turns.
    """
    file = Path(path)
    shown = f"the SQLite file {path!r}"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # The log of changes takes over the mode of the file.
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        connection = await aiosqlite.connect(file, timeout=STORE_SECONDS / 5)
    except (OSError, sqlite3.Error) as error:
        raise MemoryUnavailableError(shown, reason(error)) from error
    try:
        try:
            await connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            store = SqliteStore(file, connection)
            await store.saver.setup()
            await store.ping()
        except sqlite3.Error as error:
            problem = reason(error)
            if "locked" in problem:
                problem = "another process has it open, and one file is for one process"
            raise MemoryUnavailableError(shown, problem) from error
        yield store
    finally:
        await asyncio.shield(connection.close())
