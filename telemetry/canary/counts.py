"""What both versions counted while a canary is out, in slots of time and in blocks of both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np

from telemetry.compare.rates import Rate
from telemetry.compare.sample import Floats, Ints

STABLE, CANARY = 0, 1
"""The sides, as an axis of the arrays."""
Versions: TypeAlias = tuple[str, str]
"""The stable version and the canary's."""
SLOT_SECONDS: Final = 10.0
"""Turns within a slot are compared with each other alone. Chosen by us: traffic changes over hours,
and what is learned from a slot shapes only the bets on later ones."""
HISTORY_SECONDS: Final = 3_600.0
"""Of the stable version before the canary came, from which the first bets are made and which says
what is slow; it is not compared. Chosen by us: the same time of day."""
SETTLE_SECONDS: Final = 5.0
"""How long after its end a slot is used. Chosen by us: records are committed within half a second,
samples are stored when their scrape has ended."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Blocks:
    """Stretches of time in which both sides were observed."""

    before: Rate
    """The stable side before the canary came: what the first bets are built on."""
    hits: Floats
    """Shape (n_blocks, 2)."""
    totals: Floats
    """Shape (n_blocks, 2), above 0."""
    ends: Ints
    """Slots up to the end of each block, shape (n_blocks,), ascending."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Counts:
    """One measure on both sides, slot by slot."""

    before: Rate
    """The stable side before the canary came."""
    hits: Floats
    """Shape (n_slots, 2)."""
    totals: Floats
    """Shape (n_slots, 2)."""

    def rate(self, side: int) -> Rate:
        """Return all of a side since the canary came."""
        return Rate(round(self.hits[:, side].sum()), round(self.totals[:, side].sum()))

    def blocks(self) -> Blocks:
        """Return blocks, each cut as soon as both sides were seen in it.

        When it is cut depends on how many turns came, never on how they ended.
        """
        ends = []
        stable = canary = 0.0
        for slot, (of_stable, of_canary) in enumerate(self.totals.tolist(), 1):
            stable, canary = stable + of_stable, canary + of_canary
            if stable > 0 and canary > 0:
                ends.append(slot)
                stable = canary = 0.0
        starts = np.array([0, *ends[:-1]] if ends else [], dtype=np.int64)
        whole = ends[-1] if ends else 0
        return Blocks(
            before=self.before,
            hits=np.add.reduceat(self.hits[:whole], starts),
            totals=np.add.reduceat(self.totals[:whole], starts),
            ends=np.array(ends, dtype=np.int64),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """Everything that was counted up to a look."""

    since: float | None
    """When the canary came, Unix time, seconds; None before its first turn."""
    turns: Floats
    """Turns that ended by themselves, shape (n_slots, 2)."""
    counts: Mapping[str, Counts]
    """Name of a measure -> its counts, over the same slots; a measure may be absent."""
    slow_seconds: float | None
    """A turn that takes longer is slow; None when nothing is known of the time before."""

    @property
    def total(self) -> tuple[int, int]:
        """Turns of the stable side and of the canary."""
        stable, canary = self.turns.sum(axis=0)
        return round(stable), round(canary)


class Source(Protocol):
    """Where the counts come from; it remembers what it has read."""

    def read(self, now: float) -> Rollout:
        """Read on.

        Args:
            now: Unix time, seconds.

        Raises:
            CompareInputError: What is asked for is not there.
            FetchError: Prometheus does not answer.
            TelemetryError: The records cannot be read.
        """


NOT_STARTED: Final = Rollout(since=None, turns=np.zeros((0, 2)), counts={}, slow_seconds=None)


class Tally:
    """Adds up what a source reads, in any order."""

    def __init__(self, since: float) -> None:
        self.since = since
        self._before: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._slots: defaultdict[tuple[str, int], Floats] = defaultdict(lambda: np.zeros((2, 2)))

    def add(self, at: float, side: int, name: str, hits: float, total: float) -> None:
        """Add observations of a measure.

        Args:
            at: When they ended, Unix time, seconds; those of the canary from `since` on alone.
            side: `STABLE` or `CANARY`.
            name: Name of the measure.
            hits: How many of them are hits.
            total: How many they are.
        """
        if at >= self.since:
            slot = int((at - self.since) // SLOT_SECONDS)
            self._slots[name, slot][:, side] += hits, total
        elif side == STABLE:
            self._before[name][0] += hits
            self._before[name][1] += total

    def rollout(self, until: float, slow_seconds: float | None) -> Rollout:
        """Return what was counted in the slots that ended by `until`, Unix time, seconds."""
        over = int((until - self.since) // SLOT_SECONDS)
        number = min(max(over, 0), 1 + max((slot for _, slot in self._slots), default=-1))
        names = {name for name, _ in self._slots} | set(self._before)
        counts = {name: self._counts(name, number) for name in sorted(names)}
        turns = counts[TURNS].totals if TURNS in counts else np.zeros((number, 2))
        return Rollout(since=self.since, turns=turns, counts=counts, slow_seconds=slow_seconds)

    def _counts(self, name: str, number: int) -> Counts:
        both = np.zeros((number, 2, 2))
        for (of, slot), found in self._slots.items():
            if of == name and slot < number:
                both[slot] = found
        hits, total = self._before[name]
        return Counts(before=Rate(round(hits), round(total)), hits=both[:, 0], totals=both[:, 1])


TURNS: Final = "off_topic"
"""The measure whose observations are all turns."""
