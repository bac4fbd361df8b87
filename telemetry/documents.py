"""Ids and scores of retrieved documents of any form: LangChain's, a mapping, a bare text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from telemetry.attributes import cut
from telemetry.facts import finite

ID_BYTES: Final = 128
"""Cap of a chunk id, UTF-8 bytes. Chosen by us."""
_SCORE_KEYS: Final = ("score", "relevance_score", "_score", "similarity")


def id_and_score(item: Any) -> tuple[str, float | None]:
    """Return the id and the retriever's score of a document, or of a (document, score) pair."""
    if type(item) is dict and type(id_ := item.get("id")) is str:  # this project's chunk
        score = item.get("score")
        if len(id_) > ID_BYTES or not id_.isascii():
            id_ = cut(id_, ID_BYTES)
        return id_, score if type(score) is float and isfinite(score) else finite(score)
    if isinstance(item, tuple) and len(item) == 2:
        return document_id(item[0]), finite(item[1])
    return document_id(item), document_score(item)


def document_id(document: Any) -> str:
    """Return a document's id; one without an id gets a hash of its text, never of its metadata."""
    id_ = field_of(document, "id")
    if id_ is not None:
        return cut(str(id_), ID_BYTES)
    if isinstance(document, str):  # the state holds bare texts
        text = document
    else:
        text = str(field_of(document, "page_content") or field_of(document, "text") or "")
    sample = text[:4096]  # enough to tell documents apart, whatever their size
    data = f"{len(text)}:{sample}".encode("utf-8", "replace")
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def document_score(document: Any) -> float | None:
    """Return the retriever's score of a document: its own field, or a usual key of metadata."""
    for source in (document, field_of(document, "metadata")):
        for key in _SCORE_KEYS:
            score = finite(field_of(source, key))
            if score is not None:
                return score
    return None


def field_of(value: Any, key: str) -> Any:
    """Return a field of a mapping or an object, None for a text or where there is none."""
    if isinstance(value, Mapping):
        return value.get(key)
    return None if isinstance(value, str) else getattr(value, key, None)
