"""Two spaces in which texts are compared: the documents' topics and the intents of a support desk.

Both turn the weighted terms of a text into a point by one matrix. The documents give theirs by the
truncated SVD of their TF-IDF weights (latent semantic analysis). The intents give theirs by ridge
regression from the TF-IDF weights of the sentences in `data/intents.txt` to the intent that each of
them expresses: there live the words that no document has, such as "goes down".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.extmath import randomized_svd

from telemetry.phrasing import Item, Reading, read

Vector = NDArray[np.float32]

MAX_DOCUMENTS: Final = 2_000
"""Documents that a space is fitted on, evenly spaced when there are more: bounds a fit's time."""
MAX_TOPICS: Final = 64
"""Dimensions of the documents' space at most. Chosen by us; below, half as many as documents."""
RIDGE: Final = 0.6
"""Penalty of the regression. On the training turns 0.1 to 1 ranked the same within 0.01 AUC."""
WORD_WEIGHT: Final = 0.2
"""How much a single word of `data/intents.txt` counts against a sentence. Like `RIDGE`, best of
several on the labelled questions of the local model (agent/data/local), which are not used here."""
TINY: Final = np.float32(1e-20)
"""Keeps a regression that is already solved exactly from dividing by 0."""
REGRESSION_STEPS: Final = 12
"""Steps of conjugate gradients. More ranked the training turns no better: they only fit noise."""
SHARPNESS: Final = np.float32(1.5)
"""Power of an intent's score, so that strong intents lead. Best of 1, 1.5 and 2 in training."""
CLOSENESS: Final = 0.5
"""Likeness of two intents of one group, 0 to 1. Best of 0, 0.3 and 0.5 in training."""


class Space:
    """A linear map from the weighted terms of a text to a point."""

    def __init__(
        self, terms: Callable[[Reading], list[str]], vectorizer: TfidfVectorizer, matrix: Vector
    ) -> None:
        """Keep what it takes to project one text.

        Args:
            terms: Says which terms a text has.
            vectorizer: Fitted on the texts that span the space.
            matrix: Direction of each term, shape (n_terms, n_dimensions).
        """
        self._terms = terms
        self._rows: dict[str, int] = vectorizer.vocabulary_
        self._idf: list[float] = vectorizer.idf_.tolist()
        self._matrix = matrix

    def project(self, reading: Reading) -> Vector:
        """Return the point of a text, shape (n_dimensions,); zeros when it has no known term."""
        rows = self._rows
        counts = Counter(rows[term] for term in self._terms(reading) if term in rows)
        if not counts:
            return np.zeros(self._matrix.shape[1], dtype=np.float32)
        weights = np.array(
            [(1 + math.log(count)) * self._idf[row] for row, count in counts.items()],
            dtype=np.float32,
        )
        weights /= math.sqrt(float(weights @ weights))
        point: Vector = weights @ self._matrix.take(list(counts), axis=0)
        return point

    def idf(self, term: str) -> float | None:
        """Return `1 + ln((1 + n) / (1 + n_with))` over n texts; None when none has the term."""
        row = self._rows.get(term)
        return None if row is None else self._idf[row]


def topic_terms(reading: Reading) -> list[str]:
    """Return a text's words and phrases, and the concepts that they can stand for."""
    terms = []
    for item in reading.items:
        terms.append(item.stem)
        terms.extend(f"={concept}" for concept in item.concepts)
    return terms


def intent_terms(reading: Reading) -> list[str]:
    """Return the topic terms of a text, and every word of it alone and with its neighbour."""
    stems = reading.stems
    pairs = [f"{left} {right}" for left, right in pairwise(stems)]
    return [*topic_terms(reading), *(f"'{stem}" for stem in stems), *pairs]


def _identity(terms: list[str]) -> list[str]:
    return terms


def _vectorizer() -> TfidfVectorizer:
    return TfidfVectorizer(analyzer=_identity, sublinear_tf=True)


def read_documents(documents: Sequence[str]) -> list[Reading]:
    """Read documents, beyond `MAX_DOCUMENTS` evenly spaced ones."""
    step = max(1, -(-len(documents) // MAX_DOCUMENTS))
    return [read(text) for text in documents[::step]]


class TopicSpace(Space):
    """The topics of a set of documents."""

    def __init__(self, documents: Sequence[Reading]) -> None:
        """Fit the space.

        Args:
            documents: At least one text with at least one word.

        Raises:
            ValueError: No document has a word (scikit-learn's empty vocabulary).
        """
        vectorizer = _vectorizer()
        weights = vectorizer.fit_transform([topic_terms(reading) for reading in documents])
        topics = min(MAX_TOPICS, max(2, len(documents) // 2), *weights.shape)
        directions = randomized_svd(weights, topics, random_state=0)[2]
        super().__init__(topic_terms, vectorizer, np.ascontiguousarray(directions.T, np.float32))
        self._n_documents = len(documents)

    @classmethod
    def fit(cls, documents: Sequence[Reading]) -> TopicSpace | None:
        """Return the space of the documents, or None when they have no word at all."""
        return cls(documents) if any(reading.items for reading in documents) else None

    @property
    def trust(self) -> float:
        """How far the documents can be believed, 0 to 1: a handful says little about topics.

        n / (n + 3) for n documents; chosen by us.
        """
        return self._n_documents / (self._n_documents + 3)

    def rarity(self, item: Item) -> float:
        """Return how rare a word or its concepts are in the documents: 0 in all, 1 in none."""
        known = [self.idf(term) for term in (item.stem, *(f"={c}" for c in item.concepts))]
        lowest = min((idf for idf in known if idf is not None), default=None)
        if lowest is None:
            return 1.0
        rarity = (lowest - 1) / math.log(1 + self._n_documents)
        return 1 - self.trust * (1 - rarity)


class IntentSpace(Space):
    """What a support desk is asked for: one dimension an intent."""

    def __init__(self, listing: str) -> None:
        """Fit the space on sentences and words, as `data/intents.txt` writes them."""
        examples: dict[str, list[tuple[str, float]]] = {}
        groups = []
        for line in listing.splitlines():
            name, _, rest = line.partition(":")
            if line.startswith("+"):
                groups.append(rest.split())
            elif line.startswith("="):
                words = [(phrase.replace("_", " "), WORD_WEIGHT) for phrase in rest.split()]
                examples[name[1:]].extend(words)
            elif line and not line.startswith("#"):
                examples[name] = [(sentence, 1.0) for sentence in rest.split("|")]
        self.intents: tuple[str, ...] = tuple(examples)
        pairs = [pair for each in examples.values() for pair in each]
        vectorizer = _vectorizer()
        features = vectorizer.fit_transform([intent_terms(read(text)) for text, _ in pairs])
        targets = np.repeat(np.eye(len(examples)), [len(e) for e in examples.values()], axis=0)
        roots = np.sqrt([[weight] for _, weight in pairs])
        matrix = _regress(features.multiply(roots).tocsr(), targets * roots)
        super().__init__(intent_terms, vectorizer, matrix)
        self._likeness = self._intent_likeness(groups)

    def _intent_likeness(self, groups: Sequence[Sequence[str]]) -> Vector:
        shared = np.array([[i in group for group in groups] for i in self.intents])
        likeness: Vector = np.where(shared @ shared.T, CLOSENESS, 0).astype(np.float32)
        np.fill_diagonal(likeness, 1)
        return likeness

    def strengths(self, point: Vector) -> Vector:
        """Return how strongly a text at `point` expresses each intent, not negative."""
        strengths: Vector = np.maximum(point, 0) ** SHARPNESS
        return strengths

    def spread(self, strengths: Vector) -> Vector:
        """Return `strengths` with each intent's share given to the intents close to it, too."""
        spread: Vector = self._likeness @ strengths
        return spread


def _regress(features: csr_matrix, targets: NDArray[np.float64]) -> Vector:
    """Solve ridge regressions by conjugate gradients in the dual, one column of targets each.

    Args:
        features: Shape (n_samples, n_features).
        targets: Shape (n_samples, n_targets).

    Returns:
        Coefficients, shape (n_features, n_targets).
    """
    features = features.astype(np.float32)
    transposed = features.T.tocsr()
    residual = targets.astype(np.float32)
    solution = np.zeros_like(residual)
    direction = residual.copy()
    square = (residual**2).sum(axis=0)
    for _ in range(REGRESSION_STEPS):
        image = features @ (transposed @ direction) + RIDGE * direction
        step = square / ((direction * image).sum(axis=0) + TINY)
        solution += step * direction
        residual -= step * image
        last, square = square, (residual**2).sum(axis=0)
        direction = residual + square / (last + TINY) * direction
    coefficients: Vector = transposed @ solution
    return coefficients


@cache
def intent_space() -> IntentSpace:
    """Return the space of the sentences that ship with the package; fitted once a process."""
    return IntentSpace(
        resources.files("telemetry").joinpath("data/intents.txt").read_text(encoding="utf-8")
    )
