"""Notes: small texts that the service keeps beside conversations, each for a bounded time.

A store that several processes share shares its notes too, so that what one of them noted is found
by all.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from agent.memory.store import Store, within

MAX_NOTES: Final = 20_000
MAX_CHARS: Final = 8_000_000
"""Of one kind in one process; chosen by us: 10,000 answered turns with two notes each take a half
of that, and of replies it holds about 3,000."""

TABLE: Final = """
    CREATE TABLE IF NOT EXISTS loopscope_notes (
        kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
        until DOUBLE PRECISION NOT NULL, PRIMARY KEY (kind, name)
    )
"""
INDEX: Final = "CREATE INDEX IF NOT EXISTS loopscope_notes_until ON loopscope_notes (until)"
_REPLACE: Final = """
    INSERT INTO loopscope_notes (kind, name, value, until) VALUES {rows}
    ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, until = excluded.until
"""
_ADD: Final = f"{_REPLACE} WHERE loopscope_notes.until <= ? RETURNING 1".format(rows="(?, ?, ?, ?)")
_FIND: Final = "SELECT value FROM loopscope_notes WHERE kind = ? AND name = ? AND until > ?"
_REMOVE: Final = "DELETE FROM loopscope_notes WHERE kind = ? AND name = ?"
_SWEEP: Final = "DELETE FROM loopscope_notes WHERE until <= ?"

Execute = Callable[[str, Sequence[object]], Awaitable[list[Any]]]
"""Runs a statement with `?` for each parameter, commits it, and returns its rows as sequences."""


class LocalNotes:
    """Notes of this process; of each kind the oldest are forgotten first.

    Args:
        max_notes: Of one kind.
        max_chars: Of the values of one kind.
    """

    is_shared = False

    def __init__(self, max_notes: int = MAX_NOTES, max_chars: int = MAX_CHARS) -> None:
        self._max_notes = max_notes
        self._max_chars = max_chars
        self._kinds: dict[str, OrderedDict[str, tuple[str, float]]] = {}
        self._chars: dict[str, int] = {}

    async def add(self, kind: str, name: str, value: str, until: float, now: float) -> bool:
        """Keep a note unless one of its name is there."""
        if await self.find(kind, name, now) is not None:
            return False
        await self.put(kind, {name: value}, until)
        return True

    async def put(self, kind: str, values: Mapping[str, str], until: float) -> None:
        """Keep notes, the newest of their kind."""
        notes = self._of(kind)
        for name, value in values.items():
            await self.remove(kind, name)
            notes[name] = value, until
            self._chars[kind] = self._chars.get(kind, 0) + len(value)
        while len(notes) > self._max_notes or self._chars[kind] > self._max_chars:
            await self.remove(kind, next(iter(notes)))

    async def find(self, kind: str, name: str, now: float) -> str | None:
        """Return a note."""
        value, until = self._of(kind).get(name, ("", now))
        return value if until > now else None

    async def remove(self, kind: str, name: str) -> None:
        """Forget a note."""
        value, _ = self._of(kind).pop(name, ("", 0.0))
        self._chars[kind] = self._chars.get(kind, 0) - len(value)

    async def sweep(self, now: float) -> None:
        """Forget every note whose time is over."""
        for kind, notes in self._kinds.items():
            for name in [name for name, (_, until) in notes.items() if until <= now]:
                await self.remove(kind, name)

    def _of(self, kind: str) -> OrderedDict[str, tuple[str, float]]:
        return self._kinds.setdefault(kind, OrderedDict())


class SqlNotes:
    """Notes in a table of SQLite or PostgreSQL, which both understand these statements.

    Args:
        execute: Runs one.
    """

    is_shared = True

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    async def setup(self) -> None:
        """Create the table."""
        for statement in (TABLE, INDEX):
            await self._execute(statement, ())

    async def add(self, kind: str, name: str, value: str, until: float, now: float) -> bool:
        """Keep a note unless one of its name is there; one of two at once is kept."""
        return bool(await self._execute(_ADD, (kind, name, value, until, now)))

    async def put(self, kind: str, values: Mapping[str, str], until: float) -> None:
        """Keep notes in place of those of the same names."""
        rows = ", ".join(["(?, ?, ?, ?)"] * len(values))
        told = [part for name, value in values.items() for part in (kind, name, value, until)]
        await self._execute(_REPLACE.format(rows=rows), told)

    async def find(self, kind: str, name: str, now: float) -> str | None:
        """Return a note."""
        rows = await self._execute(_FIND, (kind, name, now))
        return str(rows[0][0]) if rows else None

    async def remove(self, kind: str, name: str) -> None:
        """Forget a note."""
        await self._execute(_REMOVE, (kind, name))

    async def sweep(self, now: float) -> None:
        """Forget every note whose time is over."""
        await self._execute(_SWEEP, (now,))


class Notes:
    """The notes of one kind, by their caller and what the caller knows them by.

    Every method raises `MemoryUnavailableError` when the store does not answer.

    Args:
        store: Where they are kept.
        kind: Keeps them apart from others.
        seconds: How long each is kept.
        clock: Unix time, seconds.
    """

    def __init__(
        self, store: Store, kind: str, seconds: float, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._kind = kind
        self.seconds = seconds
        self._clock = clock

    @property
    def is_shared(self) -> bool:
        """Whether other processes find them."""
        return self._store.notes.is_shared

    async def add(self, caller: str, id_: str, value: str, *, seconds: float | None = None) -> bool:
        """Keep a note unless one of its name is there; return whether it was kept.

        Args:
            caller: Whose it is.
            id_: What the caller knows it by.
            value: The note.
            seconds: How long it is kept, if not as long as all.
        """
        now = self._clock()
        until = now + (self.seconds if seconds is None else seconds)
        work = self._store.notes.add(self._kind, _name(caller, id_), value, until, now)
        return await within(self._store, work)

    async def put(self, caller: str, values: Mapping[str, str]) -> None:
        """Keep notes in place of those that the caller knows by the same ids."""
        named = {_name(caller, id_): value for id_, value in values.items()}
        until = self._clock() + self.seconds
        await within(self._store, self._store.notes.put(self._kind, named, until))

    async def find(self, caller: str, id_: str) -> str | None:
        """Return a note."""
        work = self._store.notes.find(self._kind, _name(caller, id_), self._clock())
        return await within(self._store, work)

    async def remove(self, caller: str, id_: str) -> None:
        """Forget a note."""
        await within(self._store, self._store.notes.remove(self._kind, _name(caller, id_)))


def _name(caller: str, id_: str) -> str:
    """Return the name of a note: a hash, so that a table shows neither callers nor their ids."""
    return hashlib.sha256(json.dumps([caller, id_]).encode()).hexdigest()
