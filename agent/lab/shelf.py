"""Where runs of the lab are kept: a SQLite file beside the turn records."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agent.beside import FileBeside, ForeignFileError
from agent.errors import KeptRunError
from agent.lab.kept import KeptRun, read_run

HOLDS: Final = "lab"
"""What the file beside the turn records holds."""
MOST: Final = 500
"""Runs kept; the oldest above it are deleted. Chosen by us: a golden set of 1,000 questions takes
0.3 MB a run."""
_RUNS: Final = "runs of the lab"
_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        run TEXT NOT NULL
    )
"""


class Shelf:
    """The kept runs of one file.

    Args:
        path: Of the file; made with the first run.
        most: Runs kept.
    """

    def __init__(self, path: Path, *, most: int = MOST) -> None:
        self.path = path
        self._file = FileBeside(path, table=_TABLE, holds=_RUNS)
        self._most = most

    def put(self, run: KeptRun) -> None:
        """Keep a run, and delete the oldest above the bound.

        Raises:
            FileBesideError: It cannot be written.
        """
        with self._file.opened() as database:
            database.execute(
                "INSERT INTO runs (id, run) VALUES (?, ?)", (run.id, run.model_dump_json())
            )
            database.execute(
                "DELETE FROM runs WHERE number <= (SELECT max(number) FROM runs) - ?", (self._most,)
            )

    def all(self) -> list[KeptRun]:
        """Return every run, newest first; none when none was kept yet.

        Raises:
            FileBesideError: The file cannot be read.
            ForeignFileError: It holds something else, as a later version may have kept it.
        """
        rows = self._file.rows("SELECT id, run FROM runs ORDER BY number DESC")
        try:
            return [read_run(run, id_) for id_, run in rows]
        except KeptRunError as error:
            raise ForeignFileError(_RUNS, self.path, str(error)) from error

    def check(self) -> None:
        """Make sure that a file which is there can be read: measuring may take long.

        Raises:
            FileBesideError: It cannot.
        """
        self._file.rows("SELECT id, run FROM runs LIMIT 0")
