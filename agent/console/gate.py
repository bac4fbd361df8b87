"""Pages of everybody's turns: who may see them, and what is said where there are none."""

from __future__ import annotations

from typing import Final

from agent.console.frame import note
from agent.console.sources import Sources
from telemetry.records import RecordReader

NO_OPERATOR: Final = (
    "This page shows everybody's turns. Your key is not among the operators': ask whoever runs "
    "the service to name you in LOOPSCOPE_OPERATORS."
)
NO_RECORDS: Final = (
    "No turn records are kept: the service runs with LOOPSCOPE_RECORDS=off. Set it to a path or a "
    "PostgreSQL URL to fill this page."
)
NO_TURNS: Final = "No turn is recorded yet. Ask a question, and this page fills."


def turns_for(sources: Sources, caller: str) -> RecordReader | None:
    """Return the records that a caller may see; None, with a note drawn that says why, else."""
    if not sources.may_see_turns(caller):
        note(NO_OPERATOR, is_bad=True)
        return None
    if sources.reader is None:
        note(NO_RECORDS)
    return sources.reader
