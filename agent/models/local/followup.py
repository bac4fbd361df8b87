"""Follow-up questions: told from new ones, and joined with the question that they follow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agent.models.local.lexicon import Lexicon
from agent.models.local.reading import read
from agent.models.local.words import words

_LEAD: Final = re.compile(
    r"^\s*(?:(?:ok(?:ay)?|thanks|thank you|great|i see|and|but|or|so|also|then)\b[\s,.!:-]*)+", re.I
)
_ABOUT: Final = re.compile(
    r"^(?:(?:what|how) about|what if (?:it is|it's|its)|(?:is it|is that|and) the same (?:for|with)"
    r"|the same for|same for|same with|does that (?:also )?(?:apply|go|hold) (?:to|for))\b\s*",
    re.I,
)
_PREPOSITION: Final = re.compile(
    r"^(?:for|on|in|at|with|without|by|from|to|after|before|during|via|under|per|within|if|when)\b",
    re.I,
)
_PRONOUNS: Final = frozenset(
    (
        "it", "its", "they", "them", "their", "that", "this", "those", "these", "one", "ones",
        "he", "she",
    )
)  # fmt: skip
_EXPLETIVE: Final = re.compile(
    r"\b(?:is|was|will|would|can|could|does|be) it (?:be )?(?:\w+ )?(?:possible|true|ok|okay|fine|"
    r"allowed|necessary|better|best|worth|enough|safe|normal|cheaper|easy|easier|required)\b"
    r"|\bit (?:is|was|'s) (?:\w+ )?(?:possible|true|ok|not|too|very|so)\b"
    r"|\bis it (?:just )?(?:me|you)"
    r"|\b(?:this|that|these|those) (?:\w+ )?(?:is|are)n?'?t? ",
    re.I,
)
_BARE: Final = frozenset(
    (
        "why", "how", "when", "where", "who", "which", "what", "long", "much", "many", "often",
        "soon", "fast", "and", "then", "so", "else", "is", "it", "does", "do", "can", "i", "you",
        "the", "a", "exactly", "far", "big", "large", "not",
    )
)  # fmt: skip
"""Words of a question that asks for nothing by itself."""
_TOO: Final = re.compile(r"\b(?:too|as well|either|instead)\s*\??\s*$", re.I)
_VERB: Final = re.compile(
    r"^(?:what|which|who|whose|where|when|why|how|is|are|was|were|do|does|did|can|could|will|would|"
    r"should|may|must|has|have|had|am|i|we|my|our|you|your|please|tell|show|give)\b",
    re.I,
)
SHORT_WORDS: Final = 4
"""Longest fragment, in words: what follows an "and" without a verb of its own. Chosen by us."""


def standalone(question: str, history: Sequence[str], lexicon: Lexicon) -> str:
    """Return a question that can be understood without the conversation.

    Args:
        question: What was asked now.
        history: The user's earlier messages, oldest first.
        lexicon: Tells what a question speaks of.

    Returns:
        A follow-up joined with the last question that stood alone; any other question unchanged.
    """
    if not is_follow_up(question, lexicon):
        return question
    base = next((q for q in reversed(history) if not is_follow_up(q, lexicon)), None)
    if base is None:
        return question
    subject = base.strip().rstrip("?!. ")
    rest = _ABOUT.sub("", _LEAD.sub("", question.strip())).strip().rstrip("?!. ")
    if not set(words(rest)) - _BARE or _is_clause(rest):
        return f"{subject}? {question.strip()}"
    joint = " " if _PREPOSITION.match(rest) else " for "
    return f"{subject}{joint}{rest}?"


def is_follow_up(question: str, lexicon: Lexicon) -> bool:
    """Say whether a question leans on what was said before it."""
    text = question.strip()
    rest = _LEAD.sub("", text)
    if _ABOUT.match(rest) or not set(words(rest)) - _BARE:
        return True
    if _points_back(rest, lexicon) or (_TOO.search(rest) and len(words(rest)) <= 2 * SHORT_WORDS):
        return True
    has_lead = rest != text or _PREPOSITION.match(rest) is not None
    return has_lead and not _is_clause(rest) and len(words(rest)) <= SHORT_WORDS


def _points_back(text: str, lexicon: Lexicon) -> bool:
    """Say whether a pronoun stands before anything of its own question that it could mean."""
    plain = words(_EXPLETIVE.sub(" ", text))
    for place, word in enumerate(plain):
        if word in _PRONOUNS:
            return not read(" ".join(plain[:place]), lexicon).units
    return False


def _is_clause(text: str) -> bool:
    """Say whether a text is a clause of its own and not a fragment."""
    return _VERB.match(text) is not None and len(words(text)) > 1
