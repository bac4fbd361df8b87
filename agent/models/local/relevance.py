"""Does a chunk answer a question? Two logistic models over what the two have in common.

The first compares chunks: how likely each is the one that answers. The second looks at the best of
them alone: does it answer the question at all, or do the documents hold no answer? The guard, the
grader and the rewriter all look at the same scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from agent.models.local.answer_kinds import asked_kinds
from agent.models.local.corpus import Corpus, Floats, Match
from agent.models.local.evidence import Evidence

PAIR_FEATURES: Final = (
    "sentence_coverage", "sentence_coverage_squared", "chunk_coverage", "heading_coverage",
    "matched_weight", "missing_concepts", "missing_words", "unknown_concepts", "unknown_words",
    "cosine", "sentence_margin", "chunk_margin", "cosine_margin", "answer_kind", "question_weight",
)  # fmt: skip
"""What a question and a chunk have in common; see `pair_features`."""
EVIDENCE_FEATURES: Final = (
    "evidence", "evidence_margin", "evidence_of_nothing", "evidence_off_topic",
    "evidence_over_nothing",
)  # fmt: skip
"""What the labelled questions say, where the documents have any."""
LEAD_FEATURES: Final = ("best_logit", "lead")
"""How the best chunk stands to the others: its log odds, and their distance to the second's."""
_LEAD_CAP: Final = 8.0
_KNOWN: Final = 0.3
"""A unit that no sentence matches better is unknown to the documents."""
_MATCHED_CAP: Final = 3.0
_WEIGHT_CAP: Final = 4.0
_KIND_SHARE: Final = 0.8
"""Share of the best match that a sentence of the asked kind must have for a plus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticWeights:
    """A fitted logistic model on raw features."""

    intercept: float
    weights: Floats
    """Shape (n_features,)."""

    def logit(self, features: Floats) -> Floats:
        """Return the log odds; features have shape (..., n_features)."""
        logits: Floats = features @ self.weights + self.intercept
        return logits


def pair_features(
    question: str, match: Match, corpus: Corpus, best: Floats | None = None
) -> Floats:
    """Return the features of a question with each chunk.

    All coverages are shares of the question's weight, 0 to 1; a margin is the lead over the best
    other chunk.

    Args:
        question: The question's text, for the kind of answer it asks for.
        match: The question matched against `corpus`.
        corpus: The documents.
        best: Sentence coverage, chunk coverage and cosine to compare with instead of those of the
            corpus, shape (3,).

    Returns:
        Shape (n_chunks, len(PAIR_FEATURES)).
    """
    weights, total = match.weights, float(match.weights.sum())
    if not total or not len(corpus):
        return np.zeros((len(corpus), len(PAIR_FEATURES)))
    by_sentence = weights @ corpus.in_context(match)
    matched = corpus.best_of_chunk(by_sentence)
    coverage = matched / total
    chunk_coverage = weights @ match.chunks / total
    cosine = corpus.cosine(match.reading)
    missing = weights[:, None] * (1.0 - match.chunks)
    is_concept = np.array([bool(unit.concepts) for unit in match.reading.units])
    unknown = weights * (match.sentences.max(axis=1) < _KNOWN)
    unknown_words = float(unknown[~is_concept].sum())
    margins = [
        _margin(values, None if best is None else float(best[row]))
        for row, values in enumerate((coverage, chunk_coverage, cosine))
    ]
    ones = np.ones(len(corpus))
    return np.stack(
        [
            coverage,
            coverage**2,
            chunk_coverage,
            weights @ match.headings / total,
            np.minimum(matched, _MATCHED_CAP),
            missing[is_concept].sum(axis=0),
            missing[~is_concept].sum(axis=0) - unknown_words,
            ones * unknown[is_concept].sum(),
            ones * unknown_words,
            cosine,
            *margins,
            _answer_kind(question, by_sentence, matched, corpus),
            ones * min(total, _WEIGHT_CAP),
        ],
        axis=1,
    )


def best_values(match: Match, corpus: Corpus) -> Floats:
    """Return the best sentence coverage, chunk coverage and cosine among the chunks, shape (3,)."""
    total = float(match.weights.sum()) or 1.0
    by_sentence = match.weights @ corpus.in_context(match)
    return np.array(
        [
            by_sentence.max(initial=0.0) / total,
            (match.weights @ match.chunks).max(initial=0.0) / total,
            corpus.cosine(match.reading).max(initial=0.0),
        ]
    )


def evidence_features(evidence: Evidence) -> Floats:
    """Return the evidence features of one question with each chunk.

    Returns:
        Shape (n_chunks, len(EVIDENCE_FEATURES)).
    """
    chunks = evidence.chunks
    ones = np.ones(len(chunks))
    nothing = evidence.nothing
    return np.stack(
        [chunks, _margin(chunks), ones * nothing, ones * evidence.off_topic, chunks - nothing],
        axis=1,
    )


def answerable_features(features: Floats, logits: Floats, row: int) -> Floats:
    """Return the features that tell whether the likeliest chunk answers the question at all.

    Args:
        features: Relevance features of each chunk, shape (n_chunks, n_features).
        logits: Relevance of each chunk, shape (n_chunks,), at least one.
        row: The likeliest chunk.

    Returns:
        Shape (n_features + len(LEAD_FEATURES),).
    """
    others = np.delete(logits, row)
    lead = float(logits[row] - others.max()) if len(others) else _LEAD_CAP
    return np.append(features[row], [logits[row], np.clip(lead, -_LEAD_CAP, _LEAD_CAP)])


def _margin(values: Floats, best: float | None = None) -> Floats:
    """Return each value's lead over the best other one; over `best` when given."""
    if best is not None or len(values) < 2:
        return values - (best or 0.0)
    second, first = np.partition(values, -2)[-2:]
    leads: Floats = values - np.where(values >= first, second, first)
    return leads


def _answer_kind(question: str, by_sentence: Floats, matched: Floats, corpus: Corpus) -> Floats:
    """Return, for each kind asked for, how well sentences of that kind match; 0 for none asked."""
    fit = np.zeros(len(corpus))
    for kind in sorted(asked_kinds(question)):
        held = corpus.best_of_chunk(np.where(corpus.holds[kind], by_sentence, 0.0))
        fit += held / np.maximum(matched, 1e-9) - _KIND_SHARE
    return fit
