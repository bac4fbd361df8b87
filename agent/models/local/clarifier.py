"""Asking back: the nearest subject as a question, and what the reply makes of the first one."""

from __future__ import annotations

import re
from typing import Final

from agent.models.local.followup import is_follow_up
from agent.models.local.grading import rank
from agent.models.local.lexicon import Lexicon
from agent.models.local.understanding import Understanding, View
from agent.models.local.words import words

_YES: Final = frozenset(
    ("yes", "yeah", "yep", "yup", "sure", "right", "exactly", "correct", "indeed", "ok", "okay")
)
_FILLER: Final = frozenset(
    ("please", "that", "thats", "it", "is", "the", "one", "s", "of", "course", "thanks", "about")
)
_SUBJECT: Final = re.compile("\u201c(.+?)\u201d")


def clarifying_question(view: View, understanding: Understanding) -> str:
    """Ask whether the question is about the subject of the likeliest chunk."""
    corpus = understanding.corpus
    for row in rank(view):
        heading = corpus.sentences[corpus.starts[row]].strip()
        if heading:
            return (
                f"I am not sure what you mean. Is it about \u201c{heading}\u201d? "
                "If not, please tell me in other words what it is about."
            )
    return "I am not sure what you mean. Please tell me in other words what it is about."


def clarified(question: str, asked: str, reply: str, lexicon: Lexicon) -> str:
    """Return one question made of a doubtful one and the reply to the clarifying question.

    A bare yes takes the subject that was named; a reply that is a question of its own stands alone.

    Args:
        question: The doubtful question, standalone.
        asked: The clarifying question.
        reply: What the customer said to it.
        lexicon: Tells whether the reply leans on what was said before.
    """
    said = words(reply)
    subject = _SUBJECT.search(asked)
    if subject and _YES & set(said) and not set(said) - _YES - _FILLER:
        return f"{question.rstrip('?!. ')} ({subject[1]})?"
    if reply.rstrip().endswith("?") and not is_follow_up(reply, lexicon):
        return reply
    return f"{question.rstrip('?!. ')}: {reply.strip()}"
