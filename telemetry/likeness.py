"""In which ways a search is like the question that it was made from: the evidence on drift."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final, SupportsFloat

import numpy as np

from telemetry import lexicon
from telemetry.phrasing import ACTION, FACET, FILLER, SETTING, SUBJECT, UNKNOWN, Item, read
from telemetry.spaces import IntentSpace, TopicSpace, Vector

KIND_WEIGHT: Final = {
    SUBJECT: 1.0, UNKNOWN: 0.7, ACTION: 0.4, FACET: 0.3, SETTING: 0.3, FILLER: 0.1,
}  # fmt: skip
"""How much a word counts by its kind; chosen by us, a rare word counts up to twice as much."""
SAME_CONCEPT: Final = 0.9
SAME_BEGINNING: Final = 0.8
CLOSE_CONCEPT: Final = 0.5
"""How far one word can stand for another, 1 for the same word; chosen by us."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What comparing a text takes, computed once a text."""

    stems: frozenset[str]
    """Of every word."""
    words: tuple[tuple[Item, float], ...]
    """Each word or phrase that carries meaning, and its weight."""
    names: frozenset[str]
    """Stems of these words and phrases."""
    beginnings: dict[str, tuple[str, ...]]
    """Their first four letters -> their stems."""
    concepts: tuple[str, ...]
    """Theirs, in the order of the text."""
    close: frozenset[str]
    """Concepts close to theirs."""
    is_negated: bool
    intents: Vector
    spread: Vector
    """The intents with those close to them."""
    clarity: float
    """Length of the text's point among the intents: 0 when it expresses none of them."""
    topics: Vector
    """Zeros when the documents know none of the words."""
    trust: float
    """How far the documents can be believed, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """Evidence that a search still asks a question, in the order in which the trees read it."""

    intent: float
    """Cosine of the two texts among the intents, close intents counted half; 0 to 1."""
    intent_shared: float
    """Share of the search's intents that the question has too, or close ones; 0 to 1."""
    intent_kept: float
    """Strength in the search of the question's leading intent, relative to its own; 0 to 1."""
    clarity: float
    """How clearly the question expresses any intent; 0 to about 1.5."""
    query_clarity: float
    """How clearly the search expresses any intent; 0 to about 1.5."""
    topic: float
    """Cosine among the documents' topics, times the trust in them; -1 to 1."""
    mutual: float
    """Share of the question's meaning that the search kept, times the share of the search's
    meaning that the question has; 0 to 1."""
    dropped: float
    """Weight of the heaviest subject that the search dropped; 0 to 1."""
    strange: float
    """Weight of the search's own words that the lexicon does not know; 0 or more."""
    turned: float
    """1 when a concept gave way to its opposite, or only one of two alike texts says no."""
    overlap: float
    """Words in both over words in either; 0 to 1."""
    length: float
    """Words and phrases of the search that carry meaning."""

    def values(self) -> tuple[float, ...]:
        """Return the evidence in the order of the fields."""
        return tuple(getattr(self, name) for name in EVIDENCE)


EVIDENCE: Final = tuple(field.name for field in fields(Likeness))


def profile(text: str, topics: TopicSpace | None, intents: IntentSpace) -> Profile:
    """Read a text and place it in both spaces."""
    reading = read(text)
    point = intents.project(reading)
    strengths = intents.strengths(point)
    concepts = tuple(concept for item in reading.items for concept in sorted(item.concepts))
    beginnings: dict[str, tuple[str, ...]] = {}
    for item in reading.items:
        key = item.stem[:_BEGINNING]
        beginnings[key] = (*beginnings.get(key, ()), item.stem)
    return Profile(
        stems=frozenset(reading.stems),
        words=tuple((item, _weight(item, topics)) for item in reading.items),
        names=frozenset(item.stem for item in reading.items),
        beginnings=beginnings,
        concepts=concepts,
        close=frozenset().union(*(_CLOSE.get(concept, _NONE) for concept in concepts)),
        is_negated=reading.is_negated,
        intents=strengths,
        spread=intents.spread(strengths),
        clarity=math.sqrt(float(point @ point)),
        topics=_NOWHERE if topics is None else topics.project(reading),
        trust=0.0 if topics is None else topics.trust,
    )


def likeness(question: Profile, query: Profile) -> Likeness:
    """Collect the evidence on one pair of texts that were profiled with the same spaces."""
    asked = [(item, weight, _best(item, query)) for item, weight in question.words]
    sought = [(item, weight, _best(item, question)) for item, weight in query.words]
    mutual = _share(asked) * _share(sought)
    return Likeness(
        intent=_ratio(
            question.intents @ query.spread,
            question.intents @ question.spread,
            query.intents @ query.spread,
        ),
        intent_shared=_shared_intents(question, query),
        intent_kept=_kept_intent(question, query),
        clarity=question.clarity,
        query_clarity=query.clarity,
        topic=question.trust * _cosine(question.topics, query.topics),
        mutual=mutual,
        dropped=max((w * (1 - m) for item, w, m in asked if item.kind == SUBJECT), default=0.0),
        strange=sum(w * (1 - m) for item, w, m in sought if item.kind == UNKNOWN),
        turned=float(_is_turned(question, query, mutual)),
        overlap=len(question.stems & query.stems) / max(1, len(question.stems | query.stems)),
        length=float(len(query.words)),
    )


_Number = SupportsFloat
_Matched = list[tuple[Item, float, float]]
"""A text's words, their weights, and how far the other text has them, 0 to 1."""


def _weight(item: Item, topics: TopicSpace | None) -> float:
    rarity = 1.0 if topics is None else topics.rarity(item)
    return KIND_WEIGHT[item.kind] * (1 + rarity) / 2


def _shared_intents(question: Profile, query: Profile) -> float:
    """Half of the question's leading intent is enough to have an intent in full."""
    leading, total = float(question.spread.max()), float(query.intents.sum())
    if not leading or not total:
        return 0.0
    return float(query.intents @ np.minimum(1, 2 * question.spread / leading)) / total


def _kept_intent(question: Profile, query: Profile) -> float:
    leading = float(query.intents.max())
    return float(query.intents[question.intents.argmax()]) / leading if leading else 0.0


def _best(item: Item, other: Profile) -> float:
    """Return how far a word stands in another text, 0 to 1."""
    if item.stem in other.names:
        return 1.0
    if not item.concepts.isdisjoint(other.concepts):
        return SAME_CONCEPT
    alike = other.beginnings.get(item.stem[:_BEGINNING], ())
    if any(_begin_alike(item.stem, stem) for stem in alike):
        return SAME_BEGINNING
    return 0.0 if item.concepts.isdisjoint(other.close) else CLOSE_CONCEPT


def _begin_alike(left: str, right: str) -> bool:
    """Whether two stems share at least four letters and over 60 % of the longer one."""
    shared = max(_BEGINNING, math.floor(0.6 * max(len(left), len(right))) + 1)
    return len(left) >= shared and left[:shared] == right[:shared]


def _share(matched: _Matched) -> float:
    total = sum(weight for _, weight, _ in matched)
    return sum(weight * match for _, weight, match in matched) / total if total else 0.5


def _is_turned(question: Profile, query: Profile, mutual: float) -> bool:
    if question.is_negated != query.is_negated and mutual > 0.64:
        return True
    pairs = (*lexicon.OPPOSITES, *((right, left) for left, right in lexicon.OPPOSITES))
    return any(_is_replaced(question.concepts, query.concepts, pair) for pair in pairs)


def _is_replaced(
    asked: tuple[str, ...], sought: tuple[str, ...], opposites: tuple[str, str]
) -> bool:
    """Whether a search has the second of two opposites for the first, or both in other order."""
    first, second = opposites
    if first not in asked or second not in sought:
        return False
    if second in asked and first in sought:
        return (asked.index(first) < asked.index(second)) != (
            sought.index(first) < sought.index(second)
        )
    return second not in asked and first not in sought


def _cosine(left: Vector, right: Vector) -> float:
    return _ratio(left @ right, left @ left, right @ right)


def _ratio(product: _Number, left: _Number, right: _Number) -> float:
    """Return a product over the geometric mean of two squares; 0 when either is 0."""
    squares = float(left) * float(right)
    return float(product) / math.sqrt(squares) if squares else 0.0


def _close_concepts() -> dict[str, frozenset[str]]:
    close: dict[str, set[str]] = {}
    for concept, others in lexicon.RELATED.items():
        for other in others:
            close.setdefault(concept, set()).add(other)
            close.setdefault(other, set()).add(concept)
    return {concept: frozenset(others) for concept, others in close.items()}


_CLOSE: Final = _close_concepts()
_NONE: Final[frozenset[str]] = frozenset()
_BEGINNING: Final = 4
_NOWHERE: Final[Vector] = np.zeros(1, dtype=np.float32)
