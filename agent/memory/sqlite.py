"""Conversations in a SQLite file, shared by any number of processes of one machine."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent.memory.errors import MemoryUnavailableError
from agent.memory.file_locks import FileLocks
from agent.memory.notes import SqlNotes
from agent.memory.store import STORE_SECONDS, Size, reason, strict_serializer, taken

WRITER_SECONDS: Final = 4.0
"""Longest wait for other processes that write; chosen by us: one takes milliseconds, but SQLite
serves those who wait in no order."""
_SIZE: Final = """
    SELECT (SELECT count(DISTINCT thread_id) FROM checkpoints), page_count * page_size
    FROM pragma_page_count(), pragma_page_size()
"""
_SILENT: Final = """
    SELECT thread_id FROM checkpoints GROUP BY thread_id HAVING max(checkpoint_id) < ? LIMIT ?
"""


class SqliteStore:
    """Checkpoints in a file.

    Args:
        path: Of the file, for messages.
        connection: Open.
        locks: Of the turns under way in all processes.
    """

    errors = (sqlite3.Error,)

    def __init__(self, path: Path, connection: aiosqlite.Connection, locks: FileLocks) -> None:
        self.shown = f"the SQLite file {str(path)!r}"
        self.saver = AsyncSqliteSaver(connection, serde=strict_serializer())
        self.notes = SqlNotes(self._execute)
        self._locks = locks

    async def setup(self) -> None:
        """Create the tables, one process at a time: SQLite itself waits for no such change.

        Raises:
            ConversationBusyError: Another process took longer than `STORE_SECONDS` to do so.
        """
        async with self.locked("the tables", time.monotonic() + STORE_SECONDS):
            await self.saver.setup()
            await self.notes.setup()

    async def size(self) -> Size:
        """Count the threads; the bytes are those of the file."""
        rows = await self._execute(_SIZE, ())
        return Size(conversations=rows[0][0], bytes=rows[0][1])

    async def silent(self, before: str, limit: int) -> list[str]:
        """Read the threads whose newest checkpoint is older."""
        return [row[0] for row in await self._execute(_SILENT, (before, limit))]

    async def prune(self, key: str, kept: str) -> None:
        """Remove a thread's older checkpoints."""
        await self._execute(
            "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_id <> ?", (key, kept)
        )

    async def ping(self) -> None:
        """Read one value."""
        await self._execute("SELECT count(*) FROM sqlite_master", ())

    @asynccontextmanager
    async def locked(self, key: str, until: float) -> AsyncIterator[None]:
        """Hold the thread's lock.

        Raises:
            ConversationBusyError: Another process held it until then.
            MemoryUnavailableError: The system has no locks for this file.
        """
        try:
            await taken(lambda: self._locks.take(key), until)
        except OSError as error:
            raise MemoryUnavailableError(self.shown, reason(error)) from error
        try:
            yield
        finally:
            self._locks.give_back(key)

    async def secure(self, key: str, parent: str | None) -> None:
        """Do nothing: a lock is held as long as its process runs."""

    async def gave_up(self) -> None:
        """Do nothing: the connection's thread goes on with the next statement."""

    async def _execute(self, sql: str, parameters: Sequence[object]) -> list[Any]:
        """Run a statement, commit what it changed, and return its rows."""
        async with self.saver.lock, self.saver.conn.execute(sql, parameters) as cursor:
            rows = list(await cursor.fetchall())
            await self.saver.conn.commit()
            return rows


@asynccontextmanager
async def open_sqlite(path: str) -> AsyncIterator[SqliteStore]:
    """Open the file, made when it is not there and for its user alone, and close it.

    Its locks are in a file beside it, whose name ends in `-locks`.

    Raises:
        MemoryUnavailableError: It cannot be opened.
    """
    file = Path(path)
    shown = f"the SQLite file {path!r}"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # The log of changes takes over the mode of the file.
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        locks = FileLocks(file.resolve().with_name(f"{file.resolve().name}-locks"))
    except OSError as error:
        raise MemoryUnavailableError(shown, reason(error)) from error
    connection = aiosqlite.connect(file, timeout=WRITER_SECONDS)
    try:
        try:
            store = SqliteStore(file, await connection, locks)
            await store.setup()
            await store.ping()
        except sqlite3.Error as error:
            raise MemoryUnavailableError(shown, reason(error)) from error
        yield store
    finally:
        await asyncio.shield(connection.close())
        locks.close()
