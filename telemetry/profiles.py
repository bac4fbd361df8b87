"""What comparing a text takes, computed once a text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from telemetry import lexicon
from telemetry.choices import Choices, choices
from telemetry.passages import Passages
from telemetry.phrasing import ACTION, FACET, FILLER, SETTING, SUBJECT, UNKNOWN, Item, read
from telemetry.sides import sides
from telemetry.spaces import IntentSpace, TopicSpace, Vector

KIND_WEIGHT: Final = {
    SUBJECT: 1.0, UNKNOWN: 0.7, ACTION: 0.4, FACET: 0.3, SETTING: 0.3, FILLER: 0.1,
}  # fmt: skip
"""How much a word counts by its kind; chosen by us, a rare word counts up to twice as much."""
BEGINNING: Final = 4
"""Letters that two words must share to be looked at as one; chosen by us."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One text."""

    stems: frozenset[str]
    """Of every word."""
    words: tuple[tuple[Item, float], ...]
    """Each word or phrase that carries meaning, and its weight."""
    documented: frozenset[str]
    """Stems of those that the documents have."""
    concepts: tuple[str, ...]
    """Theirs, in the order of the text."""
    is_negated: bool
    choices: Choices
    sides: frozenset[str]
    intents: Vector
    spread: Vector
    """The intents with those close to them."""
    clarity: float
    """Length of the text's point among the intents: 0 when it expresses none of them."""
    topics: Vector
    """Zeros when the documents know none of the words."""
    trust: float
    """How far the documents can be believed, 0 to 1."""
    passages: Vector
    """Share of the text's meaning that each document has, 0 to 1."""

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of the words and phrases that carry meaning."""
        return frozenset(item.stem for item, _ in self.words)

    @cached_property
    def beginnings(self) -> dict[str, tuple[str, ...]]:
        """Their first letters -> their stems."""
        found: dict[str, tuple[str, ...]] = {}
        for item, _ in self.words:
            key = item.stem[:BEGINNING]
            found[key] = (*found.get(key, ()), item.stem)
        return found

    @cached_property
    def close(self) -> frozenset[str]:
        """Concepts close to theirs."""
        return frozenset().union(*(_CLOSE.get(concept, _NONE) for concept in self.concepts))

    @cached_property
    def meanings(self) -> frozenset[str]:
        """Their concepts, in no order."""
        return frozenset(self.concepts)


class Profiler:
    """Reads texts with one set of documents.

    Args:
        topics: Topics of the documents; None when they have no word.
        passages: The documents.
        intents: What a support desk is asked for.
    """

    def __init__(self, topics: TopicSpace | None, passages: Passages, intents: IntentSpace) -> None:
        self._topics = topics
        self._passages = passages
        self._intents = intents

    def profile(self, text: str) -> Profile:
        """Read a text and place it in the spaces."""
        reading, topics, intents = read(text), self._topics, self._intents
        point = intents.project(reading)
        strengths = intents.strengths(point)
        has = self._passages.have
        return Profile(
            stems=frozenset(reading.stems),
            words=tuple((item, self._weight(item)) for item in reading.items),
            documented=frozenset(item.stem for item in reading.items if has(item)),
            concepts=tuple(c for item in reading.items for c in sorted(item.concepts)),
            is_negated=reading.is_negated,
            choices=choices(reading),
            sides=sides(reading.words),
            intents=strengths,
            spread=intents.spread(strengths),
            clarity=math.sqrt(float(point @ point)),
            topics=_NOWHERE if topics is None else topics.project(reading),
            trust=0.0 if topics is None else topics.trust,
            passages=self._passages.shares(reading),
        )

    def _weight(self, item: Item) -> float:
        rarity = 1.0 if self._topics is None else self._topics.rarity(item)
        return KIND_WEIGHT[item.kind] * (1 + rarity) / 2


def _close_concepts() -> dict[str, frozenset[str]]:
    close: dict[str, set[str]] = {}
    for concept, others in lexicon.RELATED.items():
        for other in others:
            close.setdefault(concept, set()).add(other)
            close.setdefault(other, set()).add(concept)
    return {concept: frozenset(others) for concept, others in close.items()}


_CLOSE: Final = _close_concepts()
_NONE: Final[frozenset[str]] = frozenset()
_NOWHERE: Final[Vector] = np.zeros(1, dtype=np.float32)
