"""What kind of answer a question asks for, and which sentences hold one of that kind."""

from __future__ import annotations

import re
from typing import Final

from agent.models.local.words import words

KINDS: Final = ("money", "time", "number")
"""An amount of money, a duration or a time of day, a quantity."""

_UNITS: Final = "seconds?|minutes?|hours?|days?|weeks?|months?|years?"
_ASKED: Final = {
    "money": r"how much|costs?|price[sd]?|pricing|fees?|charged?|charges|cheap\w*|expensive|free"
    r"|euros?|dollars?|pay for",
    "time": rf"how long|when|how (?:soon|fast|quick|quickly|often)|what time|how many (?:{_UNITS})"
    r"|how many times|deadline|until|duration|opening hours",
    "number": r"how (?:many|big|large|small|often)|maximum|minimum|limit|number of|percent\w*"
    r"|how much (?:ram|memory|disk|space|traffic|storage)",
}
_HELD: Final = {
    "money": r"[€$£%]|\b(?:euros?|eur|usd|dollars?|pounds?|cents?|free|no extra cost|no charge)\b",
    "time": rf"\b(?:\d+|an?|one|two|three|four|five|six|ten|twelve) (?:working )?(?:{_UNITS})\b"
    r"|\d\d?[:.]\d\d|\b\d+ ?[ap]m\b|\b(?:every|each|per|once a) (?:night|day|hour|week|month|year)"
    r"|\b(?:first|last) day\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bany hour\b",
    "number": r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen)\b",
}
_ASKED_PATTERNS: Final = {kind: re.compile(rf"\b(?:{p})\b") for kind, p in _ASKED.items()}
_HELD_PATTERNS: Final = {kind: re.compile(pattern, re.I) for kind, pattern in _HELD.items()}


def asked_kinds(question: str) -> frozenset[str]:
    """Return the kinds of answer that a question asks for; most ask for none of them."""
    plain = " ".join(words(question))
    return frozenset(kind for kind, p in _ASKED_PATTERNS.items() if p.search(plain))


def held_kinds(sentence: str) -> frozenset[str]:
    """Return the kinds of answer that a sentence holds."""
    return frozenset(kind for kind, p in _HELD_PATTERNS.items() if p.search(sentence))
