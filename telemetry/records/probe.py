"""Try a record store: write a record, read it back, take it away again."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from telemetry.errors import RecordsUnavailableError
from telemetry.records.database import connect, parse_address
from telemetry.records.reader import open_reader
from telemetry.records.record import TurnRecord, new_id
from telemetry.records.schema import INSERT_TURN, migrate, to_row


def probe_store(url: str | Path) -> str:
    """Write, read and delete one record, and say how many the store holds.

    Raises:
        TelemetryError: One of the three failed.
    """
    now = time.time()
    record = TurnRecord(
        id=new_id(now), started_at=now, graph="loopscope doctor", version="", outcome="answered"
    )
    with contextlib.closing(connect(parse_address(url))) as database:
        migrate(database)
        with database.writing():
            database.execute(INSERT_TURN, to_row(record))
        with open_reader(url) as reader:
            is_there = reader.get(record.id) is not None
            held = reader.count() - 1
        with database.writing():
            database.execute("DELETE FROM turns WHERE id = ?", (record.id,))
    if not is_there:
        raise RecordsUnavailableError(reader.address.url, "a record written was not found again")
    return f"{reader.address.url} wrote and read a record, holds {held} turns"
