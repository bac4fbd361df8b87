"""Which side of a thing a text asks for: its price, how long it takes, how to do it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from telemetry import lexicon

PRICE: Final = "price"
AMOUNT: Final = "amount"
TIME: Final = "time"
WAY: Final = "way"
"""How something is done."""
TOLD: Final = frozenset(lexicon.SIDES) - {WAY, "condition", "contact"}
"""The sides that a text names only when it means them."""
_SIDES: Final = {word: side for side, words in lexicon.SIDES.items() for word in words}
_HOW: Final = {
    **dict.fromkeys(("many", "big", "large"), AMOUNT),
    **dict.fromkeys(("long", "fast", "quickly", "soon", "quick", "far"), TIME),
    "often": "frequency",
}
"""What the word after "how" asks for."""
_VERBS: Final = frozenset((
    "is", "are", "was", "were", "does", "do", "did", "would", "will", "for", "to", "can", "should",
    "could", "it",
))  # fmt: skip
"""After "how much" these ask for a price; anything else is what there is so much of."""


def sides(words: Sequence[str]) -> frozenset[str]:
    """Return the sides that a text names.

    Args:
        words: Its words in lower case, in order.
    """
    found: set[str] = set()
    rest = iter(range(len(words)))
    for place in rest:
        word = words[place]
        following = words[place + 1] if place + 1 < len(words) else ""
        if word != "how":
            if word in _SIDES:
                found.add(_SIDES[word])
            elif word == "free" and following in ("of", "for", ""):
                found.add(PRICE)
        elif following == "much":
            third = words[place + 2] if place + 2 < len(words) else "it"
            found.add(PRICE if third in _VERBS else AMOUNT)
            next(rest, None)
        elif following in _HOW:
            found.add(_HOW[following])
            next(rest, None)
        else:
            found.add(WAY)
    return frozenset(found)
