"""The documents, indexed for loose matching: which sentence of which chunk speaks of a unit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from agent.models.local.answer_kinds import KINDS, held_kinds
from agent.models.local.lexicon import Lexicon
from agent.models.local.passages import split_chunk
from agent.models.local.reading import Reading, Unit, read, terms_of
from agent.models.local.words import is_content

Floats = NDArray[np.float64]

CONCEPT_MATCH: Final = 0.85
"""Strength of a match by meaning; a match of the same stem is 1."""
RELATED_MATCH: Final = 0.35
"""Strength of a match of a neighbouring concept. Both were tuned on the training questions."""
HEADING_SHARE: Final = 0.6
"""What a match in the heading counts for each sentence below it."""
NUMBER_WEIGHT: Final = 0.4
"""What a number in a question weighs beside a word: a wrong amount is no other subject."""
_CACHED_CELLS: Final = 4_000_000


class Passage(Protocol):
    """A chunk of a document: what is retrieved, graded and cited."""

    @property
    def id(self) -> str:
        """Distinct among the chunks."""

    @property
    def text(self) -> str:
        """Its heading, a blank line, and the body; or the body alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How the documents match a question, unit by unit.

    `sentences` has shape (n_units, n_sentences), `chunks` and `headings` (n_units, n_chunks); 0 is
    no match, 1 the same word. `weights`, shape (n_units,), says how telling each unit is, 0 to 1.
    """

    reading: Reading
    weights: Floats
    sentences: Floats
    chunks: Floats
    headings: Floats


class Corpus:
    """Chunks cut into sentences, with the places of each stem and concept.

    Sentence 0 of each chunk is its heading (empty when it has none).
    """

    def __init__(self, chunks: Sequence[Passage], lexicon: Lexicon) -> None:
        self.ids: Final = [chunk.id for chunk in chunks]
        self.rows: Final = {id_: row for row, id_ in enumerate(self.ids)}
        self.texts: Final = [chunk.text for chunk in chunks]
        self.sentences: Final[list[str]] = []
        self._lexicon = lexicon
        starts: list[int] = []
        places: dict[str, list[int]] = {}
        counts: list[Counter[str]] = []
        surface: set[str] = set()
        for text in self.texts:
            starts.append(len(self.sentences))
            counts.append(Counter())
            heading, sentences = split_chunk(text)
            for sentence in [heading, *sentences]:
                reading = read(sentence, lexicon)
                surface.update(reading.words)
                terms = terms_of(reading)
                counts[-1].update(terms)
                for term in terms:
                    places.setdefault(term, []).append(len(self.sentences))
                self.sentences.append(sentence)
        self.vocabulary: Final = frozenset(word for word in surface if is_content(word))
        self.starts: Final = np.array(starts, dtype=np.intp)
        self.chunk_of: Final = np.repeat(
            np.arange(len(starts)), np.diff([*starts, len(self.sentences)])
        )
        self.holds: Final = {
            kind: np.array([kind in kinds for kinds in map(held_kinds, self.sentences)], dtype=bool)
            for kind in KINDS
        }
        self._places = {term: np.array(at, dtype=np.intp) for term, at in places.items()}
        self._weigh(counts)
        cached = max(16, _CACHED_CELLS // max(1, len(self.sentences)))
        self._strengths = lru_cache(maxsize=cached)(self._unit_strengths)

    def __len__(self) -> int:
        return len(self.ids)

    def has(self, term: str) -> bool:
        """Say whether a term (a stem, or `concept:name`) occurs in the documents."""
        return term in self._places

    def weight(self, term: str) -> float:
        """Return how telling a term is: 1 when one chunk or none has it, near 0 when all have."""
        count = len(self._term_rows[term]) if term in self._term_rows else 1
        return math.log((1 + len(self)) / count) / math.log(1 + len(self)) if len(self) else 1.0

    def unit_weight(self, unit: Unit) -> float:
        """Return how telling a unit is, 0 to 1; one that the documents lack is worth most."""
        terms = [*(f"concept:{concept}" for concept in unit.concepts), *unit.stems]
        weight = max((self.weight(term) for term in terms if self.has(term)), default=1.0)
        return weight * (NUMBER_WEIGHT if unit.is_number else 1.0)

    def match(self, reading: Reading, weights: Floats | None = None) -> Match:
        """Match a question against every sentence of the documents.

        Args:
            reading: The question.
            weights: Weight of each unit, 0 to 1, shape (n_units,); None for this corpus' own.
        """
        sentences = np.zeros((len(reading.units), len(self.sentences)))
        for row, unit in enumerate(reading.units):
            sentences[row] = self._strengths(unit)
        if weights is None:
            weights = np.array([self.unit_weight(unit) for unit in reading.units])
        return Match(
            reading=reading,
            weights=weights,
            sentences=sentences,
            chunks=self.best_of_chunk(sentences),
            headings=sentences[:, self.starts],
        )

    def best_of_chunk(self, values: Floats) -> Floats:
        """Return the largest value among each chunk's sentences, along the last axis."""
        if not len(self):
            return values[..., :0]
        best: Floats = np.maximum.reduceat(values, self.starts, axis=-1)
        return best

    def in_context(self, match: Match) -> Floats:
        """Return the sentences' strengths, with a chunk's heading counting for all of them.

        Returns:
            Shape (n_units, n_sentences), 0 to 1.
        """
        context: Floats = np.maximum(
            match.sentences, HEADING_SHARE * match.headings[:, self.chunk_of]
        )
        return context

    def cosine(self, reading: Reading) -> Floats:
        """Return TF-IDF cosines of a question and each chunk over stems and concepts, 0 to 1."""
        cosines = np.zeros(len(self))
        norm = 0.0
        for term in sorted(terms_of(reading)):  # sorted: sums of floats depend on the order
            rows = self._term_rows.get(term)
            idf = self._idf(0 if rows is None else len(rows))
            norm += idf * idf
            if rows is not None:
                cosines[rows] += idf * self._term_weights[term]
        return cosines / math.sqrt(norm) if norm else cosines

    def _unit_strengths(self, unit: Unit) -> Floats:
        """Return the strength of a unit's match in each sentence; the strongest match counts."""
        strengths = np.zeros(len(self.sentences))
        for concept in unit.concepts:
            for other in self._lexicon.related.get(concept, ()):
                self._raise(strengths, f"concept:{other}", RELATED_MATCH)
        for concept in unit.concepts:
            self._raise(strengths, f"concept:{concept}", CONCEPT_MATCH)
        if len(unit.stems) == 1:
            self._raise(strengths, unit.stems[0], 1.0)
        elif unit.stems:
            share = np.zeros_like(strengths)
            for term in unit.stems:
                share[self._places.get(term, ())] += 1.0 / len(unit.stems)
            np.maximum(strengths, share * (share > 0.5), out=strengths)
        return strengths

    def _raise(self, strengths: Floats, term: str, strength: float) -> None:
        places: Any = self._places.get(term)
        if places is not None:
            strengths[places] = np.maximum(strengths[places], strength)

    def _idf(self, n_chunks: int) -> float:
        return math.log((1 + len(self)) / (1 + n_chunks)) + 1.0

    def _weigh(self, counts: Sequence[Counter[str]]) -> None:
        """Keep, for each term, its chunks and its TF-IDF weight in each (rows of unit length)."""
        rows: dict[str, list[int]] = {}
        for row, chunk_counts in enumerate(counts):
            for term in chunk_counts:
                rows.setdefault(term, []).append(row)
        self._term_rows = {term: np.array(at, dtype=np.intp) for term, at in rows.items()}
        weights: dict[str, list[float]] = {term: [] for term in rows}
        for chunk_counts in counts:
            raw = {
                term: (1.0 + math.log(count)) * self._idf(len(rows[term]))
                for term, count in chunk_counts.items()
            }
            length = math.sqrt(sum(value * value for value in raw.values())) or 1.0
            for term, value in raw.items():
                weights[term].append(value / length)
        self._term_weights = {term: np.array(values) for term, values in weights.items()}
