"""The lexicon: which words and phrases of support English mean the same, and which mean nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

from agent.models.local.words import is_content, stem, words

LEXICON_FILE: Final = "data/local/lexicon.yaml"
SENSES_FILE: Final = "data/local/senses.yaml"
_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Gives every value as text: a word list may hold "no" and "99.9"."""


SKIPPED: Final = frozenset(
    (
        "a", "an", "the", "my", "our", "your", "his", "her", "its", "their", "this", "that",
        "these", "those", "all",
    )
)  # fmt: skip
"""Words that do not part a phrase: "move my domain" is found as "move domain"."""


_SKIPPED_STEMS: Final = frozenset(map(stem, SKIPPED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A place in a text where a phrase of the lexicon stands."""

    start: int
    end: int
    groups: frozenset[str]
    """Names of the groups that hold the phrase."""


class Phrases:
    """Groups of words and phrases, found in a text by the stems of its words."""

    def __init__(self, groups: Mapping[str, Iterable[str]]) -> None:
        meanings: dict[tuple[str, ...], set[str]] = {}
        for group, entries in groups.items():
            for entry in entries:
                found = [word for word in words(entry) if word not in SKIPPED]
                stems = tuple(stem(word) for word in found)
                meanings.setdefault(stems, set()).add(group)
        meanings.pop((), None)  # a phrase of skipped words alone
        self.groups: Final = {stems: frozenset(found) for stems, found in meanings.items()}
        """Groups by the stems of a phrase."""
        self._lengths: dict[str, list[int]] = {}
        for stems in meanings:
            lengths = self._lengths.setdefault(stems[0], [])
            if len(stems) not in lengths:
                lengths.append(len(stems))
        for lengths in self._lengths.values():
            lengths.sort(reverse=True)

    def find(self, stems: Sequence[str]) -> list[Span]:
        """Return the phrases in a text, from left to right, the longest at each place."""
        places = [place for place, text_stem in enumerate(stems) if text_stem not in _SKIPPED_STEMS]
        kept = [stems[place] for place in places]
        spans: list[Span] = []
        at = 0
        while at < len(kept):
            length, groups = self._longest_at(kept, at)
            if groups:
                start, end = places[at], places[at + length - 1] + 1
                spans.append(Span(start=start, end=end, groups=groups))
            at += length
        return spans

    def find_all(self, stems: Sequence[str]) -> set[str]:
        """Return the groups of every phrase in a text, those within longer ones included."""
        kept = [text_stem for text_stem in stems if text_stem not in _SKIPPED_STEMS]
        return {
            group
            for place, first in enumerate(kept)
            for length in self._lengths.get(first, ())
            if place + length <= len(kept)
            for group in self.groups.get(tuple(kept[place : place + length]), ())
        }

    def _longest_at(self, stems: Sequence[str], place: int) -> tuple[int, frozenset[str]]:
        """Return length and groups of the longest phrase that starts here, or 1 and none."""
        for length in self._lengths.get(stems[place], ()):
            groups = self.groups.get(tuple(stems[place : place + length]))
            if groups is not None and place + length <= len(stems):
                return length, groups
        return 1, frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """The parts of the lexicon file, ready to be found in texts."""

    concepts: Phrases
    related: Mapping[str, tuple[str, ...]]
    filler: Phrases
    senses: Phrases
    """Words of everyday English by sense; may overlap, and say nothing by themselves."""
    signs: Phrases
    """Groups `address`, `trade` and `elsewhere:...`: signs that a question is on or off topic."""
    vocabulary: frozenset[str]
    """Every content word of the files, unstemmed."""
    desk_stems: frozenset[str]
    """Stems of what is said at a support desk: all but the subjects answered elsewhere."""


@cache
def load_lexicon() -> Lexicon:
    """Return the packaged lexicon; read once a process."""
    data, senses = _load(LEXICON_FILE), _load(SENSES_FILE)
    filler = {"filler": data["filler"]}
    signs = {
        "address": data["address"],
        "trade": data["trade"],
        **{f"elsewhere:{name}": entries for name, entries in data["elsewhere"].items()},
    }
    desk = _words_of(data["concepts"], filler, senses, {"address": data["address"]})
    desk |= _words_of({"trade": data["trade"]})
    return Lexicon(
        concepts=Phrases(data["concepts"]),
        related={name: tuple(others) for name, others in data["related"].items()},
        filler=Phrases(filler),
        senses=Phrases(senses),
        signs=Phrases(signs),
        vocabulary=frozenset(desk | _words_of(data["elsewhere"])),
        desk_stems=frozenset(map(stem, desk)),
    )


def _words_of(*groupings: Mapping[str, Iterable[str]]) -> set[str]:
    return {
        word
        for groups in groupings
        for entries in groups.values()
        for entry in entries
        for word in words(entry)
        if is_content(word)
    }


def _load(path: str) -> dict[str, Any]:
    text = (files("agent") / path).read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.load(text, Loader=_LOADER)
    return data
