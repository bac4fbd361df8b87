"""How a text is read: as units of meaning, each a word or a phrase with its stems and concepts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agent.models.local.lexicon import Lexicon, Span
from agent.models.local.words import is_content, stem, words

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One thing that a text speaks of."""

    words: tuple[str, ...]
    """Content words, as written (mended when mistyped)."""
    stems: tuple[str, ...]
    concepts: frozenset[str]
    """Concepts of the lexicon that the word or phrase may mean; empty for other words."""

    @property
    def is_number(self) -> bool:
        """Whether the unit is digits alone."""
        return len(self.words) == 1 and _NUMBER.fullmatch(self.words[0]) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A text as the local model understands it."""

    words: tuple[str, ...]
    """All words, function words included."""
    stems: tuple[str, ...]
    units: tuple[Unit, ...]
    """What the text speaks of, each once, in order; filler and function words are no units."""
    signs: tuple[Span, ...]
    """Where the lexicon's sign groups stand: `address`, `trade`, and `elsewhere:` with a subject
    that no support desk answers."""


def read(text: str, lexicon: Lexicon, mend: Callable[[str], str] | None = None) -> Reading:
    """Return a text's words and units.

    Args:
        text: A question, a heading or a sentence.
        lexicon: Tells phrases and filler.
        mend: Mends a mistyped word; None reads the text as it is.
    """
    plain = words(text)
    if mend is not None:
        plain = [mend(word) for word in plain]
    stems = [stem(word) for word in plain]
    concepts = lexicon.concepts.find(stems)
    taken = {place for span in concepts for place in range(span.start, span.end)}
    filler = {place for span in lexicon.filler.find(stems) for place in range(span.start, span.end)}
    units = {span.start: _phrase_unit(span, plain, stems) for span in concepts}
    for place, word in enumerate(plain):
        if place not in taken and place not in filler and is_content(word):
            units[place] = Unit(words=(word,), stems=(stems[place],), concepts=frozenset())
    unique = {(u.stems, u.concepts): u for _, u in sorted(units.items(), reverse=True)}
    return Reading(
        words=tuple(plain),
        stems=tuple(stems),
        units=tuple(reversed(unique.values())),
        signs=tuple(lexicon.signs.find(stems)),
    )


def terms_of(reading: Reading) -> set[str]:
    """Return the stems of content words and the concepts (`concept:name`) of a text."""
    stems = {s for word, s in zip(reading.words, reading.stems, strict=True) if is_content(word)}
    concepts = {f"concept:{concept}" for unit in reading.units for concept in unit.concepts}
    return stems | concepts


def _phrase_unit(span: Span, plain: Sequence[str], stems: Sequence[str]) -> Unit:
    places = [p for p in range(span.start, span.end) if is_content(plain[p])]
    return Unit(
        words=tuple(plain[p] for p in places),
        stems=tuple(stems[p] for p in places),
        concepts=span.groups,
    )
