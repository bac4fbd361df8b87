"""Which refused turns a person is shown: every unsure one, and a share of the others."""

from __future__ import annotations

from collections.abc import Sequence
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


def refusals(
    reader: RecordReader, *, share: float = SHARE, since: float | None = None
) -> list[Refusal]:
    """Return the chosen ones of the newest refusals, the newest first.

    Args:
        reader: Of the turn records.
        share: Of the sure ones that are shown, 0 to 1.
        since: Unix time, seconds; only turns that began then or later.

    Raises:
        TelemetryError: The records cannot be read.
    """
    selection = Selection(outcome="off_topic", since=since)
    page = reader.list(selection, limit=MAX_READ)
    return [
        Refusal(record=record, is_sure=record.confidence != UNSURE)
        for record in page.records
        if is_chosen(record.id, record.confidence, share)
    ]


def split(reader: RecordReader, since: float | None = None) -> tuple[int, int, int]:
    """Return how many turns there are in all, refused unsurely, and refused surely.

    Args:
        reader: Of the turn records.
        since: Unix time, seconds; only turns that began then or later.

    Raises:
        TelemetryError: The records cannot be read.
    """
    groups = reader.aggregate(["outcome", "confidence"], Selection(since=since))
    turns = sum(group.turns for group in groups)
    refused: Sequence[tuple[object, int]] = [
        (group.key[1], group.turns) for group in groups if group.key[0] == "off_topic"
    ]
    unsure = sum(count for confidence, count in refused if confidence == UNSURE)
    return turns, unsure, sum(count for _, count in refused) - unsure
