"""TF-IDF over the chunks of a corpus, as a LangChain retriever.

The weighting is exactly `TfidfVectorizer(analyzer=tokenize)` of scikit-learn at its defaults: raw
counts (sublinear_tf off), smoothed idf ln((1 + n) / (1 + df)) + 1, rows and query of Euclidean
length 1, float64. A score is the dot product of query and row, that is their cosine, from 0 to 1
(up to rounding); it is that of `vectorizer.transform([query]) @ vectorizer.transform(texts).T` to
the last bit.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter

import numpy as np
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from agent.errors import DuplicateChunkError, EmptyCorpusError
from agent.retrieval.postings import Postings
from agent.retrieval.search import Searcher
from agent.retrieval.tokens import TOKENIZER_VERSION, tokenize


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusChunk:
    """A piece of a document, the unit of search and of citation."""

    id: str
    text: str
    """What is searched, graded and answered from; for markdown its headings, then the body."""
    title: str = ""
    source: str = ""
    """The file it comes from, relative to the corpus."""


class TfidfIndex:
    """A fitted corpus: chunks in the order of their ids, vocabulary and postings; read-only."""

    def __init__(
        self, chunks: Sequence[CorpusChunk], vocabulary: Mapping[str, int], postings: Postings
    ) -> None:
        """Join the parts that `fit` made or a saved index holds; see there for their shapes."""
        self.chunks = chunks
        self.vocabulary = vocabulary
        self.postings = postings
        self._searcher = Searcher(postings)

    @classmethod
    def fit(
        cls,
        chunks: Iterable[CorpusChunk],
        *,
        source: str = "the given chunks",
        on_chunk: Callable[[int, int], None] | None = None,
    ) -> TfidfIndex:
        """Fit an index; the order in which the chunks come does not matter.

        Args:
            chunks: The corpus; two chunks may have the same text, but not the same id.
            source: Where they come from, for error messages.
            on_chunk: Called with the number of chunks read so far and of all chunks.

        Raises:
            EmptyCorpusError: There is no chunk, or no chunk has a token.
            DuplicateChunkError: Two chunks have the same id.
        """
        from sklearn.feature_extraction.text import CountVectorizer  # a saved index needs none

        ordered = sorted(chunks, key=attrgetter("id"))
        for first, second in pairwise(ordered):
            if first.id == second.id:
                raise DuplicateChunkError(first.id, first.source, second.source)
        vectorizer = CountVectorizer(analyzer=tokenize, dtype=np.int32)
        try:
            counts = vectorizer.fit_transform(_texts(ordered, on_chunk))
        except ValueError:  # scikit-learn's "empty vocabulary"
            raise EmptyCorpusError(source, f"{len(ordered)} chunks without a word") from None
        return cls(ordered, vectorizer.vocabulary_, Postings.from_counts(counts))

    def search(self, query: str, k: int) -> list[tuple[CorpusChunk, float]]:
        """Return the k best chunks with their scores, best first; see `Searcher.top`."""
        found = self._searcher.top(self.query_weights(query), k)
        return [(self.chunks[place], score) for place, score in found]

    def query_weights(self, query: str) -> dict[int, float]:
        """Return the query's vector, term index to weight; words not in the corpus do not count."""
        counts = Counter(tokenize(query))
        known = sorted((self.vocabulary[t], n) for t, n in counts.items() if t in self.vocabulary)
        weights = {term: n * float(self.postings.idf[term]) for term, n in known}
        squares = 0.0  # summed one by one in this order, as scikit-learn does; `sum` compensates
        for weight in weights.values():
            squares += weight * weight
        length = math.sqrt(squares)
        return {term: weight / length for term, weight in weights.items()}

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that change with any chunk and with the tokenizer."""
        digest = hashlib.sha256(f"tokenizer {TOKENIZER_VERSION}".encode())
        for chunk in self.chunks:
            for part in (chunk.id, chunk.text):
                digest.update(b"%d:" % len(part) + part.encode(errors="replace"))
        return digest.hexdigest()[:12]


class TfidfRetriever(BaseRetriever):
    """Returns exactly k chunks, those without a common word (score 0) included."""

    index: TfidfIndex = Field(repr=False, exclude=True, description="The fitted corpus.")
    k: int = Field(default=2, ge=1, description="Chunks to return; all, if there are fewer.")

    @classmethod
    def from_chunks(
        cls, chunks: Iterable[CorpusChunk], *, k: int = 2, source: str = "the given chunks"
    ) -> TfidfRetriever:
        """Fit a retriever; arguments and errors are those of `TfidfIndex.fit`."""
        return cls(index=TfidfIndex.fit(chunks, source=source), k=k)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun | None = None,  # noqa: ARG002 - LangChain's
    ) -> list[Document]:
        return [
            Document(
                page_content=chunk.text,
                id=chunk.id,
                metadata={
                    "id": chunk.id,
                    "score": score,
                    "title": chunk.title,
                    "source": chunk.source,
                },
            )
            for chunk, score in self.index.search(query, self.k)
        ]


def _texts(
    chunks: Sequence[CorpusChunk], on_chunk: Callable[[int, int], None] | None
) -> Iterator[str]:
    for number, chunk in enumerate(chunks, 1):
        yield chunk.text
        if on_chunk:
            on_chunk(number, len(chunks))
