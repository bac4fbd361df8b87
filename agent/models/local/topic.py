"""The guard: does a question belong to a support assistant for these documents?

The notion of the topic comes from the documents (what they cover) and from the labelled questions
(how people speak to a company about its service, and what they ask elsewhere).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from agent.models.local.corpus import Corpus, Floats, Match
from agent.models.local.evidence import Evidence
from agent.models.local.relevance import LogisticWeights
from agent.state import Confidence, TopicVerdict

TOPIC_FEATURES: Final = (
    "evidence_off_topic", "evidence_nothing", "evidence_best", "best_relevance", "best_coverage", "known_share", "known_weight",
    "unknown_words", "concepts", "is_addressed", "trade_words", "elsewhere_words",
    "elsewhere_share", "is_empty",
)  # fmt: skip
"""See `topic_features`."""
_RELEVANCE_RANGE: Final = (-8.0, 4.0)
_COUNT_CAP: Final = 3.0
HIGH_CONFIDENCE: Final = 0.9
MEDIUM_CONFIDENCE: Final = 0.7
"""Least probability of a verdict called so. Chosen by us: of the cross-validated verdicts on the
training questions so many were right (benchmarks/local_model.py prints it)."""


def topic_features(match: Match, corpus: Corpus, logits: Floats, evidence: Evidence) -> Floats:
    """Return what speaks for and against a question's being on topic.

    Args:
        match: The question, matched against the documents.
        corpus: The documents.
        logits: Relevance of each chunk, shape (n_chunks,).
        evidence: What labelled questions tell.

    Returns:
        Shape (len(TOPIC_FEATURES),).
    """
    reading, weights = match.reading, match.weights
    total = float(weights.sum())
    known = weights * match.sentences.max(axis=1, initial=0.0)
    by_sentence = weights @ corpus.in_context(match)
    is_concept = np.array([bool(unit.concepts) for unit in reading.units], dtype=bool)
    signs = [(span, name) for span in reading.signs for name in sorted(span.groups)]
    elsewhere = sum(
        name.startswith("elsewhere:")
        and not all(corpus.has(term) for term in reading.stems[span.start : span.end])
        for span, name in signs
    )
    trade = sum(name == "trade" for _, name in signs)
    return np.array(
        [
            evidence.off_topic,
            evidence.nothing,
            evidence.chunks.max(initial=0.0),
            np.clip(logits.max(initial=_RELEVANCE_RANGE[0]), *_RELEVANCE_RANGE),
            by_sentence.max(initial=0.0) / total if total else 0.0,
            known.sum() / total if total else 0.0,
            min(known.sum(), _COUNT_CAP),
            min((weights * ~is_concept).sum() - (known * ~is_concept).sum(), _COUNT_CAP),
            min(is_concept.sum(), _COUNT_CAP),
            float(any(name == "address" for _, name in signs)),
            min(trade, _COUNT_CAP),
            min(elsewhere, _COUNT_CAP),
            elsewhere / max(1.0, elsewhere + float(is_concept.sum()) + trade),
            float(not total),
        ]
    )


def verdict(features: Floats, weights: LogisticWeights, threshold: float) -> TopicVerdict:
    """Return the topic verdict.

    Args:
        features: Shape (len(TOPIC_FEATURES),).
        weights: The fitted model; its logit is that of being on topic.
        threshold: Least probability of being on topic with which a question is let through, below
            one half: a wrong refusal costs more than a search.
    """
    probability = 1.0 / (1.0 + np.exp(-float(weights.logit(features))))
    if probability >= threshold:
        return {"classification": "RELEVANT", "confidence": _confidence(probability)}
    return {"classification": "IRRELEVANT", "confidence": _confidence(1.0 - probability)}


def _confidence(probability: float) -> Confidence:
    if probability >= HIGH_CONFIDENCE:
        return "HIGH"
    return "MEDIUM" if probability >= MEDIUM_CONFIDENCE else "LOW"
