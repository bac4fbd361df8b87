"""When the build changed last, found in the order of the turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from telemetry.records.marks import Mark

Build: TypeAlias = tuple[str, ...]
"""Values of the build's labels, in the order of `window.LABELS`."""

STRETCH: Final = 20
"""Turns in a row of other builds after which a build is gone. Chosen by us: while a rollout goes
on, the old and the new build take turns, and none is silent for as long."""
RETURNS: Final = 10
"""Turns that a build which was there before must have to count as rolled back to: a straggler of
the old replicas has few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A build came, or came back; or somebody said that something changed."""

    at: float
    """Unix time of its first turn, or of the mark; seconds."""
    before: Build
    """Build of most turns shortly before; empty for a mark."""
    after: Build
    mark: str | None = None
    """What was said to have changed; None for a change of the build."""


def last_change(turns: Sequence[tuple[float, Build]]) -> Change | None:
    """Return the latest change; None when every turn is of one build.

    Args:
        turns: (Unix time, build), in the order of time.
    """
    starts: dict[Build, int] = {}
    sizes: Counter[Build] = Counter()
    latest: dict[Build, int] = {}
    returned: set[Build] = set()
    candidates: dict[Build, int] = {}
    for place, (_, build) in enumerate(turns):
        if build not in latest or place - latest[build] > STRETCH:
            if build in latest:
                returned.add(build)
            starts[build], sizes[build] = place, 0
        latest[build] = place
        sizes[build] += 1
        since = place - starts[build] + 1
        if starts[build] and (build not in returned or _has_taken_over(sizes[build], since)):
            candidates[build] = starts[build]
    if not candidates:
        return None
    build, place = max(candidates.items(), key=lambda found: found[1])
    others = [other for _, other in turns[:place] if other != build][-STRETCH:]
    if not others:
        return None
    return Change(at=turns[place][0], before=Counter(others).most_common(1)[0][0], after=build)


def later(change: Change | None, marks: Sequence[Mark]) -> Change | None:
    """Return the change or the last mark, whichever is later; None when there is neither.

    Args:
        change: Of the build.
        marks: Oldest first.
    """
    if not marks or (change is not None and change.at >= marks[-1].at):
        return change
    return Change(at=marks[-1].at, before=(), after=(), mark=marks[-1].what)


def _has_taken_over(own: int, turns: int) -> bool:
    """Whether a build that was there before came back for good, with so many of the turns since.

    A canary, and what is left of the old replicas, is silent for long and then not, by chance: it
    never has three in four of a stretch for long.
    """
    return own >= RETURNS and 4 * own > 3 * turns
