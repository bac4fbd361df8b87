"""What a sentence is about: its words and phrases, each with the concepts that it can stand for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final

from telemetry import lexicon

MAX_CHARACTERS: Final = 2_000
"""Of a text, this much is read; chosen by us: no search is longer, and the cost stays bounded."""
SUBJECT: Final = "subject"
"""A thing or event that a question can be about."""
SETTING: Final = "setting"
"""A subject that is nearly always there, such as the server."""
UNKNOWN: Final = "unknown"
"""A word that the lexicon does not have: its own subject."""
ACTION: Final = "action"
FACET: Final = "facet"
"""Which side of a subject is asked about: how long, where, who."""
FILLER: Final = "filler"

_WORD = re.compile(r"[^\W_]+(?:[.'/+-][^\W_]+)*[+#]*")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_ENDINGS: Final = (
    "ibilities", "ability", "ibility", "ization", "isation", "ations", "ation", "ating", "ated",
    "ates", "ate", "ements", "ement", "ments", "ment", "able", "ible", "ities", "ity", "ness",
    "ings", "ing", "edly", "ied", "ed", "ion", "ly",
)  # fmt: skip
"""Endings of English words, longest first where one ends in another."""


@dataclass(frozen=True, slots=True)
class Item:
    """A word or phrase of a text and what it can mean."""

    stem: str
    concepts: frozenset[str]
    kind: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a text."""

    words: tuple[str, ...]
    """Every word in lower case, in order."""
    stems: tuple[str, ...]
    """The same words without their endings."""
    items: tuple[Item, ...]
    """The words and phrases that carry meaning, each once, in order."""
    is_negated: bool
    """The text says no an odd number of times, apart from phrases that contain a no."""


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Cut the ending off an English word in lower case; other words come back nearly unchanged."""
    if word in lexicon.IRREGULAR:
        return lexicon.IRREGULAR[word]
    word = word.removesuffix("'s")
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 + (len(ending) == 3):
            word = word.removesuffix(ending)
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouslz":
                word = word[:-1]
            break
    word = word.removesuffix("e")
    return word[:-2] + "l" if word.endswith("ll") else word


def words(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case; scripts without blanks yield pairs of letters."""
    folded = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS]).casefold().replace("’", "'")
    for word in _WORD.findall(folded):
        if len(word) > 2 and _UNSPACED.search(word):
            yield from (word[i : i + 2] for i in range(len(word) - 1))
        else:
            yield word


def _phrase(entry: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in entry.split("_"))


def _compile() -> dict[tuple[str, ...], Item]:
    concepts: dict[tuple[str, ...], set[str]] = {}
    kinds: dict[tuple[str, ...], str] = {}
    groups = ((SUBJECT, lexicon.SUBJECTS), (ACTION, lexicon.ACTIONS), (FACET, lexicon.FACETS))
    for kind, group in groups:
        for concept, entries in group.items():
            for entry in entries:
                concepts.setdefault(_phrase(entry), set()).add(concept)
                kinds.setdefault(_phrase(entry), kind)
    return {
        phrase: Item("_".join(phrase), frozenset(found), _kind(kinds[phrase], found))
        for phrase, found in concepts.items()
    }


def _kind(kind: str, concepts: set[str]) -> str:
    return SETTING if concepts <= lexicon.SETTINGS else kind


_PHRASES: Final = _compile()
_LONGEST: Final = {
    first: max(map(len, phrases)) for first, phrases in groupby(sorted(_PHRASES), key=itemgetter(0))
}
"""First stem of a phrase -> words of the longest phrase that starts with it."""
_FILLERS: Final = frozenset(map(stem, lexicon.FILLERS))


def read(text: str) -> Reading:
    """Read the first `MAX_CHARACTERS` of a text."""
    found = list(words(text))
    stems = [stem(word) for word in found]
    kept = [(w, s) for w, s in zip(found, stems, strict=True) if w not in lexicon.ARTICLES]
    items, negations = _items(kept)
    return Reading(tuple(found), tuple(stems), items, negations % 2 == 1)


def _items(kept: list[tuple[str, str]]) -> tuple[tuple[Item, ...], int]:
    """Take the longest phrase of the lexicon at each place, else the word itself.

    Returns:
        The words and phrases, and how many negations stand outside them ("not respond" is one).
    """
    found: dict[str, Item] = {}
    negations = position = 0
    while position < len(kept):
        item, length = _item_at(kept, position)
        if item is not None:
            found.setdefault(item.stem, item)
        elif kept[position][0] in lexicon.NEGATIONS:
            negations += 1
        position += length
    return tuple(found.values()), negations


def _item_at(kept: list[tuple[str, str]], position: int) -> tuple[Item | None, int]:
    """Return the word or phrase at a place, if it carries meaning, and how many words it has."""
    word, root = kept[position]
    for length in range(min(_LONGEST.get(root, 0), len(kept) - position), 0, -1):
        phrase = tuple(stem for _, stem in kept[position : position + length])
        if phrase in _PHRASES:
            return _PHRASES[phrase], length
    if word in lexicon.FUNCTION_WORDS or word in lexicon.NEGATIONS:
        return None, 1
    return Item(root, frozenset(), FILLER if root in _FILLERS else UNKNOWN), 1
