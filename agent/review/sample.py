"""Which refused turns a person is shown: every unsure one, and a share of the others."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from telemetry.records import RecordReader, Selection, TurnRecord

SHARE: Final = 0.1
"""Share of the refusals with more than LOW confidence that are shown; chosen by us: the unsure
ones hold most of the errors, the others are too many to read."""
UNSURE: Final = "low"
"""Confidence of which every refusal is shown."""
MAX_READ: Final = 1_000
"""Refusals that one look reads at most, the newest; keeps the page fast on any store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refused turn that was chosen, and how likely it was to be."""

    record: TurnRecord
    is_sure: bool
    """Whether it stands for the refusals with more than LOW confidence."""


def is_chosen(record_id: str, confidence: str | None, share: float = SHARE) -> bool:
    """Return whether a refusal is shown; always the same answer for the same turn.

    Args:
        record_id: Of the turn; its hash decides, so that nobody can choose.
        confidence: Of the topic check.
        share: Of the sure ones that are shown, 0 to 1.
    """
    if confidence == UNSURE:
        return True
    drawn = int.from_bytes(sha256(record_id.encode()).digest()[:8], "big") / 2**64
    return drawn < share


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The chosen refusals, and of how many turns they are a sample."""

    refusals: tuple[Refusal, ...]
    """The newest first."""
    turns: int
    """All turns of the time that was looked at."""
    unsure: int
    """Its refusals with LOW confidence."""
    sure: int
    """Its other refusals."""


def sample(reader: RecordReader, *, share: float = SHARE) -> Sample:
    """Return the chosen ones of the newest `MAX_READ` refusals.

    Args:
        reader: Of the turn records.
        share: Of the sure ones that are shown, 0 to 1.

    Raises:
        TelemetryError: The records cannot be read.
    """
    page = reader.list(Selection(outcome="off_topic"), limit=MAX_READ)
    since = page.records[-1].started_at if page.next is not None else None
    unsure = sum(record.confidence == UNSURE for record in page.records)
    return Sample(
        refusals=tuple(
            Refusal(record=record, is_sure=record.confidence != UNSURE)
            for record in page.records
            if is_chosen(record.id, record.confidence, share)
        ),
        turns=reader.count(Selection(since=since)),
        unsure=unsure,
        sure=len(page.records) - unsure,
    )
