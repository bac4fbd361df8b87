"""Rewriters that do not help: one that only swaps words, one that wanders to another subject."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from agent.faults.chance import Chance
from agent.retrieval.tokens import tokenize

RARE_WORDS: Final = (
    "heretofore", "notwithstanding", "pertaining", "vis-a-vis", "forthwith", "whereupon", "albeit",
    "inasmuch", "thereof", "apropos", "betwixt", "erstwhile", "hitherto", "whence", "ergo",
)  # fmt: skip
"""Words that hardly any document uses. Those that yours do use are left out."""


def swap_words(query: str, vocabulary: Collection[str], chance: Chance) -> str:
    """Return the query's own words in another order, with words added that no document has.

    To a search that counts words it is the query it was before.

    Args:
        query: The current search words.
        vocabulary: Tokens of the documents.
        chance: Chooses the order.
    """
    words = sorted(query.split(), key=lambda word: chance.number(f"{query} {word}"))
    unknown = [w for w in RARE_WORDS if not any(token in vocabulary for token in tokenize(w))]
    added = unknown[chance.number(query) % len(unknown)] if unknown else ""
    return " ".join([*words, added]).strip()


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
