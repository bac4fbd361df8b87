"""Conversations in PostgreSQL, shared by any number of replicas.

One session a replica does everything: it holds the advisory locks of the turns under way, and it
reads and writes their checkpoints. So a lock that is lost, since the session broke, cannot be
followed by a write that relies on it: a new session first takes the lock again and looks whether
the conversation went on meanwhile.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import psycopg
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row

from agent.errors import SettingsError
from agent.memory.errors import MemoryUnavailableError
from agent.memory.notes import SqlNotes
from agent.memory.store import STORE_SECONDS, Size, reason, strict_serializer, taken, to_its_end

SETUP_SECONDS: Final = 30.0
"""Longest wait for another replica that creates the tables; chosen by us: it takes about one."""

_PRUNE: Final = """
    WITH older AS (DELETE FROM checkpoints WHERE thread_id = %s AND checkpoint_id <> %s)
    DELETE FROM checkpoint_blobs AS blob USING checkpoints AS kept
    WHERE kept.thread_id = %s AND kept.checkpoint_id = %s AND blob.thread_id = kept.thread_id
    AND blob.version IS DISTINCT FROM kept.checkpoint -> 'channel_versions' ->> blob.channel
"""
_SIZE: Final = """
    SELECT count(DISTINCT thread_id) AS conversations,
    pg_total_relation_size('checkpoints') + pg_total_relation_size('checkpoint_blobs') AS bytes
    FROM checkpoints
"""
_SILENT: Final = """
    SELECT thread_id FROM checkpoints GROUP BY thread_id HAVING max(checkpoint_id) < %s LIMIT %s
"""


class Session(AsyncConnection[DictRow]):
    """A session that ends with a statement that is cut.

    Whoever used it next would get what the database still says of that one. It ends before the
    lock of the checkpointer is let go, so that nobody uses it meanwhile either.
    """

    async def wait(self, gen: PQGen[RV], *args: Any, **kwargs: Any) -> RV:
        """Wait for the database; the arguments are those of the driver's release."""
        try:
            return await super().wait(gen, *args, **kwargs)
        except asyncio.CancelledError:
            await self.close()
            raise


class PostgresStore:
    """Checkpoints in a database, and the locks of one replica.

    Args:
        url: With the password.
        session: Open.
    """

    errors = (psycopg.Error, TimeoutError)

    def __init__(self, url: str, session: Session) -> None:
        self.shown = _shown(url)
        self.saver = AsyncPostgresSaver(session, serde=strict_serializer())
        self.notes = SqlNotes(self._noted)
        self._url = url
        self._session = session
        self._doubtful: Session | None = None
        self._holders: dict[str, Session] = {}
        """Threads with a turn under way here, and the session that locked each of them."""

    async def setup(self) -> None:
        """Create the tables, one replica at a time.

        Raises:
            ConversationBusyError: Another replica took longer than `SETUP_SECONDS` to do so.
        """
        # Asked for again and again: who waits inside PostgreSQL for the lock is in turn waited for
        # by the other replica's CREATE INDEX CONCURRENTLY, a deadlock.
        async with self.locked("the tables", time.monotonic() + SETUP_SECONDS):
            await self.saver.setup()
            await self.notes.setup()

    async def size(self) -> Size:
        """Count the threads; the bytes are those of the tables with their indexes."""
        found = (await self._execute(_SIZE))[0]
        return Size(conversations=found["conversations"], bytes=found["bytes"])

    async def silent(self, before: str, limit: int) -> list[str]:
        """Read the threads whose newest checkpoint is older."""
        return [str(row["thread_id"]) for row in await self._execute(_SILENT, before, limit)]

    async def close(self) -> None:
        """End the session, and with it every lock."""
        await self._session.close()

    async def prune(self, key: str, kept: str) -> None:
        """Remove a thread's older checkpoints.

        The checkpointer's own `aprune` looks at every case that LangGraph knows, in a transaction
        of ten statements; here are no subgraphs, and nobody else writes to the thread.
        """
        await self._execute(_PRUNE, key, kept, key, kept)

    async def ping(self) -> None:
        """Run one statement, in a new session when the old one broke."""
        await self._alive()

    @asynccontextmanager
    async def locked(self, key: str, until: float) -> AsyncIterator[None]:
        """Hold the thread's advisory lock.

        Raises:
            ConversationBusyError: Another replica held it until then.
            MemoryUnavailableError: The database does not answer.
        """
        try:
            try:
                await to_its_end(self._alive())
                await taken(lambda: to_its_end(self._try_lock(key)), until)
            except self.errors as error:
                raise MemoryUnavailableError(self.shown, reason(error)) from error
            yield
        finally:
            await to_its_end(self._unlock(key))

    async def secure(self, key: str, parent: str | None) -> None:
        """Make sure that the lock was held since the turn began, or that nobody wrote.

        Raises:
            psycopg.OperationalError: Another replica went on with the conversation.
        """
        if self._holders.get(key) is await self._alive():
            return
        latest = "SELECT max(checkpoint_id) AS id FROM checkpoints WHERE thread_id = %s"
        if not await self._try_lock(key) or (await self._execute(latest, key))[0]["id"] != parent:
            raise psycopg.OperationalError("another replica went on with the conversation")

    async def gave_up(self) -> None:
        """Do nothing: the session ended with the statement, see `Session`."""

    async def _alive(self) -> Session:
        """Return a session that has just answered: the old one, or a new one."""
        before = self._session
        if before is not self._doubtful:
            try:
                await self._execute("SELECT 1")
                return self._session
            except (psycopg.OperationalError, TimeoutError):
                pass
        async with self.saver.lock:
            if self._session is before:  # else another turn made a new one meanwhile
                await before.close()
                self._session = self.saver.conn = await _connect(self._url)
        return self._session

    async def _try_lock(self, key: str) -> bool:
        session, rows = await self._run("SELECT pg_try_advisory_lock(%s) AS got", _number(key))
        if rows[0]["got"]:
            self._holders[key] = session
        return bool(rows[0]["got"])

    async def _unlock(self, key: str) -> None:
        if self._holders.pop(key, None) is self._session and not self._session.closed:
            try:
                await self._execute("SELECT pg_advisory_unlock(%s)", _number(key))
            except self.errors:  # the lock goes with the session, at its next use
                self._doubtful = self._session

    async def _noted(self, sql: str, parameters: Sequence[object]) -> list[list[Any]]:
        """Run a statement of the notes; once more in a new session when the old one broke."""
        native = sql.replace("?", "%s")
        if self._session is self._doubtful:
            await self._alive()
        try:
            rows = await self._execute(native, *parameters)
        except psycopg.OperationalError:
            await self._alive()
            rows = await self._execute(native, *parameters)
        return [list(row.values()) for row in rows]

    async def _execute(self, sql: str, *parameters: object) -> list[DictRow]:
        """Run a statement and return its rows."""
        return (await self._run(sql, *parameters))[1]

    async def _run(self, sql: str, *parameters: object) -> tuple[Session, list[DictRow]]:
        """Run a statement while the checkpointer is not using the session; say in which one."""
        async with asyncio.timeout(STORE_SECONDS), self.saver.lock:
            session = self._session
            cursor = await session.execute(sql.encode(), parameters)
            return session, await cursor.fetchall() if cursor.description is not None else []


@asynccontextmanager
async def open_postgres(url: str) -> AsyncIterator[PostgresStore]:
    """Open a session, create the tables when they are not there, and close the session.

    Raises:
        SettingsError: The URL makes no sense.
        MemoryUnavailableError: The database cannot be reached.
    """
    shown = _shown(url)
    try:
        session = await _connect(url)
    except psycopg.Error as error:
        raise MemoryUnavailableError(shown, reason(error)) from error
    store = PostgresStore(url, session)
    try:
        try:
            await store.setup()
        except psycopg.Error as error:
            raise MemoryUnavailableError(shown, reason(error)) from error
        yield store
    finally:
        await asyncio.shield(store.close())


async def _connect(url: str) -> Session:
    return await Session.connect(
        url,
        autocommit=True,
        prepare_threshold=0,
        row_factory=dict_row,
        connect_timeout=int(STORE_SECONDS),
        application_name="loopscope memory",
    )


def _shown(url: str) -> str:
    """Name the database without user, password and options.

    Raises:
        SettingsError: The URL makes no sense.
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise SettingsError(
            ["memory got a PostgreSQL URL that cannot be read, expected: "
             "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"]
        ) from None  # fmt: skip
    port = f":{parts['port']}" if "port" in parts else ""
    return f"postgresql://{parts.get('host', '')}{port}/{parts.get('dbname', '')}"


def _number(key: str) -> int:
    """Return the advisory lock of a thread: 64 bits of its key's hash."""
    digest = hashlib.sha256(b"loopscope turn " + key.encode()).digest()
    return int.from_bytes(digest[:8], signed=True)
