"""How far a rewritten search still asks its question: one number, fitted on the documents.

Shared words tell little: a good rewrite leaves the question's words for those of the documents, and
a drifted one often keeps some. So the evidence of `telemetry.likeness` is weighed by boosted trees
trained on labelled rewrites. They are `data/drift.json`, written by `benchmarks/train_drift.py`,
which also prints their cross-validation. Given a LangChain embedding model, that one decides alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from telemetry.likeness import likeness
from telemetry.passages import Passages
from telemetry.profiles import Profiler
from telemetry.spaces import TopicSpace, intent_space, read_documents
from telemetry.trees import BoostedTrees

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

CACHED_TEXTS: Final = 1_024
"""Questions and searches whose reading is kept, about 3 KB each and 4 bytes a document; chosen by
us."""
CACHED_PAIRS: Final = 1_024
"""Pairs of question and search whose likeness is kept; chosen by us: many ask the same."""
REFERENCE_DOCUMENTS: Final = 64
"""Documents that give an embedding model's level of unrelated texts; chosen by us."""


class Measure(Protocol):
    """Says how far a search still asks a question."""

    def __call__(self, question: str, query: str) -> float:
        """Return at most 1; 0.5 is as likely drifted as not."""


class DriftModel:
    """The similarity of a rewrite to the standalone question; safe to share between threads."""

    def __init__(self, measure: Measure) -> None:
        """Wrap a measure; `fit` makes one."""
        self._measure = measure

    @classmethod
    def fit(cls, texts: Sequence[str], *, embeddings: Embeddings | None = None) -> DriftModel:
        """Fit the measure on the documents that are searched.

        Takes about 1 s for the intents, once a process, and up to some seconds for thousands of
        documents, of which `spaces.MAX_DOCUMENTS` are read.

        Args:
            texts: The documents; also none, then only the intents tell.
            embeddings: Compare by this LangChain embedding model instead. It is asked once for
                each text, in the caller's thread.
        """
        if embeddings is not None:
            return cls(EmbeddingMeasure(embeddings, texts))
        return cls(EvidenceMeasure(texts))

    def similarity(self, question: str, query: str) -> float | None:
        """Return how far `query` still asks `question`.

        Args:
            question: The standalone question.
            query: A search made from it.

        Returns:
            0 to 1, or -1 to 1 with an embedding model; 0.5 is as likely drifted as not. None when
            one of the two has no letter or digit.

        Raises:
            Exception: Whatever the embedding model raises.
        """
        if not any(map(str.isalnum, question)) or not any(map(str.isalnum, query)):
            return None
        if question.casefold().split() == query.casefold().split():
            return 1.0
        return self._measure(question, query)


class EvidenceMeasure:
    """The probability that a search still asks its question, from the evidence on both texts."""

    def __init__(self, texts: Sequence[str], trees: BoostedTrees | None = None) -> None:
        """Fit the documents' topics.

        Args:
            texts: The documents.
            trees: Read `likeness.EVIDENCE`; else those that ship with the package.
        """
        self._trees = packaged_trees() if trees is None else trees
        profiler = document_profiler(texts)
        self._read = lru_cache(maxsize=CACHED_TEXTS)(profiler.profile)
        self._compare = lru_cache(maxsize=CACHED_PAIRS)(self._compared)

    def __call__(self, question: str, query: str) -> float:
        """Return the probability, 0 to 1."""
        return self._compare(question, query)

    def _compared(self, question: str, query: str) -> float:
        evidence = likeness(self._read(question), self._read(query))
        return self._trees.probability(evidence.values())


def document_profiler(texts: Sequence[str]) -> Profiler:
    """Return what reads questions and searches with the documents."""
    documents = read_documents(texts)
    return Profiler(TopicSpace.fit(documents), Passages(documents), intent_space())


def packaged_trees() -> BoostedTrees:
    """Return the trees that ship with the package."""
    path = resources.files("telemetry").joinpath("data/drift.json")
    return BoostedTrees.read(json.loads(path.read_text(encoding="utf-8"))["trees"])


class EmbeddingMeasure:
    """Cosine similarity by a LangChain embedding model, freed from the level of unrelated texts.

    Embedding models give any two texts of one trade a high cosine. The mean cosine of different
    documents is that level: it is moved to 0, and 1 stays 1.
    """

    def __init__(self, embeddings: Embeddings, texts: Sequence[str]) -> None:
        """Embed some of the documents, evenly spaced."""
        self._level = 0.0
        if len(texts) > 1:
            step = -(-len(texts) // REFERENCE_DOCUMENTS)
            rows = np.array([_unit(row) for row in embeddings.embed_documents([*texts[::step]])])
            total, count = float(np.sum(rows @ rows.T)), len(rows)
            self._level = min(0.95, (total - count) / (count * (count - 1))) if count > 1 else 0.0
        self._embed = lru_cache(maxsize=CACHED_TEXTS)(
            lambda text: _unit(embeddings.embed_query(text))
        )

    def __call__(self, question: str, query: str) -> float:
        """Return the freed cosine, -1 to 1."""
        cosine = float(self._embed(question) @ self._embed(query))
        return max(-1.0, min(1.0, (cosine - self._level) / (1 - self._level)))


def _unit(vector: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    row = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(row))
    return row / length if length else row
