"""One connection to the record store: SQLite by path, PostgreSQL by URL, the same SQL for both.

The two differ in four things only, all of them here: how a connection is opened, the placeholder
of a parameter, how a writer begins a transaction, and which errors they raise. Column types are
chosen so that one statement means the same to both.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlsplit, urlunsplit

from telemetry.errors import (
    RecordsForeignError,
    RecordsMissingError,
    RecordsUnavailableError,
    RecordsUrlError,
)

Row: TypeAlias = Sequence[Any]

WAIT_SECONDS: Final = 2.0
"""How long another writer's lock is waited for; then the batch is held back and tried again."""
CONNECT_SECONDS: Final = 5
"""How long a PostgreSQL server may take to accept a connection."""
_LOCK_KEY: Final = 7_011_967
"""Advisory lock under which replicas create the PostgreSQL schema; any number only we use."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the records are kept."""

    url: str
    """As given for SQLite; without the password for PostgreSQL. Safe to print."""
    path: Path | None
    """The SQLite file; None for PostgreSQL."""
    dsn: str | None
    """The PostgreSQL URL, password included; None for SQLite."""


def parse_address(url: str | Path) -> Address:
    """Read a path, `sqlite:///PATH` (four slashes for an absolute one) or `postgresql://...`.

    Raises:
        RecordsUrlError: It is none of these, or the PostgreSQL driver is not installed.
    """
    text = str(url)
    scheme, separator, rest = text.partition("://")
    if not separator:
        if not text:
            raise RecordsUrlError("no address of a record store", text, "Give a file name.")
        return Address(text, Path(text), None)
    if scheme == "sqlite":
        path = rest.removeprefix("/")
        if not rest.startswith("/") or not path:
            raise RecordsUrlError(
                "a SQLite address without a file", text, "Write three slashes, then the path."
            )
        return Address(text, Path(path), None)
    if scheme in {"postgresql", "postgres"}:
        _require_driver(_without_password(text))
        return Address(_without_password(text), None, text)
    raise RecordsUrlError("unknown kind of record store", _without_password(text), "Use one.")


def _require_driver(shown: str) -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise RecordsUrlError(
            "PostgreSQL without its driver", shown, "Run `pip install 'loopscope[postgres]'`."
        ) from error


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    netloc = f"{user.partition(':')[0]}{at}{host}"
    # A query can hold `password=` too.
    return urlunsplit((parts.scheme, netloc, parts.path, "", ""))


class Database:
    """An open connection. Not for two threads at once.

    Every error of the driver becomes `RecordsUnavailableError`, which never quotes a value.

    Args:
        address: What is open.
        raw: The driver's connection.
        errors: The driver's errors.
        of_values: Those of them about values.
    """

    def __init__(
        self,
        address: Address,
        raw: Any,
        errors: tuple[type[Exception], ...],
        of_values: type[Exception],
    ) -> None:
        self.address = address
        self._raw = raw
        self._errors = errors
        self._of_values = of_values
        self._file = _file(address)

    @property
    def is_moved(self) -> bool:
        """Whether another file, or none, is now where this SQLite store was opened."""
        return _file(self.address) != self._file

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement with `?` placeholders and return its rows."""
        with self._translated():
            cursor = self._raw.execute(self._native(sql), parameters)
            return cursor.fetchall() if cursor.description is not None else []

    def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Run one statement for each row.

        Raises:
            ValueError: A row holds a value that no column takes: no other try helps.
            RecordsUnavailableError: The store cannot be written.
        """
        with self._translated():
            try:
                self._raw.cursor().executemany(self._native(sql), rows)
            except (self._of_values, OverflowError) as error:
                raise ValueError(f"a value that no column takes ({type(error).__name__})") from None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction that takes the write lock at its start."""
        self.execute("BEGIN IMMEDIATE" if self.address.path else "BEGIN")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            with self._translated():
                self._raw.rollback()
            raise

    def lock_schema(self) -> None:
        """Let one replica at a time change the schema; SQLite's write lock does so already."""
        if self.address.path is None:
            self.execute("SELECT pg_advisory_xact_lock(?)", (_LOCK_KEY,))

    def has_table(self, name: str) -> bool:
        """Whether the store holds the table."""
        if self.address.path is None:
            return self.execute("SELECT to_regclass(?)", (name,))[0][0] is not None
        sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return bool(self.execute(sql, (name,)))

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        with self._translated():
            self._raw.close()

    def _native(self, sql: str) -> str:
        return sql if self.address.path else sql.replace("?", "%s")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise _unavailable(self.address, error) from error


def _file(address: Address) -> tuple[int, int] | None:
    """Return what tells the file of a SQLite store from any other; None where there is none."""
    try:
        found = address.path.stat() if address.path else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None


def _unavailable(address: Address, error: Exception) -> RecordsUnavailableError:
    """Return what a driver's error means: what SQLite cannot read today it cannot read tomorrow."""
    is_foreign = getattr(error, "sqlite_errorcode", 0) & _PRIMARY in _FOREIGN
    kind = RecordsForeignError if is_foreign else RecordsUnavailableError
    return kind(address.url, _reason(error))


_FOREIGN: Final = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_PRIMARY: Final = 0xFF
"""Of a result code of SQLite; the bits above tell kinds of it."""


def _reason(error: Exception) -> str:
    """First line of a driver's message: the further ones of PostgreSQL quote values."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def connect(address: Address, *, read_only: bool = False) -> Database:
    """Open the store; a writer creates the SQLite file, for its user alone.

    Raises:
        RecordsMissingError: `read_only` and there is no such file.
        RecordsUnavailableError: It cannot be opened.
    """
    if address.path is None:
        return _connect_postgres(address, read_only)
    if read_only and not address.path.exists():
        raise RecordsMissingError(address.url)
    try:
        raw = _connect_sqlite(address.path, read_only)
    except (OSError, sqlite3.Error) as error:
        raise _unavailable(address, error) from error
    return Database(address, raw, (sqlite3.Error,), sqlite3.DataError)


def _connect_sqlite(path: Path, read_only: bool) -> sqlite3.Connection:
    if not read_only:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The WAL and its index take over the mode of the database file.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    mode = "ro" if read_only else "rw"
    raw = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        if not read_only:
            raw.execute("PRAGMA journal_mode = WAL")
            # A kill loses nothing that was committed; a power cut may lose the last commits.
            raw.execute("PRAGMA synchronous = NORMAL")
            raw.execute("PRAGMA journal_size_limit = 16777216")
    except sqlite3.Error:
        raw.close()
        raise
    return raw


def _connect_postgres(address: Address, read_only: bool) -> Database:
    import psycopg

    try:
        raw = psycopg.connect(
            address.dsn or "",
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="loopscope",
        )
        if read_only:
            raw.execute("SET default_transaction_read_only = on")
    except psycopg.Error as error:
        raise _unavailable(address, error) from error
    return Database(address, raw, (psycopg.Error,), psycopg.DataError)
