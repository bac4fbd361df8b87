"""What labelled questions tell about a new one: ridge regression from wording to chunk.

The labelled questions of a set of documents say how customers ask for what a chunk holds, in words
that the chunk itself need not have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from agent.models.local.corpus import Corpus, Floats
from agent.models.local.lexicon import Phrases
from agent.models.local.reading import Reading

_PARTS: Final = ((1.0, 1), (0.8, 2), (1.2, 1), (1.0, 2))
"""Weight of each kind of wording (words, word pairs, senses, pairs of meanings), and the least
number of questions that a term must occur in."""
RIDGE: Final = 1.5
"""Ridge penalty. All of them were tuned by cross-validation on the training questions
(benchmarks/local_model.py)."""
MAX_STEPS: Final = 60
SOLVED: Final = 1e-4
"""Steps of the solver, and the squared residual of a column at which it is good enough. Chosen by
us: further steps change scores by less than 0.001."""
_TINY: Final = 1e-300


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

    def __init__(
        self,
        readings: Sequence[Reading],
        targets: Floats,
        senses: Phrases,
        is_ignored: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Fit on labelled questions.

        Args:
            readings: The questions.
            targets: Shape (n_questions, n_chunks + 2); see `targets_of`.
            senses: Words of everyday English by sense.
            is_ignored: Says which stems tell nothing. For labels of other documents: those that the
                documents at hand use, since what they mean there is not what they mean here.
        """
        self._senses = senses
        self._is_ignored = is_ignored
        wordings = [self._wording(reading) for reading in readings]
        self._parts = tuple(
            TermWeights([wording[number] for wording in wordings], least_documents=least)
            for number, (_, least) in enumerate(_PARTS)
        )
        rows = [self._vector(wording) for wording in wordings]
        starts = np.cumsum([0, *(len(indices) for indices, _ in rows)])
        indices = np.concatenate([np.zeros(0, dtype=np.intp), *(at for at, _ in rows)])
        values = np.concatenate([np.zeros(0), *(weights for _, weights in rows)])
        shape = (len(rows), sum(len(part.index) for part in self._parts))
        self.features: Final = csr_matrix((values, indices, starts), shape=shape)
        self.targets: Final = targets
        self._mean = targets.mean(axis=0) if len(targets) else np.zeros(targets.shape[1])
        dual = _solve(self.features, targets - self._mean)
        self._weights: Floats = self.features.T @ dual

    def score(self, reading: Reading) -> Evidence:
        """Return what the labelled questions tell about a new one."""
        indices, values = self._vector(self._wording(reading))
        return evidence_of(values @ self._weights[indices] + self._mean)

    def _wording(self, reading: Reading) -> tuple[list[str], ...]:
        """Return a question's words, word pairs, senses, and pairs of meanings; as `_PARTS`."""
        stems = [stem for stem in reading.stems if not self._is_ignored(stem)]
        concepts = sorted(
            f"concept:{concept}"
            for concept in {concept for unit in reading.units for concept in unit.concepts}
            if not self._is_ignored(f"concept:{concept}")
        )
        signs = [
            f"sign:{sign}"
            for span in reading.signs
            if not all(map(self._is_ignored, reading.stems[span.start : span.end]))
            for sign in sorted(span.groups)
        ]
        senses = sorted(f"sense:{sense}" for sense in self._senses.find_all(stems))
        return (
            [*stems, *concepts, *signs],
            [f"{left} {right}" for left, right in pairwise(("", *stems, ""))],
            senses,
            [f"{left} {right}" for left, right in combinations([*concepts, *senses], 2)],
        )

    def _vector(self, wording: Sequence[Sequence[str]]) -> tuple[NDArray[np.intp], Floats]:
        """Return indices and values of a question's features."""
        indices: list[int] = []
        values: list[float] = []
        start = 0
        for (weight, _), terms, part in zip(_PARTS, wording, self._parts, strict=True):
            at, weights = part.vector(terms)
            indices += [index + start for index in at]
            values += [weight * value for value in weights]
            start += len(part.index)
        return np.array(indices, dtype=np.intp), np.array(values)


def _solve(features: Any, wanted: Floats) -> Floats:
    """Return the dual weights (X X^T + `RIDGE`)^-1 Y by conjugate gradients, all columns at once.

    Source:
        Hestenes and Stiefel (1952), "Methods of Conjugate Gradients for Solving Linear Systems".
    """
    transposed = features.T.tocsr()
    solution = np.zeros_like(wanted)
    residual, direction = wanted.copy(), wanted.copy()
    squares = (residual * residual).sum(axis=0)
    for _ in range(MAX_STEPS):
        if squares.max(initial=0.0) <= SOLVED:
            break
        image = features @ (transposed @ direction) + RIDGE * direction
        step = squares / np.maximum((direction * image).sum(axis=0), _TINY)
        solution += step * direction
        residual -= step * image
        before, squares = squares, (residual * residual).sum(axis=0)
        direction = residual + squares / np.maximum(before, _TINY) * direction
    return solution


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


def evidence_of(scores: Floats) -> Evidence:
    """Return scores in the columns of `targets_of` by name."""
    return Evidence(chunks=scores[:-2], nothing=float(scores[-2]), off_topic=float(scores[-1]))
