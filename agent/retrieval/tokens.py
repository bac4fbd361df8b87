"""The tokenizer for support text, and our own short list of function words.

Words are compared exactly as written (no stemming: "unavailable" and "availability" differ), after
NFKC and case folding. Names and codes stay whole and are also given in parts, so that "TLS1.3"
finds "TLS 1.3". Scripts written without blanks give character pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from agent.retrieval import scripts

TOKENIZER_VERSION: Final = 1
"""Raised whenever the tokens of any text change; a saved index of another version is refused."""

MAX_TOKEN_CHARS: Final = 64
"""Longer tokens (keys, encoded data) are dropped; chosen by us: nobody types them in a question."""

_WORDS_BY_KIND: Final = {
    # "us" is not here, it is also a region
    "pronouns": "i me my mine myself we our ours you your yours yourself he him his she her hers "
    "it its itself they them their theirs someone something anyone anything im ive",
    "determiners": "a an the this that these those some any each every such",
    "auxiliaries": "be am is are was were been being have has had having do does did doing "
    "can could will would shall should may might must",
    "question words": "what whats which who whom whose when where why how",
    "conjunctions": "and or but if whether because while though although as so than then",
    "particles": "there here too very just also please",
    # "on", "off", "up", "down", "out", "back" and "without" name a direction
    "prepositions": "of at by for from in into to with about",
}
_NEGATED_VERBS: Final = "do does did is are was were wo ca would could should has have had"
_NEGATED: Final = {"cannot", *(f"{verb}nt" for verb in _NEGATED_VERBS.split())}
"""Negated auxiliaries as they are typed without an apostrophe."""

FUNCTION_WORDS: Final = frozenset(" ".join(_WORDS_BY_KIND.values()).split())
"""Words that name no thing, action or direction. Negations are not among them."""

_TRANSLATION: Final = (
    dict.fromkeys(map(ord, "’‘ʼ´`′＇"), "'")
    | dict.fromkeys(map(ord, "‐‑"), "-")
    | dict.fromkeys(map(ord, "\u00ad\u0640\u200c\u200d\u2060\ufe0e\ufe0f\ufeff"), "")
    | dict.fromkeys(map(ord, "\u200b"), " ")
    | scripts.DIGITS
)

_ASCII_WORD: Final = "[a-z0-9]+"
# A name may start with a dot (.htaccess), end in + or # (C++, C#), and hold joints between words.
_NAME: Final = (
    r"(?:(?<![^\s(\"'])\.(?=[^\W\d]))?"
    r"{word}(?:(?:[.\-_'&@\#]|\++|(?<=\d)[:/](?=\d)){word})*(?:\++|\#+)?"
)
_ASCII_TOKEN: Final = re.compile(_NAME.replace("{word}", _ASCII_WORD))
_TOKEN: Final = re.compile(f"(?P<run>{scripts.RUN})|" + _NAME.replace("{word}", scripts.WORD))
_CLUSTER: Final = re.compile(scripts.CLUSTER)
_IS_HAN: Final = re.compile(scripts.HAN)
# A dot between digits belongs to the number: 22.04 is one part.
_JOINT: Final = re.compile(r"[\-_'&@#+:/]+|(?<!\d)\.|\.(?!\d)")
_PIECE: Final = re.compile(r"\d+(?:\.\d+)*|[^\d.]+")
_SUFFIX: Final = re.compile(r"'(?:s|m|re|ve|ll|d)$")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# "Plan A", "an A record": a capital A inside a sentence is a name, not the article.
_NAMED_A: Final = re.compile(r"(?<=[\w,] )A(?![\w'.+#-]*\w)")


def tokenize(text: str) -> list[str]:
    """Return the tokens of a text, in order of appearance but for the letter A as a name.

    Deterministic; any string is accepted, lone surrogates and control characters separate words.

    Args:
        text: A question or a piece of a document, in any script.

    Returns:
        Case-folded tokens, repeated as often as they occur; empty when the text has function
        words and punctuation only.
    """
    tokens: list[str] = []
    for match in _matches(text):
        word = match.group()
        if match.lastgroup == "run":
            tokens.extend(_character_tokens(word))
        elif word.isalpha():
            tokens.append("not" if word in _NEGATED else word)
        else:
            tokens.extend(_name_tokens(word))
    kept = [word for word in tokens if word not in FUNCTION_WORDS and len(word) <= MAX_TOKEN_CHARS]
    if not text.isupper():
        kept.extend("a" for _ in _NAMED_A.finditer(text))
    return kept


def _matches(text: str) -> Iterator[re.Match[str]]:
    """Find the words of the normalised text; ASCII text takes the short way."""
    if text.isascii():
        folded, pattern = text.lower().replace("`", "'"), _ASCII_TOKEN
    else:
        # Twice: case folding can undo the composition that NFKC made.
        folded = unicodedata.normalize("NFKC", text.translate(_TRANSLATION)).casefold()
        folded, pattern = unicodedata.normalize("NFKC", folded).translate(_TRANSLATION), _TOKEN
    return pattern.finditer(_THOUSANDS.sub("", folded))


def _character_tokens(run: str) -> Iterator[str]:
    """Give the pairs of neighbouring characters, and single Han characters: many are words."""
    clusters = _CLUSTER.findall(run)
    if len(clusters) == 1:
        yield run
        return
    for cluster in clusters:
        if _IS_HAN.match(cluster):
            yield cluster
    for left, right in pairwise(clusters):
        yield left + right


def _name_tokens(name: str) -> Iterator[str]:
    """Give a name or code whole, then its parts."""
    if name.endswith("n't"):
        yield "not"
        return
    name = _SUFFIX.sub("", name)
    parts = [part for part in _JOINT.split(name) if part]
    if len(parts) > 1 and not re.search(r"[^\-'\w]|[\d_]", name):
        yield "".join(parts)  # e-mail and email, back-up and backup are one word
    else:
        yield name
    if parts == [name]:
        yield from _pieces(name)
        return
    for part in parts:
        if len(parts) > 1 or len(part) > 1:  # the C of C++ is another language
            yield part
        yield from _pieces(part)


def _pieces(part: str) -> Iterator[str]:
    """Give the numbers and words of a part such as 8gb or e1234; not of a long random code."""
    pieces = _PIECE.findall(part)
    if 1 < len(pieces) <= 3:
        for piece in pieces:
            if len(piece) > 1 or piece.isdigit():
                yield piece
