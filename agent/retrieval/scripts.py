"""Which characters make words in the world's scripts, as parts of regular expressions.

`re` looks a character up at once only in a class that holds none beyond U+FFFF; those stand apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final


def _ranges(points: Iterable[int]) -> str:
    """Write ascending code points as the inside of a character class."""
    runs: list[list[int]] = []
    for point in points:
        if runs and point == runs[-1][1] + 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in runs)


def _is_mark(point: int) -> bool:
    return unicodedata.category(chr(point)).startswith("M")


_BASIC: Final = range(0x10000)
_BEYOND: Final = range(0x10000, 0x1F000)  # marks and digits of living scripts end before that

_HAN: Final = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RARE_HAN: Final = "\U00020000-\U000323af"
# With kana, Hangul, Thai, Lao, Myanmar, Khmer. Korean has blanks, but glues particles to its words.
_UNSPACED: Final = (
    _HAN + "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\uac00-\ud7a3"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1780-\u17dd\ua9e0-\ua9fe\uaa60-\uaa7f"
)
_IS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")
_SPACED: Final = _ranges(
    point
    for point in _BASIC
    if (chr(point).isalnum() or _is_mark(point)) and not _IS_UNSPACED.match(chr(point))
)
_MARKS: Final = _ranges(filter(_is_mark, _BASIC))
_RARE_MARKS: Final = _ranges(filter(_is_mark, _BEYOND))

WORD: Final = rf"(?:[{_SPACED}]++|(?=[\U00010000-\U0010ffff])(?![{_RARE_HAN}])[\w{_RARE_MARKS}])++"
"""Letters, digits and combining marks of the scripts that put blanks between words."""

RUN: Final = rf"(?:[{_UNSPACED}]|[{_RARE_HAN}])+"
"""Characters of the scripts that do not."""

CLUSTER: Final = rf"[^{_MARKS}][{_MARKS}]*|[{_MARKS}]+"
"""A character with the marks that belong to it."""

HAN: Final = rf"[{_HAN}]|[{_RARE_HAN}]"
"""A Chinese character; many are words by themselves."""

DIGITS: Final = {
    point: str(unicodedata.decimal(chr(point)))
    for point in range(0x80, _BEYOND.stop)
    if unicodedata.category(chr(point)) == "Nd"
}
"""Translation of the decimal digits of all scripts to 0 to 9."""
