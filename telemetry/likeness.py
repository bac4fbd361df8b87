"""In which ways a search is like the question that it was made from: the evidence on drift."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final, SupportsFloat

import numpy as np

from telemetry import lexicon
from telemetry.choices import swaps
from telemetry.phrasing import FILLER, SUBJECT, UNKNOWN, Item
from telemetry.profiles import BEGINNING, Profile
from telemetry.sides import PRICE, TIME, TOLD, WAY
from telemetry.spaces import Vector

SAME_CONCEPT: Final = 0.9
SAME_BEGINNING: Final = 0.8
CLOSE_CONCEPT: Final = 0.5
"""How far one word can stand for another, 1 for the same word; chosen by us."""
FILLER_WEIGHT: Final = 0.3
"""How much a filler counts among new words; chosen by us."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    deeds_swapped: float
    """Deeds that gave way to one that excludes them."""
    things_swapped: float
    """Things that gave way to another of their kind."""
    other_side: float
    """1 when both ask for a side of something, and not for the same one."""
    side_added: float
    """1 when only the search asks for a side."""
    side_lost: float
    """1 when only the question asks for a side."""
    sides_apart: float
    """1 when they have no side in common, the way to do something and the like included."""
    price_added: float
    """1 when only the search asks for a price."""
    time_added: float
    """1 when only the search asks for a time."""
    way_instead: float
    """1 when the search asks how to do it instead of the side that the question asks for."""
    new_unknown: float
    """Words of the search that neither the question nor any document has; 0 or more."""
    new_known: float
    """Words of the search that are the documents' and not the question's; 0 or more."""
    new_unknown_share: float
    new_known_share: float
    """The same as shares of all words of the search; 0 to 1."""
    lost: float
    """Words of the question that the search has in no form; 0 or more."""
    lost_known: float
    """Those among them that the documents have; 0 or more."""
    passages: float
    """How alike the two find the documents: correlation over them, -1 to 1."""
    passage_kept: float
    """What the search finds in the question's best document, relative to its own best; 0 to 1."""
    passage_meant: float
    """What the question finds in the search's best document, relative to its own best; 0 to 1."""
    found: float
    """Share of the question's meaning in its best document; 0 to 1."""
    query_found: float
    """Share of the search's meaning in its best document; 0 to 1."""

    def values(self) -> tuple[float, ...]:
        """Return the evidence in the order of the fields."""
        return tuple(getattr(self, name) for name in EVIDENCE)


EVIDENCE: Final = tuple(field.name for field in fields(Likeness))


def likeness(question: Profile, query: Profile) -> Likeness:
    """Collect the evidence on one pair of texts that one `Profiler` has read."""
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
        **_of_choices(question, query),
        **_of_sides(question, query),
        **_of_words(question, query),
        **_of_passages(question.passages, query.passages),
    )


_Number = SupportsFloat
_Matched = list[tuple[Item, float, float]]
"""A text's words, their weights, and how far the other text has them, 0 to 1."""


def _of_choices(question: Profile, query: Profile) -> dict[str, float]:
    found = swaps(question.choices, query.choices)
    return {"deeds_swapped": float(found.deeds), "things_swapped": float(found.things)}


def _of_sides(question: Profile, query: Profile) -> dict[str, float]:
    asked, sought = question.sides & TOLD, query.sides & TOLD
    is_other = bool(asked) and asked.isdisjoint(sought)
    added = query.sides - question.sides
    return {
        "other_side": float(is_other and bool(sought)),
        "side_added": float(bool(sought) and not asked),
        "side_lost": float(bool(asked) and not sought),
        "sides_apart": float(
            bool(question.sides and query.sides) and question.sides.isdisjoint(query.sides)
        ),
        "price_added": float(PRICE in added),
        "time_added": float(TIME in added),
        "way_instead": float(WAY in added and is_other),
    }


def _of_words(question: Profile, query: Profile) -> dict[str, float]:
    new = {True: 0.0, False: 0.0}
    total = 0.0
    for item, _ in query.words:
        weight = FILLER_WEIGHT if item.kind == FILLER else 1.0
        total += weight
        if not _has(question, item):
            new[item.stem in query.documented] += weight
    lost = [item for item, _ in question.words if item.kind != FILLER and not _has(query, item)]
    return {
        "new_unknown": new[False],
        "new_known": new[True],
        "new_unknown_share": new[False] / max(1.0, total),
        "new_known_share": new[True] / max(1.0, total),
        "lost": float(len(lost)),
        "lost_known": float(sum(item.stem in question.documented for item in lost)),
    }


def _has(text: Profile, item: Item) -> bool:
    """Whether a text has a word or another one for it."""
    return (
        item.stem in text.names
        or item.stem in text.stems
        or not item.concepts.isdisjoint(text.meanings)
    )


def _of_passages(asked: Vector, sought: Vector) -> dict[str, float]:
    best, query_best = float(asked.max()), float(sought.max())
    return {
        "passages": _cosine(asked - asked.mean(), sought - sought.mean()),
        "passage_kept": float(sought[asked.argmax()]) / query_best if query_best else 0.0,
        "passage_meant": float(asked[sought.argmax()]) / best if best else 0.0,
        "found": best,
        "query_found": query_best,
    }


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
    if not item.concepts.isdisjoint(other.meanings):
        return SAME_CONCEPT
    alike = other.beginnings.get(item.stem[:BEGINNING], ())
    if any(_begin_alike(item.stem, stem) for stem in alike):
        return SAME_BEGINNING
    return 0.0 if item.concepts.isdisjoint(other.close) else CLOSE_CONCEPT


def _begin_alike(left: str, right: str) -> bool:
    """Whether two stems share at least four letters and over 60 % of the longer one."""
    shared = max(BEGINNING, math.floor(0.6 * max(len(left), len(right))) + 1)
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
