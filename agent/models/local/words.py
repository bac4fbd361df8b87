"""Words and word stems: the form in which the local model compares texts.

Retrieval compares words exactly as written (`agent.retrieval.tokens`); the local model reads more
loosely, so that "refunded" and "refunds", or "unavailable" and "is not available", come together.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from agent.retrieval.tokens import FUNCTION_WORDS, tokenize

_QUOTES: Final = dict.fromkeys(map(ord, "’‘ʼ´`′＇"), "'")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+(?:[.'&][a-z0-9]+)*")
_IRREGULAR: Final = {
    "cant": ("can", "not"), "can't": ("can", "not"), "cannot": ("can", "not"),
    "won't": ("will", "not"), "wont": ("will", "not"), "e": ("e",),
    "ur": ("your",), "u": ("you",), "r": ("are",), "pls": ("please",),
}  # fmt: skip
_NEGATED: Final = re.compile(r"(do|does|did|is|are|was|were|would|could|should|has|have|had)n'?t")
_CLITIC: Final = re.compile(r"'(?:s|m|re|ve|ll|d)$")
_EMAIL: Final = re.compile(r"\be-(?=mail)")

_STEM_CHARS: Final = 3
_DERIVED: Final = {
    "ation": 3, "able": 3, "ment": 3, "ion": 5, "ing": 3, "ed": 3, "al": 5, "ly": 3
}  # fmt: skip
"""Endings that are cut, the first that fits, and the characters that must stay at least."""
_IRREGULAR_FORMS: Final = {
    form: base
    for base, forms in {
        "keep": "kept", "lose": "lost", "send": "sent", "pay": "paid", "buy": "bought",
        "sell": "sold", "take": "took taken", "bring": "brought", "leave": "left", "make": "made",
        "find": "found", "give": "gave given", "get": "got gotten", "go": "went gone",
        "run": "ran", "break": "broke broken", "forget": "forgot forgotten",
        "steal": "stole stolen", "hold": "held", "tell": "told", "build": "built",
        "spend": "spent", "write": "wrote written", "speak": "spoke spoken",
        "choose": "chose chosen", "grow": "grew grown", "know": "knew known", "see": "saw seen",
        "begin": "began begun", "wear": "wore worn", "freeze": "froze frozen",
        "hide": "hid hidden", "ride": "rode ridden", "drive": "drove driven", "fall": "fell fallen",
        "lend": "lent", "teach": "taught", "catch": "caught", "think": "thought",
        "child": "children", "person": "people", "foot": "feet", "tooth": "teeth",
    }.items()
    for form in forms.split()
}  # fmt: skip
_VOWEL: Final = re.compile(r"[aeiouy]")


def words(text: str) -> list[str]:
    """Return the words of a text in order, folded; contractions are spelled out.

    Scripts other than basic Latin go through the retrieval tokenizer, which knows them.
    """
    folded = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold().translate(_QUOTES)
    found: list[str] = []
    for piece in _EMAIL.sub("e", folded).split():
        if piece.isascii():
            for word in _ASCII_WORD.findall(piece):
                found.extend(_spelled_out(word))
        else:
            found.extend(tokenize(piece))
    return found


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return a word without its inflection: refunded, refunds -> refund; copies -> copi.

    A light stemmer of our own: plural, tense and the commonest derivations, no dictionary.
    """
    if not word.isascii() or not word.isalpha() or len(word) <= _STEM_CHARS:
        return word
    base = _singular(_IRREGULAR_FORMS.get(word, word))
    for ending, least in _DERIVED.items():
        kept = base[: -len(ending)]
        if base.endswith(ending) and len(kept) >= least and _VOWEL.search(kept):
            base = kept
            break
    base = base.rstrip("e") if len(base) > _STEM_CHARS else base
    if base.endswith("at") and len(base) >= _STEM_CHARS + 2:  # migrat(e), migrat(ing), migr(ation)
        base = base[:-2]
    if len(base) > _STEM_CHARS and base[-1] == base[-2]:  # cancell(ed), bill
        base = base[:-1]
    return f"{base[:-1]}i" if base.endswith("y") else base


def is_content(word: str) -> bool:
    """Say whether a word can name something: neither a function word nor a negation."""
    return word not in FUNCTION_WORDS and word != "not"


def _spelled_out(word: str) -> tuple[str, ...]:
    """Return the words of a contraction, or the word without its 's."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if negated := _NEGATED.fullmatch(word):
        return (negated[1], "not")
    return (_CLITIC.sub("", word).replace("'", ""),)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > _STEM_CHARS + 1:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
