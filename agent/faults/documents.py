"""Documents as a failed indexing job leaves them: some lost, some with their text garbled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from agent.faults.chance import Chance
from agent.retrieval.tfidf import CorpusChunk

_CAESAR: Final = 13


def damaged(chunks: Iterable[CorpusChunk], chance: Chance) -> list[CorpusChunk]:
    """Return the chunks without those that were lost, and with garbled text in others.

    Half of the struck chunks are lost; the other half keep their id and have text that no query
    matches, as after a wrong decoding.

    Args:
        chunks: The sound documents, at least one.
        chance: Which chunks are struck, by their id.

    Returns:
        At least one chunk, since an index of none cannot be built.
    """
    sound = list(chunks)
    left: list[CorpusChunk] = []
    for chunk in sound:
        if not chance.strikes(chunk.id):
            left.append(chunk)
        elif chance.number(f"garbled {chunk.id}") % 2:
            left.append(_garbled(chunk))
    return left or [_garbled(sound[0])]


def _garbled(chunk: CorpusChunk) -> CorpusChunk:
    return replace(chunk, text=garbled(chunk.text))


def garbled(text: str) -> str:
    """Return a text with every letter moved by half the alphabet; blanks and digits stay."""
    return "".join(_moved(letter) for letter in text)


def _moved(letter: str) -> str:
    for first in ("a", "A"):
        place = ord(letter) - ord(first)
        if 0 <= place < 26:
            return chr(ord(first) + (place + _CAESAR) % 26)
    return letter
