"""The writer's side of the turn records: `put` costs microseconds, a thread does the rest.

A record is committed at most half a second after its turn ended, so `kill -9` loses the last
second at worst. A store that is locked, full, read-only, corrupt or away never breaks a run: the
records wait in a bounded queue, what does not fit is counted, and one line says what is wrong.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from telemetry.batching import EXIT_SECONDS, BatchLimits, BatchWorker
from telemetry.content import ContentGate
from telemetry.errors import RecordsUnavailableError, TelemetryError
from telemetry.losses import (
    Dropped,
    Failed,
    LostError,
    TryAgainError,
    ignore_drops,
    ignore_failures,
)
from telemetry.records.database import Address, Database, parse_address
from telemetry.records.record import NO_CONTENT, Found, Labels, first_id, new_id, record_of
from telemetry.records.schema import INSERT_FINDING, INSERT_TURN, open_migrated, to_row
from telemetry.turn import Turn

LIMITS: Final = BatchLimits(capacity=5_000, batch_size=500, interval_seconds=0.5)
"""At most 5,000 waiting turns (about 20 MB), commits every half second or 500 turns.
Chosen by us: a kill loses less than a second, and a burst of a minute at 80 turns/s fits."""
TRIM_SECONDS: Final = 60.0
"""How often the writer looks for records that are too old or too many."""
_TRIM_STEP: Final = 2_000
"""Records deleted in one transaction, so that no other writer waits long for the lock."""

_Item: TypeAlias = tuple[str, Turn, tuple[Found, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How much is kept."""

    max_age_seconds: float = 30 * 86_400.0
    """Older turns are deleted. Default 30 days, chosen by us: two monthly comparisons."""
    max_turns: int = 500_000
    """The oldest above this are deleted. Default chosen by us: about 500 MB."""


class RecordSink:
    """Takes finished turns and keeps them.

    Args:
        url: A path, `sqlite:///PATH` or `postgresql://USER:PASSWORD@HOST/DATABASE`.
        gate: Decides what of question, queries and reply is kept; by default nothing.
            Called in the writer's thread.
        labels: What the process was built from, for turns of graphs that do not tell it.
        retention: What is deleted again.
        dropped: Told `("records", n)` when n turns could not be kept.
        failed: Told `"records"` each time the store could not be written.
        limits: Bounds of the queue.
        clock: Unix time, seconds.

    Raises:
        RecordsUrlError: `url` is of no known kind, or its driver is not installed.
    """

    def __init__(
        self,
        url: str | Path,
        *,
        gate: ContentGate = NO_CONTENT,
        labels: Labels = Labels(),  # noqa: B008 - frozen
        retention: Retention = Retention(),
        dropped: Dropped = ignore_drops,
        failed: Failed = ignore_failures,
        limits: BatchLimits = LIMITS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.address = parse_address(url)
        self._clock = clock
        self._worker: BatchWorker[_Item] = BatchWorker(
            "records",
            lambda: _Writer(self.address, gate, labels, retention, clock),
            limits=limits,
            destination=self.address.url,
            dropped=dropped,
            failed=failed,
        )

    def put(self, turn: Turn, findings: Sequence[Found] = ()) -> str | None:
        """Hand a finished turn over and return the id of its record; never blocks, never raises.

        A synthetic turn has none: comparisons, gaps and reviews are about users.
        """
        if turn.is_synthetic:
            return None
        record_id = new_id(turn.started_at or self._clock())
        self._worker.put((record_id, turn, tuple(findings)))
        return record_id

    def flush(self, timeout_seconds: float = EXIT_SECONDS) -> bool:
        """Wait until everything put so far is committed; False when time ran out."""
        return self._worker.flush(timeout_seconds)

    def close(self, timeout_seconds: float = EXIT_SECONDS) -> None:
        """Commit what is waiting, within the time box, and stop. Also done at exit."""
        self._worker.close(timeout_seconds)


class _Writer:
    """The store as the worker's outlet: one connection, opened again after every trouble."""

    def __init__(
        self,
        address: Address,
        gate: ContentGate,
        labels: Labels,
        retention: Retention,
        clock: Callable[[], float],
    ) -> None:
        self._address = address
        self._gate = gate
        self._labels = labels
        self._retention = retention
        self._clock = clock
        self._database: Database | None = None
        self._next_trim = 0.0

    def send(self, batch: Sequence[_Item]) -> None:
        try:
            self._keep(batch)
        except TelemetryError as error:
            self._abandon()
            raise TryAgainError(_reason(error)) from error
        except Exception as error:  # a turn that no column takes shall take no other one along
            if len(batch) == 1:
                raise LostError(f"a turn's record: {type(error).__name__}", 1) from error
            self._send_each(batch)

    def _send_each(self, batch: Sequence[_Item]) -> None:
        lost: list[LostError] = []
        for item in batch:
            try:
                self.send([item])
            except LostError as error:
                lost.append(error)
        if lost:
            raise LostError(str(lost[0]), len(lost)) from lost[0]

    def _keep(self, batch: Sequence[_Item]) -> None:
        records = [
            record_of(turn, findings, record_id=record_id, gate=self._gate, labels=self._labels)
            for record_id, turn, findings in batch
        ]
        rows = [to_row(record) for record in records]
        found = [(detector, record.id) for record in records for detector in record.findings]
        database = self._open()
        with database.writing():
            database.execute_many(INSERT_TURN, rows)
            if found:
                database.execute_many(INSERT_FINDING, found)
        self._trim_when_due(database)

    def hurry(self) -> None:
        """Nothing to do: a write waits for a lock at most `WAIT_SECONDS`."""

    def close(self) -> None:
        self._abandon()

    def _open(self) -> Database:
        if self._database is not None and self._database.is_moved:
            self._abandon()  # nobody would ever read what is written to a deleted file
        if self._database is None:
            self._database = open_migrated(self._address)
        return self._database

    def _abandon(self) -> None:
        if self._database is not None:
            with contextlib.suppress(TelemetryError):
                self._database.close()
            self._database = None

    def _trim_when_due(self, database: Database) -> None:
        now = self._clock()
        if 0 < self._next_trim - now <= TRIM_SECONDS:  # the clock may have been set back
            return
        self._next_trim = now + TRIM_SECONDS
        try:
            trim(database, self._retention, now)
        except TelemetryError:  # the batch is safe; the next round trims
            self._abandon()


def _reason(error: TelemetryError) -> str:
    if isinstance(error, RecordsUnavailableError):
        return f"{error.url}: {error.reason}"
    return str(error).rstrip(".")


def trim(database: Database, retention: Retention, now: float) -> int:
    """Delete what is too old or too much, oldest first, a few thousand at a time; old marks too.

    Args:
        database: An open, migrated store.
        retention: What may stay.
        now: Unix time, seconds.

    Returns:
        How many turns were deleted.
    """
    cutoff = first_id(now - retention.max_age_seconds)
    if database.execute("SELECT 1 FROM marks WHERE id < ? LIMIT 1", (cutoff,)):
        database.execute("DELETE FROM marks WHERE id < ?", (cutoff,))
    surplus = database.execute(
        "SELECT id FROM turns ORDER BY id DESC LIMIT 1 OFFSET ?", (max(retention.max_turns, 0),)
    )
    if surplus:  # the youngest that is too many; `~` sorts after every hex digit
        cutoff = max(cutoff, f"{surplus[0][0]}~")
    deleted = 0
    while True:
        old = database.execute(
            "SELECT id FROM turns WHERE id < ? ORDER BY id LIMIT ?", (cutoff, _TRIM_STEP)
        )
        if not old:
            return deleted
        with database.writing():
            last = old[-1][0]
            database.execute("DELETE FROM turns WHERE id <= ?", (last,))
            database.execute("DELETE FROM turn_findings WHERE turn_id <= ?", (last,))
        deleted += len(old)
