"""The counts of a rollout from the turn records."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from telemetry.canary.counts import (
    CANARY,
    HISTORY_SECONDS,
    NOT_STARTED,
    SETTLE_SECONDS,
    SLOT_SECONDS,
    STABLE,
    Rollout,
    Tally,
    Versions,
)
from telemetry.canary.measures import BY_NAME, REWROTE, SLOW, SLOW_SHARE
from telemetry.compare.from_records import RecordsSource
from telemetry.compare.observed import UNFINISHED, Observed, measure, observe
from telemetry.compare.rates import Rate
from telemetry.compare.sample import Sample
from telemetry.compare.verdict import FEWEST
from telemetry.records import RecordReader, Selection, TurnRecord, open_reader
from telemetry.records.record import first_id

LOOK_BACK_SECONDS: Final = 86_400.0
"""How far back the canary's first turn is looked for: a version may have been out before."""
LONGEST_SECONDS: Final = 900.0
"""Turns that began earlier than this are not read again. Chosen by us: a turn has a time-out of
two minutes, and records wait while their store is away."""


class RecordsWatch:
    """Reads the records of both versions, look by look.

    Args:
        url: The store.
        graph: Which graph; None for the only one.
        versions: The stable version and the canary's.
        since: When the canary came, Unix time, seconds; None for its first turn of the last day.
        slow_seconds: A longer turn is slow; None for what nine of ten stable turns stayed below.
    """

    def __init__(
        self,
        url: str,
        graph: str | None,
        versions: Versions,
        *,
        since: float | None = None,
        slow_seconds: float | None = None,
    ) -> None:
        self._url, self._graph, self._versions = url, graph, versions
        self._since, self._slow = since, slow_seconds
        self._tally: Tally | None = None
        self._seen: set[str] = set()
        self._from = -math.inf

    def read(self, now: float) -> Rollout:
        """Read on, as `Source` says."""
        with open_reader(self._url) as reader:
            if self._tally is None:
                self._tally = self._begin(reader, now)
            if self._tally is None:
                return NOT_STARTED
            selection = Selection(graph=self._graph, version=self._versions, since=self._from)
            found = [record for record in reader.walk(selection) if record.id not in self._seen]
        self._add(self._tally, found)
        self._from = max(self._from, now - LONGEST_SECONDS)
        oldest = first_id(self._from)
        self._seen = {id_ for id_ in self._seen if id_ >= oldest}
        return self._tally.rollout(now - SETTLE_SECONDS, self._slow)

    def _begin(self, reader: RecordReader, now: float) -> Tally | None:
        """Return an empty tally; None when the canary has no turn yet."""
        source = RecordsSource.of(reader, self._graph)
        source.require("stable", "version", self._versions[STABLE])
        self._graph = source.graph
        since = self._since if self._since is not None else self._first_turn(reader, now)
        if since is None:
            return None
        self._from = since - HISTORY_SECONDS
        if self._slow is None:
            self._slow = self._usual(reader, since)
        return Tally(since)

    def _first_turn(self, reader: RecordReader, now: float) -> float | None:
        selection = Selection(
            graph=self._graph, version=self._versions[CANARY], since=now - LOOK_BACK_SECONDS
        )
        first = next(reader.walk(selection), None)
        return None if first is None else first.started_at

    def _usual(self, reader: RecordReader, since: float) -> float | None:
        """Return what nine of ten stable turns stayed below before the canary came."""
        selection = Selection(
            graph=self._graph, version=self._versions[STABLE], since=self._from, until=since
        )
        known = Sample.of(float(row[0]) for row in reader.columns(["duration_seconds"], selection))
        return known.quantile(1 - SLOW_SHARE) if known.total >= FEWEST else None

    def _add(self, tally: Tally, records: Iterable[TurnRecord]) -> None:
        groups: defaultdict[tuple[int, int], list[Observed]] = defaultdict(list)
        for record in records:
            self._seen.add(record.id)
            if record.outcome not in UNFINISHED:
                ended = record.started_at + record.duration_seconds
                slot = math.floor((ended - tally.since) / SLOT_SECONDS)
                groups[slot, self._versions.index(record.version)].append(observe(record))
        for (slot, side), turns in groups.items():
            for name, rate in shares(turns, self._slow).items():
                # The middle of the slot: its edges may fall to a neighbour.
                at = tally.since + (slot + 0.5) * SLOT_SECONDS
                tally.add(at, side, name, rate.hits, rate.total)


def shares(turns: Sequence[Observed], slow_seconds: float | None) -> dict[str, Rate]:
    """Return the measures of a canary over some turns."""
    searched = [turn for turn in turns if turn.searched]
    found: dict[str, Rate] = {
        name: rate
        for name, rate in measure(turns).items()
        if name in BY_NAME and isinstance(rate, Rate)
    }
    found[REWROTE] = Rate(sum(turn.rewrites > 0 for turn in searched), len(searched))
    if slow_seconds is not None:
        slow = sum(turn.duration_seconds > slow_seconds for turn in turns)
        found[SLOW] = Rate(slow, len(turns))
    return found
