"""Marks: what people changed and no process can know, kept beside the turn records."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from telemetry.errors import MarkError
from telemetry.records.database import Row, parse_address
from telemetry.records.record import first_id
from telemetry.records.schema import INSERT_MARK, open_migrated

MAX_CHARS: Final = 500
"""Of what a mark says; chosen by us: a line of a chart shows less."""
_TAG: Final = re.compile(r"[A-Za-z0-9_.:/@-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that changed at a moment."""

    id: str
    """Sorts by time; the same for the same words at the same moment."""
    at: float
    """Unix time, seconds."""
    what: str
    tags: tuple[str, ...] = ()


def make_mark(what: str, *, at: float, tags: Sequence[str], now: float) -> Mark:
    """Return a mark.

    Args:
        what: 1 to `MAX_CHARS` characters that can be shown in a line.
        at: When it changed, Unix time in seconds; not after `now`.
        tags: Words without blanks, for looking for marks of a kind.
        now: Unix time, seconds.

    Raises:
        MarkError: One of them is not so.
    """
    text = what.strip()
    if not 0 < len(text) <= MAX_CHARS or not text.isprintable():
        shown = f"{len(text):,} characters" if text.isprintable() else repr(text[:60])
        raise MarkError("text", shown, f"a line of 1 to {MAX_CHARS} characters")
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise MarkError("--tag", repr(tag[:80]), "1 to 64 letters, digits or _ . : / @ -")
    if at > now:
        raise MarkError("--at", f"{at - now:,.0f} s from now", "a moment that has come")
    milliseconds = round(at * 1000) / 1000
    words = sha256("\n".join([text, *tags]).encode()).hexdigest()
    return Mark(
        id=f"{first_id(milliseconds)[:12]}{words[:20]}",
        at=milliseconds,
        what=text,
        tags=tuple(tags),
    )


def put_mark(url: str | Path, mark: Mark) -> None:
    """Keep a mark in a record store; a second time changes nothing.

    Raises:
        TelemetryError: The store cannot be written.
    """
    row = (mark.id, round(mark.at * 1000), mark.what, " ".join(mark.tags))
    with contextlib.closing(open_migrated(parse_address(url))) as database:
        database.execute(INSERT_MARK, row)


def from_row(row: Row) -> Mark:
    """Return the mark of a row of `marks`."""
    id_, at_ms, what, tags = row
    return Mark(id=id_, at=at_ms / 1000, what=what, tags=tuple(tags.split()))
