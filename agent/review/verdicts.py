"""What people said of refusals, kept in a SQLite file beside the turn records."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from agent.beside import FileBeside

HOLDS: Final = "verdicts"
"""What the file beside the turn records holds."""
Judgement = Literal["right", "wrong"]
"""Of the refusal: `wrong` means that the question was on topic."""
_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS verdicts (
        turn_id TEXT PRIMARY KEY,
        judgement TEXT NOT NULL CHECK (judgement IN ('right', 'wrong')),
        is_sure INTEGER NOT NULL,
        question TEXT,
        judged_at REAL NOT NULL,
        judged_by TEXT NOT NULL
    )
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was said of one refusal."""

    turn_id: str
    judgement: Judgement
    is_sure: bool
    """Whether the topic check had more than LOW confidence."""
    question: str | None
    """None when its words were not captured."""
    judged_at: float
    """Unix time, seconds."""
    judged_by: str
    """A caller of the service, or the user of the command."""


class Verdicts:
    """The verdicts of one file; for any number of threads.

    Args:
        path: Of the file; made with the first verdict.
    """

    def __init__(self, path: Path) -> None:
        self._file = FileBeside(path, table=_TABLE, holds=HOLDS)

    def put(self, verdict: Verdict) -> None:
        """Keep a verdict; a later one on the same turn takes its place.

        Raises:
            FileBesideError: It cannot be written.
        """
        with self._file.opened() as database:
            database.execute(
                "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?, ?)",
                (
                    verdict.turn_id,
                    verdict.judgement,
                    verdict.is_sure,
                    verdict.question,
                    verdict.judged_at,
                    verdict.judged_by,
                ),
            )

    def remove(self, turn_id: str) -> None:
        """Take a verdict back.

        Raises:
            FileBesideError: It cannot be removed.
        """
        with self._file.opened() as database:
            database.execute("DELETE FROM verdicts WHERE turn_id = ?", (turn_id,))

    def all(self) -> list[Verdict]:
        """Return every verdict, oldest first; none when nobody judged yet.

        Raises:
            FileBesideError: The file cannot be read.
        """
        rows = self._file.rows("SELECT * FROM verdicts ORDER BY judged_at, turn_id")
        return [
            Verdict(
                turn_id=turn_id, judgement=judgement, is_sure=bool(is_sure), question=question,
                judged_at=judged_at, judged_by=judged_by,
            )
            for turn_id, judgement, is_sure, question, judged_at, judged_by in rows
        ]  # fmt: skip


def verdict_on(
    turn_id: str, judgement: Judgement, *, is_sure: bool, question: str | None, by: str
) -> Verdict:
    """Return a verdict given now."""
    return Verdict(
        turn_id=turn_id,
        judgement=judgement,
        is_sure=is_sure,
        question=question,
        judged_at=time.time(),
        judged_by=by,
    )
