"""Mistyped words: the nearest known word, where one is near enough."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from agent.models.local.words import stem

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
SWAP_CHARS: Final = 4
"""Shortest word in which two swapped letters are mended."""
ONE_MISTAKE_CHARS: Final = 5
"""Shortest word in which one mistake is mended; in shorter ones it makes another real word."""
TWO_MISTAKES_CHARS: Final = 8
"""Shortest word in which two mistakes are mended. Both chosen by us on the training questions."""


class Speller:
    """Maps a word that nobody knows to the known word that was meant."""

    def __init__(self, known: Iterable[str], preferred: Iterable[str]) -> None:
        """Take the known words; of several equally near ones a preferred one is chosen."""
        self._preferred = frozenset(preferred)
        self._known = frozenset(known) | self._preferred
        self._stems = frozenset(map(stem, self._known))
        self._long: dict[str, list[str]] = {}
        for word in sorted(self._known):
            if len(word) >= TWO_MISTAKES_CHARS - 2 and word.isalpha():
                self._long.setdefault(word[0], []).append(word)
        self._longest = max(map(len, self._known), default=0)
        self.mend = lru_cache(maxsize=10_000)(self._mend)

    def _mend(self, word: str) -> str:
        if not (word.isascii() and word.isalpha()) or stem(word) in self._stems:
            return word
        if not SWAP_CHARS <= len(word) <= self._longest + 2:  # no two mistakes make it longer
            return word
        edits = _swaps(word) if len(word) < ONE_MISTAKE_CHARS else _one_edit(word)
        near = sorted(
            (known for known in self._known & edits if set(known[:1]) <= set(word[:2])),
            key=lambda known: (known not in self._preferred, known),
        )
        if near:
            return near[0]
        if len(word) >= TWO_MISTAKES_CHARS:
            return self._two_edits(word)
        return word

    def _two_edits(self, word: str) -> str:
        near = [
            known
            for known in self._long.get(word[0], ())
            if abs(len(known) - len(word)) <= 2 and _distance_at_most_two(word, known)
        ]
        return min(near, key=lambda known: (known not in self._preferred, known), default=word)


def _swaps(word: str) -> frozenset[str]:
    return frozenset(word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1))


def _one_edit(word: str) -> frozenset[str]:
    """Return every string one deletion, swap, replacement or insertion away."""
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    deleted = {left + right[1:] for left, right in cuts if right}
    replaced = {left + c + right[1:] for left, right in cuts if right for c in _LETTERS}
    inserted = {left + c + right for left, right in cuts for c in _LETTERS}
    return frozenset(deleted | replaced | inserted) | _swaps(word)


def _distance_at_most_two(left: str, right: str) -> bool:
    """Say whether two edits or fewer lead from one word to the other (restricted Damerau)."""
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        current = [i]
        for j, b in enumerate(right, start=1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > 2:
            return False
        before, previous = previous, current
    return previous[-1] <= 2
