"""The documents that the settings name: their index, and what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent.retrieval.corpus import HANDBOOK, read_corpus
from agent.retrieval.index_file import read_index
from agent.retrieval.tfidf import CorpusChunk, TfidfIndex
from agent.settings import Settings

HANDBOOK_SUBJECTS: Final = (
    "Larkspur's plans and prices, billing, servers, network and data, support, and the company"
)
MAX_TITLES: Final = 8
"""Titles that the off-topic reply names of a user's own documents; chosen by us."""


def open_index(settings: Settings) -> TfidfIndex:
    """Load the index that was written, or fit one from the folder.

    Raises:
        AgentError: Documents or index cannot be used; the message says why.
    """
    if settings.index is not None:
        return read_index(settings.index)
    directory = settings.docs or HANDBOOK
    return TfidfIndex.fit(read_corpus(directory).chunks, source=str(directory))


def subjects_of(settings: Settings, chunks: Sequence[CorpusChunk]) -> str:
    """Say what the documents are about: as the settings say, ours in words, others by titles."""
    if settings.subjects:
        return settings.subjects
    if settings.docs is None and settings.index is None:
        return HANDBOOK_SUBJECTS
    first_of_file = {chunk.source: chunk.title for chunk in reversed(chunks)}
    titles = [title for title in dict.fromkeys(first_of_file.values()) if title]
    more = " and more" if len(titles) > MAX_TITLES else ""
    return ", ".join(sorted(titles)[:MAX_TITLES]) + more
