"""What can be wrong in a golden set, each said as: what, got, expected, next act."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from pydantic_core import ErrorDetails

_EXPECTED: Final = {
    "string_type": "expected text; put it in quotes",
    "string_unicode": "expected valid Unicode text; remove the lone surrogate",
    "string_too_short": "expected some text; write it or remove it",
    "tuple_type": "expected a list; write [...], or [] for none",
    "literal_error": "expected on or off; write one of them",
    "model_type": "expected keys with values; write `question: ...` and the other keys",
}
"""By pydantic's type of error, for those that our fields can have."""
_MAX_SHOWN_CHARS: Final = 60


def folded(text: str) -> str:
    """Return what two spellings of one question have in common: case, blanks, apostrophes apart."""
    return " ".join(text.replace("\u2019", "'").casefold().split())


def shown(value: object) -> str:
    """Show a value of the file in at most 60 characters, on one line and in valid Unicode."""
    text = "nothing" if value is None else repr(value)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= _MAX_SHOWN_CHARS else text[: _MAX_SHOWN_CHARS - 3] + "..."


def label(number: int, raw: object) -> str:
    """Name an entry by its number, from 1, and its question if it has one."""
    question = raw.get("question") if isinstance(raw, dict) else None
    return f"entry {number} ({shown(question)})" if isinstance(question, str) else f"entry {number}"


def invalid_yaml(error: Exception) -> str:
    """Say why the YAML reader gave up, and at which line, from 1, when it says so."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    if isinstance(error, RecursionError):
        problem = "lists nested too deeply"
    return (
        f"{where}is not valid YAML, got: {' '.join(problem.split())}; expected a list of entries; "
        "check indentation and quotes there"
    )


def invalid_value(error: ErrorDetails, *, needed: Sequence[str], known: Sequence[str]) -> str:
    """Say one finding of pydantic.

    Args:
        error: The finding.
        needed: Keys that must be there, at the place of the finding.
        known: Keys that may be there.
    """
    kind = error["type"]
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if kind == "missing":
        given = sorted(map(str, error["input"])) if isinstance(error["input"], dict) else []
        return (
            f"key {_place(error)} is missing, got the keys {', '.join(given) or 'none'}, "
            f"expected at least {', '.join(needed)}; add it"
        )
    if kind == "extra_forbidden":
        return (
            f"unknown key, got {_place(error)}, expected some of {', '.join(known)}; "
            f"{_nearest(str(error['loc'][-1]), known)}correct or remove it"
        )
    expected = _EXPECTED.get(kind, f"expected something else ({error['msg']}); correct it")
    return f"{_place(error)} is wrong, got {shown(error['input'])}, {expected}"


def unknown_chunk(answers: Sequence[str], known: Collection[str] | None) -> str | None:
    """Say which answer is no chunk's id; nothing where the ids are not known."""
    if known is None:
        return None
    for chunk_id in answers:
        if chunk_id not in known:
            return (
                f"unknown chunk id in answers, got {shown(chunk_id)}, expected the id of one of "
                f"the {len(known)} indexed chunks; {_nearest(chunk_id, known)}correct the id, or "
                "index the documents that have it"
            )
    return None


def repeated_rewrite(queries: Sequence[str]) -> str | None:
    """Say which rewrite is the question or an earlier rewrite again."""
    keys = [folded(query) for query in queries]
    for place, key in enumerate(keys):
        if key in keys[:place]:
            return (
                f"a query is repeated, got {shown(queries[place])} as rewrite {place}, "
                "expected each rewrite to differ from the question and from the others; remove it "
                "(past the end the last rewrite is repeated anyway)"
            )
    return None


def used_before(texts: Sequence[str], first_use: Mapping[str, int]) -> str | None:
    """Say which text an earlier entry has already; `first_use` has entry numbers by folded text."""
    for text in texts:
        if folded(text) in first_use:
            return (
                f"duplicate text, got {shown(text)} again, expected each question and rewrite once "
                f"in the file; it is in entry {first_use[folded(text)]} already, remove one of them"
            )
    return None


def _place(error: ErrorDetails) -> str:
    """Name a place in an entry: `answers item 2`; an entry as a whole is `the entry`."""
    parts = [f"item {p + 1}" if isinstance(p, int) else str(p) for p in error["loc"]]
    return " ".join(parts) or "the entry"


def _nearest(word: str, known: Collection[str]) -> str:
    near = get_close_matches(word, sorted(known), n=3, cutoff=0.5)
    return f"nearest: {', '.join(near)}; " if near else ""
