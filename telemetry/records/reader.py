"""The reader's side of the turn records: one turn, pages of turns, counts, sums and long walks."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from telemetry.errors import (
    RecordsQueryError,
    RecordsUnavailableError,
    RecordsVersionError,
    TelemetryError,
)
from telemetry.records.database import Database, Row, connect, parse_address
from telemetry.records.marks import Mark
from telemetry.records.marks import from_row as mark_from_row
from telemetry.records.record import TurnRecord, first_id
from telemetry.records.schema import COLUMNS, check, from_row, open_migrated
from telemetry.records.selection import ALL_TURNS, Selection, Where

MAX_PAGE: Final = 1_000
"""Turns in one page at most."""
_WALK: Final = 1_000
_ALL: Final = ", ".join(f"turns.{column}" for column in COLUMNS)
_SUMMED: Final = ("rewrites", "llm_calls", "input_tokens", "output_tokens", "duration_seconds")
_PLAIN: Final = frozenset(COLUMNS) - {"attempts", "findings", "nodes", "question", "reply"}


@dataclass(frozen=True, slots=True)
class Page:
    """Some turns, newest first, and where the next page begins."""

    records: tuple[TurnRecord, ...]
    next: str | None
    """`before` of the next page; None on the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Sums over the turns that share a key."""

    key: tuple[str | int | None, ...]
    """Values of the columns grouped by, in their order; then the bucket's start (Unix seconds)."""
    turns: int
    rewrites: int
    llm_calls: int
    input_tokens: int
    output_tokens: int
    duration_seconds: float


class RecordReader:
    """Read-only access; for any number of threads, one query at a time.

    Opened at the first question and again after trouble, so that it may be made before the store.
    Every method may raise `RecordsMissingError`, `RecordsVersionError` or
    `RecordsUnavailableError`.
    """

    def __init__(self, url: str | Path) -> None:
        self.address = parse_address(url)
        self._reset()
        reset = weakref.WeakMethod(self._reset)
        os.register_at_fork(after_in_child=lambda: (method := reset()) and method())

    def _reset(self) -> None:
        # In a forked child the parent's connection is kept but never used or closed.
        self._inherited = getattr(self, "_database", None)
        self._lock = threading.Lock()
        self._database: Database | None = None

    def get(self, record_id: str) -> TurnRecord | None:
        """Return one turn, or None when it is not (or no longer) kept."""
        rows = self._query(f"SELECT {_ALL} FROM turns WHERE id = ?", (record_id,))
        return from_row(rows[0]) if rows else None

    def list(
        self,
        selection: Selection = ALL_TURNS,
        *,
        before: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Return the newest turns of a selection.

        Args:
            selection: Which turns.
            before: `Page.next` of the page before; None for the first page.
            limit: Turns in the page, 1 to 1,000.
        """
        if not 1 <= limit <= MAX_PAGE:
            raise RecordsQueryError("a page of", limit, (f"1 to {MAX_PAGE}",))
        where = Where(selection)
        if before is not None:
            where.add(f"{where.id} < ?", before)
        rows = self._query(
            f"SELECT {_ALL} {where.sql} ORDER BY {where.id} DESC LIMIT ?",
            (*where.parameters, limit + 1),
        )
        records = tuple(from_row(row) for row in rows[:limit])
        return Page(records, records[-1].id if len(rows) > limit else None)

    def count(self, selection: Selection = ALL_TURNS) -> int:
        """Return how many turns there are."""
        where = Where(selection)
        return int(self._query(f"SELECT COUNT(*) {where.sql}", where.parameters)[0][0])

    def aggregate(
        self,
        by: Sequence[str],
        selection: Selection = ALL_TURNS,
        *,
        bucket_seconds: int | None = None,
    ) -> tuple[Group, ...]:
        """Return sums for each combination of values, ordered by key.

        Args:
            by: Columns of `turns` without text, or `finding` (a turn then counts once for each).
            selection: Which turns.
            bucket_seconds: Also group by when the turn began, in steps of this many seconds.

        Raises:
            RecordsQueryError: A column that cannot be grouped by.
        """
        where = Where(selection, join_findings="finding" in by)
        keys = [_column(name, {"finding"}) for name in by]
        if bucket_seconds is not None:
            step = max(int(bucket_seconds), 1)
            keys.append(f"turns.started_ms / {1000 * step} * {step}")
        sums = [f"COALESCE(SUM(turns.{number}), 0)" for number in _SUMMED]
        grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
        rows = self._query(
            f"SELECT {', '.join([*keys, 'COUNT(*)', *sums])} {where.sql}{grouping}",
            where.parameters,
        )
        groups = [_group(row, len(keys)) for row in rows]
        return tuple(sorted(groups, key=lambda group: [(v is not None, v) for v in group.key]))

    def sums(self, columns: Sequence[str], selection: Selection = ALL_TURNS) -> tuple[int, ...]:
        """Return the sum of each of some columns of whole numbers; what is not known counts 0.

        Raises:
            RecordsQueryError: A column that does not exist or holds text.
        """
        where = Where(selection)
        wanted = ", ".join(f"COALESCE(SUM({_column(name)}), 0)" for name in columns)
        row = self._query(f"SELECT {wanted} {where.sql}", where.parameters)[0]
        return tuple(int(value) for value in row)

    def columns(
        self,
        names: Sequence[str],
        selection: Selection = ALL_TURNS,
    ) -> tuple[Row, ...]:
        """Return some columns of every turn of a selection, oldest first, for statistics.

        Raises:
            RecordsQueryError: A column that does not exist or holds text.
        """
        where = Where(selection)
        wanted = ", ".join(_column(name) for name in names)
        sql = f"SELECT {wanted} {where.sql} ORDER BY {where.id}"
        return tuple(tuple(row) for row in self._query(sql, where.parameters))

    def walk(
        self,
        selection: Selection = ALL_TURNS,
    ) -> Iterator[TurnRecord]:
        """Yield every turn of a selection, oldest first, a thousand in memory at a time."""
        after = ""
        while True:
            where = Where(selection)
            where.add(f"{where.id} > ?", after)
            rows = self._query(
                f"SELECT {_ALL} {where.sql} ORDER BY {where.id} LIMIT ?",
                (*where.parameters, _WALK),
            )
            yield from map(from_row, rows)
            if len(rows) < _WALK:
                return
            after = rows[-1][0]

    def marks(self, *, since: float = 0.0, until: float) -> tuple[Mark, ...]:
        """Return what people marked, oldest first.

        Args:
            since: Unix time, seconds; marks of then or later.
            until: Unix time, seconds; marks of before or then.
        """
        rows = self._query(
            "SELECT id, at_ms, what, tags FROM marks WHERE id >= ? AND at_ms <= ? ORDER BY id",
            (first_id(since), round(until * 1000)),
        )
        return tuple(map(mark_from_row, rows))

    def close(self) -> None:
        """Close the connection; the next question opens it again."""
        with self._lock:
            self._forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _query(self, sql: str, parameters: Sequence[object]) -> Sequence[Row]:
        with self._lock:
            is_old = self._database is not None
            try:
                return self._open().execute(sql, parameters)
            except RecordsUnavailableError:
                self._forget()
                if not is_old:
                    raise
            # The connection was lost since the last question: once more with a new one.
            return self._open().execute(sql, parameters)

    def _open(self) -> Database:
        if self._database is not None and self._database.is_moved:
            self._forget()
        if self._database is None:
            database = connect(self.address, read_only=True)
            try:
                self._check(database)
            except TelemetryError:
                database.close()
                raise
            self._database = database
        return self._database

    def _check(self, database: Database) -> None:
        """Make sure that the store can be read; bring an older one up to date, if it may be."""
        try:
            check(database)
        except RecordsVersionError as error:
            if error.got > error.expected:
                raise
            with contextlib.suppress(RecordsUnavailableError):  # not ours to write: said below
                open_migrated(self.address).close()
            check(database)

    def _forget(self) -> None:
        if self._database is not None:
            with contextlib.suppress(TelemetryError):
                self._database.close()
            self._database = None


def open_reader(url: str | Path) -> RecordReader:
    """Return a reader of the store at a path, `sqlite:///PATH` or `postgresql://...`.

    Raises:
        RecordsUrlError: The address is of no known kind, or its driver is not installed.
    """
    return RecordReader(url)


def _column(name: str, also: Collection[str] = ()) -> str:
    if name == "finding" and name in also:
        return "turn_findings.detector"
    if name not in _PLAIN:
        raise RecordsQueryError("the column", name, {*_PLAIN, *also})
    return f"turns.{name}"


def _group(row: Row, keys: int) -> Group:
    turns, rewrites, llm_calls, input_tokens, output_tokens, duration_seconds = row[keys:]
    return Group(
        key=tuple(row[:keys]),
        turns=int(turns),
        rewrites=int(rewrites),
        llm_calls=int(llm_calls),
        input_tokens=int(input_tokens),
        output_tokens=int(output_tokens),
        duration_seconds=float(duration_seconds),
    )
