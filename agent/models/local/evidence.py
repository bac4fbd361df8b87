"""What labelled questions tell about a new one: ridge regression from wording to chunk.

The labelled questions of a set of documents say how customers ask for what a chunk holds, in words
that the chunk itself need not have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix

from agent.models.local.corpus import Corpus, Floats, Match
from agent.models.local.reading import Reading

RIDGE: Final = 0.6
PAIR_WEIGHT: Final = 0.7
MATCH_WEIGHT: Final = 0.6
"""Ridge penalty, and the weights of word pairs and of matched sentences beside single words; tuned
by cross-validation on the training questions (benchmarks/local_model.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Scores of one question: 1 is certain, 0 no sign of it; a little outside is possible."""

    chunks: Floats
    """Shape (n_chunks,)."""
    nothing: float
    """On topic, but not in the documents."""
    off_topic: float


class TermWeights:
    """TF-IDF vectors of unit length over a fixed vocabulary (sublinear term frequency)."""

    def __init__(self, documents: Sequence[Sequence[str]], *, least_documents: int = 1) -> None:
        counts = Counter(term for document in documents for term in set(document))
        kept = sorted(term for term, count in counts.items() if count >= least_documents)
        self.index: Final = {term: number for number, term in enumerate(kept)}
        self._idf = [math.log((1 + len(documents)) / (1 + counts[term])) + 1.0 for term in kept]

    def vector(self, terms: Sequence[str]) -> tuple[list[int], list[float]]:
        """Return indices and weights of the known terms; no terms, no weights."""
        counts = Counter(self.index[term] for term in terms if term in self.index)
        weights = [self._idf[i] * (1.0 + math.log(count)) for i, count in counts.items()]
        length = math.sqrt(sum(weight * weight for weight in weights)) or 1.0
        return list(counts), [weight / length for weight in weights]


class LabelledEvidence:
    """A ridge regression over the wording of labelled questions."""

    def __init__(self, matches: Sequence[Match], targets: Floats, corpus: Corpus) -> None:
        """Fit on labelled questions.

        Args:
            matches: The questions, matched against `corpus`.
            targets: Shape (n_questions, n_chunks + 2); see `targets_of`.
            corpus: The documents that the labels speak of; an empty one when they speak of others,
                then the wording alone counts.
        """
        self._corpus = corpus
        self._words = TermWeights([_words(match.reading) for match in matches])
        self._pairs = TermWeights([_pairs(match.reading) for match in matches], least_documents=2)
        rows = [self._vector(match) for match in matches]
        indptr = np.cumsum([0, *(len(indices) for indices, _ in rows)])
        self.features: Final = csr_matrix(
            (
                np.concatenate([values for _, values in rows]),
                np.concatenate([indices for indices, _ in rows]),
                indptr,
            ),
            shape=(len(rows), self._n_features),
        )
        kernel = (self.features @ self.features.T).toarray()
        kernel[np.diag_indices_from(kernel)] += RIDGE * kernel.diagonal().mean()
        self._factor = cho_factor(kernel, overwrite_a=True)
        self._targets = targets
        self._mean = targets.mean(axis=0)
        self._dual = cho_solve(self._factor, targets - self._mean)
        self._weights: Floats = self.features.T @ self._dual

    @property
    def _n_features(self) -> int:
        n_matched = len(self._corpus.sentences) + len(self._corpus)
        return len(self._words.index) + len(self._pairs.index) + n_matched

    def score(self, match: Match) -> Evidence:
        """Return what the labelled questions tell about a new one."""
        indices, values = self._vector(match)
        return _evidence(values @ self._weights[indices] + self._mean)

    def score_left_out(self, groups: NDArray[np.intp]) -> list[Evidence]:
        """Return what the other groups tell about each labelled question, without refitting.

        Args:
            groups: Shape (n_questions,); questions of one group are left out together.

        Source:
            The leave-out residual of ridge regression, G_BB^-1 (G y)_B with G the inverse of the
            regularised kernel: Rifkin and Lippert (2007), "Notes on Regularized Least Squares".
        """
        inverse = cho_solve(self._factor, np.eye(len(self._targets)))
        scores = np.zeros_like(self._targets)
        for group in np.unique(groups):
            at = np.flatnonzero(groups == group)
            residual = np.linalg.solve(inverse[np.ix_(at, at)], self._dual[at])
            scores[at] = self._targets[at] - residual
        return [_evidence(row) for row in scores]

    def _vector(self, match: Match) -> tuple[NDArray[np.intp], Floats]:
        """Return indices and values of a question's features: words, word pairs, matches."""
        words, word_values = self._words.vector(_words(match.reading))
        pairs, pair_values = self._pairs.vector(_pairs(match.reading))
        n_words, n_pairs = len(self._words.index), len(self._pairs.index)
        matched = self._matched(match)
        at = np.flatnonzero(matched)
        indices = [
            np.array(words, dtype=np.intp),
            np.array(pairs, dtype=np.intp) + n_words,
            at + n_words + n_pairs,
        ]
        values = [np.array(word_values), PAIR_WEIGHT * np.array(pair_values), matched[at]]
        return np.concatenate(indices), np.concatenate(values)

    def _matched(self, match: Match) -> Floats:
        """Return which sentences and chunks a question matches; of length `MATCH_WEIGHT` or 0."""
        by_sentence = match.weights @ self._corpus.in_context(match)
        by_chunk = match.weights @ match.chunks
        vector: Floats = np.concatenate([_unit(by_sentence), _unit(by_chunk)])
        return MATCH_WEIGHT * _unit(vector)


def targets_of(
    answers: Sequence[Sequence[str]], on_topic: Sequence[bool], corpus: Corpus
) -> Floats:
    """Return 1 for each answer chunk, else for "nothing" (on topic) or "off topic", else 0.

    Returns:
        Shape (n_questions, n_chunks + 2): the chunks, nothing, off topic.
    """
    targets = np.zeros((len(answers), len(corpus) + 2))
    for row, (ids, is_on_topic) in enumerate(zip(answers, on_topic, strict=True)):
        for id_ in ids:
            targets[row, corpus.rows[id_]] = 1.0
        if not ids:
            targets[row, -2 if is_on_topic else -1] = 1.0
    return targets


def _evidence(scores: Floats) -> Evidence:
    return Evidence(chunks=scores[:-2], nothing=float(scores[-2]), off_topic=float(scores[-1]))


def _unit(vector: Floats) -> Floats:
    """Return a vector at length 1; one of zeros as it is."""
    length = float(np.sqrt(vector @ vector))
    return vector / length if length else vector


def _words(reading: Reading) -> list[str]:
    concepts = [f"concept:{concept}" for unit in reading.units for concept in unit.concepts]
    signs = [f"sign:{sign}" for span in reading.signs for sign in span.groups]
    return [*reading.stems, *concepts, *signs]


def _pairs(reading: Reading) -> list[str]:
    return [f"{left} {right}" for left, right in pairwise(("", *reading.stems, ""))]
