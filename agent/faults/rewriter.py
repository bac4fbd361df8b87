"""Rewriters that do not help: one that only swaps words, one that wanders to another subject."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from agent.faults.chance import Chance
from agent.retrieval.tokens import tokenize

FILLERS: Final = (
    "know", "wondering", "kindly", "regarding", "concerning", "actually", "currently", "really",
    "information", "explain", "understand", "quickly",
)  # fmt: skip
"""Polite words that say nothing. Those that your documents use are left out."""


def swap_words(query: str, vocabulary: Collection[str], chance: Chance) -> str:
    """Return the query's own words in another order, with a word added that no document has.

    To a search that counts words it is the query it was before.

    Args:
        query: The current search words.
        vocabulary: Tokens of the documents.
        chance: Chooses the order and the word.
    """
    unknown = [w for w in FILLERS if not any(token in vocabulary for token in tokenize(w))]
    words = [word for word in query.split() if word not in unknown]
    turn = 1 + chance.number(query) % max(1, len(words) - 1)
    others = [word for word in unknown if word not in query.split()]
    added = others[chance.number(query) % len(others)] if others else ""
    return " ".join([*words[turn:], *words[:turn], added]).strip()


def wander(question: str, query: str, subjects: Iterable[str], chance: Chance) -> str:
    """Return one of the subjects that shares no word with the question, another one each time.

    Args:
        question: What the customer asked.
        query: The current search words.
        subjects: What the documents are about: headings, or any other texts to search for.
        chance: Chooses the subject.
    """
    asked = set(tokenize(question)) | set(tokenize(query))
    others = [subject for subject in subjects if not asked & set(tokenize(subject))]
    return min(others, key=lambda subject: chance.number(f"{query} {subject}"), default=query)
