"""Turn the documents of any LangChain retriever into the chunks of the graph's state."""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from langchain_core.documents import Document

from agent.state import Chunk

logger = logging.getLogger(__name__)

SCORE_KEYS: Final = (
    "score", "relevance_score", "similarity_score", "similarity", "_score", "@search.score",
)  # fmt: skip
"""Metadata keys under which LangChain's retrievers and rerankers leave a score, more is better.

A `distance` is not among them: less is better there, so it cannot be compared with a score.
"""


def chunks_from_documents(documents: Iterable[Document]) -> list[Chunk]:
    """Return the usable documents as chunks, in the retriever's order.

    How many were dropped, and nothing of their text, is logged as a warning.

    Args:
        documents: What a retriever returned.

    Returns:
        Chunks with valid Unicode, plain finite scores and distinct ids; see `read_documents`.
    """
    chunks, dropped = read_documents(documents)
    if dropped:
        logger.warning(
            "dropped %d of %d retrieved documents: their score is not a finite number",
            dropped,
            dropped + len(chunks),
            extra={"dropped_documents": dropped},
        )
    return chunks


def read_documents(documents: Iterable[Document]) -> tuple[list[Chunk], int]:
    """Return the usable documents as chunks, and how many had to be dropped.

    The id is the document's own, else `id` of its metadata, else a hash of its text. A document
    that came already is passed over; another text under the same id gets an id of its own.

    Args:
        documents: What a retriever returned.

    Returns:
        Chunks in the given order, and the count of documents whose score is NaN or infinite.
    """
    chunks: dict[str, Chunk] = {}
    dropped = 0
    for document in documents:
        score = _score(document.metadata)
        if score is not None and not math.isfinite(score):
            dropped += 1
            continue
        text = valid_text(document.page_content)
        id_ = _id(document, text)
        if id_ in chunks and chunks[id_]["text"] != text:
            id_ = f"{id_}~{_digest(text)}"
        chunks.setdefault(id_, {"id": id_, "text": text, "score": score})
    return list(chunks.values()), dropped


def valid_text(text: str) -> str:
    """Return text that any encoder accepts: each lone surrogate becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _id(document: Document, text: str) -> str:
    """Find the document's id; an id of 0 counts, an empty one does not."""
    for candidate in (document.id, document.metadata.get("id")):
        if candidate is not None and str(candidate):
            return valid_text(str(candidate))
    return _digest(text)


def _digest(text: str) -> str:
    """Hash the text; 12 hexadecimal digits, so 1 in 10^5 that any 50,000 chunks share one."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _score(metadata: Mapping[str, Any]) -> float | None:
    """Return the first number found under a score key as a Python float."""
    for key in SCORE_KEYS:
        value: Any = metadata.get(key)
        if hasattr(value, "__float__") and not isinstance(value, bool):
            try:
                return float(value)
            except (OverflowError, TypeError, ValueError):  # a huge integer, a whole array
                return math.nan
    return None
