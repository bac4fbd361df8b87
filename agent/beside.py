"""Small SQLite files beside the turn records: verdicts on refusals, kept runs of the lab."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agent.errors import AgentError


class FileBesideError(AgentError):
    """A file beside the turn records cannot be read or written just now."""

    code = "file_beside"
    exit_code = 1

    def __init__(self, holds: str, path: Path, problem: str) -> None:
        super().__init__(
            f"the {holds} cannot be kept: got {problem!r} for {str(path)!r}, expected a SQLite "
            "file that can be written. Check the path and its rights."
        )


class ForeignFileError(FileBesideError):
    """A file where one beside the turn records should be is damaged, or not one of ours."""

    code = "foreign_file"
    exit_code = 2

    def __init__(self, holds: str, path: Path, problem: str) -> None:
        AgentError.__init__(
            self,
            f"the {holds} cannot be read: got {problem!r} for {str(path)!r}, expected a SQLite "
            "file that this version of loopscope wrote. Move it away, or name other records "
            "(--records).",
        )


def path_beside(records: str, holds: str) -> Path:
    """Return where something is kept that belongs to a store of turns: a file beside it.

    Args:
        records: The setting: a path, a `sqlite:///` URL, or that of a PostgreSQL database, whose
            file is in the working directory.
        holds: What the file holds, in a word.
    """
    if records.startswith(("postgres://", "postgresql://")):
        return Path(f"loopscope-turns.{holds}.sqlite")
    path = Path(records.removeprefix("sqlite:///"))
    return path.with_name(f"{path.stem}.{holds}.sqlite")


class FileBeside:
    """One such file, made when it is first opened; for any number of threads and processes.

    Args:
        path: Of the file.
        table: The statement that makes its table where it is missing.
        holds: What it holds, in the plural, for messages.
    """

    def __init__(self, path: Path, *, table: str, holds: str) -> None:
        self.path = path
        self._table = table
        self._holds = holds
        self._lock = threading.Lock()

    def rows(self, query: str) -> list[Any]:
        """Return what a query finds: nothing where no file was made yet, and none is made.

        Raises:
            FileBesideError: It cannot be read, or is none of ours.
        """
        if not self.path.exists():
            return []
        with self.opened() as database:
            return database.execute(query).fetchall()

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file; what the block did is committed at its end, or undone when it raised.

        Raises:
            FileBesideError: It cannot be read or written, or is none of ours.
        """
        with self._lock:
            try:
                database = sqlite3.connect(self.path, timeout=5.0)
                try:
                    with database:
                        database.execute(self._table)
                        yield database
                finally:
                    database.close()
            except sqlite3.Error as error:
                is_foreign = getattr(error, "sqlite_errorcode", 0) & 0xFF in _FOREIGN
                kind = ForeignFileError if is_foreign else FileBesideError
                raise kind(self._holds, self.path, str(error)) from error


_FOREIGN: Final = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)
"""What SQLite says of a file with another content; the last where it has no such column."""
