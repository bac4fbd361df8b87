"""The words of `data/lexicon.toml`: what support customers call things, by concept."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Final

_DATA: Final = tomllib.loads(
    resources.files("telemetry").joinpath("data/lexicon.toml").read_text(encoding="utf-8")
)


def _listings(table: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(listing.split()) for name, listing in _DATA[table].items()}


def _alternatives(kind: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return the sets of a kind: each holds alternatives, and each of those its names."""
    return tuple(
        tuple(tuple(names.split()) for names in line.split("|"))
        for line in _DATA["alternatives"][kind]
    )


SUBJECTS: Final = _listings("subjects")
"""Concept of a thing or event -> words and phrases for it; `_` joins the words of a phrase."""
ACTIONS: Final = _listings("actions")
"""Concept of a deed -> words and phrases for it."""
FACETS: Final = _listings("facets")
"""Side of a thing that a question can ask about -> words and phrases for it."""
RELATED: Final = _listings("related")
"""Concept -> concepts that are close to it; one direction is enough."""
SETTINGS: Final = frozenset(_DATA["settings"].split())
"""Subjects that are nearly always there, so that they say little about what is asked."""
OPPOSITES: Final[tuple[tuple[str, str], ...]] = tuple((a, b) for a, b in _DATA["opposites"])
"""Concepts of which one in place of the other turns a question round."""
DEEDS: Final = _alternatives("deeds")
"""Sets of deeds that exclude each other, each deed by its words and phrases."""
THINGS: Final = _alternatives("things")
"""Sets of things of one kind, each by its words and phrases: of two that exclude each other."""
SIDES: Final = _listings("sides")
"""Side of a thing -> the words that ask for it."""
FILLERS: Final = frozenset(_DATA["fillers"].split())
"""Words that pad both questions and searches."""
NEGATIONS: Final = frozenset(_DATA["negations"].split())
"""Words that turn a statement round."""
FUNCTION_WORDS: Final = frozenset(_DATA["function_words"].split())
"""Words without a subject of their own; skipped unless a phrase needs them."""
ARTICLES: Final = frozenset(_DATA["articles"].split())
"""Words skipped inside phrases."""
IRREGULAR: Final = {w: stem for stem, words in _listings("irregular").items() for w in words}
"""Word -> its stem, where no ending rule finds it."""
