"""Which of several alternatives a text names: one of four plans, one of two ways to pay, on or off.

Two texts that name different ones can be alike in every other word and still ask different things.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from telemetry import lexicon
from telemetry.phrasing import Reading, stem

Choices = dict[int, frozenset[int]]
"""Number of a set of alternatives -> the numbers of those that a text names; no empty ones."""


class Swaps(NamedTuple):
    """Sets of alternatives of which two texts name none in common."""

    deeds: int
    """Such as on and off, or into and out of."""
    things: int
    """Such as the plans of a price list."""


class _Entry(NamedTuple):
    phrase: tuple[str, ...]
    group: int
    member: int


def _entries() -> dict[str, list[_Entry]]:
    entries: dict[str, list[_Entry]] = {}
    for group, members in enumerate((*lexicon.DEEDS, *lexicon.THINGS)):
        for number, names in enumerate(members):
            for name in names:
                phrase = tuple(stem(word) for word in name.split("_"))
                entries.setdefault(phrase[0], []).append(_Entry(phrase, group, number))
    return entries


_ENTRIES: Final = _entries()
"""First stem of a name -> the names that begin with it."""
_SKIPPED: Final = frozenset(map(stem, lexicon.ARTICLES))


def choices(reading: Reading) -> Choices:
    """Return the alternatives that a text names."""
    stems = [root for root in reading.stems if root not in _SKIPPED]
    found: dict[int, set[int]] = {}
    for entry in _named(stems):
        found.setdefault(entry.group, set()).add(entry.member)
    return {group: frozenset(members) for group, members in found.items()}


def swaps(asked: Choices, sought: Choices) -> Swaps:
    """Count what a search names in place of what the question names."""
    apart = [
        group for group in asked.keys() & sought.keys() if asked[group].isdisjoint(sought[group])
    ]
    deeds = sum(group < len(lexicon.DEEDS) for group in apart)
    return Swaps(deeds=deeds, things=len(apart) - deeds)


def _named(stems: Sequence[str]) -> Iterator[_Entry]:
    for place, root in enumerate(stems):
        for entry in _ENTRIES.get(root, ()):
            if tuple(stems[place : place + len(entry.phrase)]) == entry.phrase:
                yield entry
