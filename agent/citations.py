"""Which pieces of documents a reply cites, as `[chunk id]`, and which it was never given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agent.state import Chunk

_CODE: Final = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_BRACKETS: Final = re.compile(r"(?<![\w\])!\\])\[([^\[\]\n]+)\](?!\()")
"""Brackets that are no index (`a[0]`), picture, link or escaped text."""
_ID: Final = re.compile(r"(?=.*\w)[\w./#~:-]{1,128}")
"""What can be a chunk's id: without blanks, with a letter or a digit. `[see below]` is prose."""


def cited_ids(reply: str, chunks: Sequence[Chunk]) -> list[str]:
    """Return the ids of the given chunks that the reply cites, in order, each once."""
    known = {chunk["id"] for chunk in chunks}
    return [id_ for id_ in _bracketed(reply) if id_ in known]


def with_unknown_told(reply: str, chunks: Sequence[Chunk]) -> str:
    """Return the reply, with a last line that names each source it cites and was not given.

    A reader cannot tell an invented source from a real one; the text itself is left as it is.
    """
    known = {chunk["id"] for chunk in chunks}
    unknown = [id_ for id_ in _bracketed(reply) if id_ not in known and _ID.fullmatch(id_)]
    if not unknown:
        return reply
    sources = ", ".join(f"[{id_}]" for id_ in unknown)
    verb = "is no source" if len(unknown) == 1 else "are no sources"
    return f"{reply.rstrip()}\n\nNote: {sources} {verb} of this answer."


def _bracketed(reply: str) -> list[str]:
    """Return what stands in square brackets, in order, each once; `[a, b]` cites two."""
    found = _BRACKETS.findall(_CODE.sub(" ", reply))
    parts = (part.strip() for inner in found for part in re.split("[,;]", inner))
    return list(dict.fromkeys(part for part in parts if part))
