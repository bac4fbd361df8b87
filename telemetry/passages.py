"""The documents as a search sees them: which of them have its words, and which words none has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from telemetry import lexicon
from telemetry.phrasing import Item, Reading, stem
from telemetry.spaces import Vector

LEAST_WEIGHT: Final = 0.05
"""Weight of a word that every document has; chosen by us."""
_EMPTY: Final = frozenset(map(stem, lexicon.FUNCTION_WORDS))


class Passages:
    """A set of documents."""

    def __init__(self, documents: Sequence[Reading]) -> None:
        self._count = len(documents)
        self._phrases = {item.stem for reading in documents for item in reading.items}
        postings: dict[str, list[int]] = {}
        for number, reading in enumerate(documents):
            for term in _terms(reading):
                postings.setdefault(term, []).append(number)
        self._postings = {
            term: (np.array(numbers, dtype=np.intp), self._weight(len(numbers)))
            for term, numbers in postings.items()
        }

    def shares(self, reading: Reading) -> Vector:
        """Return which share of a text's meaning each document has, 0 to 1, shape (n_documents,).

        A word or concept counts ln((1 + n) / (1 + n_with)) over n documents, as for TF-IDF.
        """
        shares: NDArray[np.float64] = np.zeros(max(1, self._count))
        total = 0.0
        for term in _terms(reading):
            numbers, weight = self._postings.get(term, (None, self._weight(0)))
            total += weight
            if numbers is not None:
                shares[numbers] += weight
        return (shares / total if total else shares).astype(np.float32)

    def have(self, item: Item) -> bool:
        """Whether a word or phrase, or each of its words, is anywhere in the documents."""
        return item.stem in self._phrases or all(
            part in self._postings for part in item.stem.split("_")
        )

    def _weight(self, n_with: int) -> float:
        return math.log((1 + self._count) / (1 + n_with)) + LEAST_WEIGHT


def _terms(reading: Reading) -> set[str]:
    concepts = {f"={concept}" for item in reading.items for concept in item.concepts}
    return (set(reading.stems) - _EMPTY) | concepts
