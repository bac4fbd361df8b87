"""The guard: does a question belong to a support assistant for these documents?

The notion of the topic comes from the documents (what they cover) and from the labelled questions
(how people speak to a company about its service, and what they ask elsewhere).
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

import numpy as np

from agent.models.local.corpus import Corpus, Floats, Match
from agent.models.local.evidence import Evidence
from agent.models.local.relevance import LogisticWeights
from agent.models.local.words import is_content, stem, words
from agent.state import Confidence, TopicVerdict

TOPIC_FEATURES: Final = (
    "evidence_off_topic", "evidence_nothing", "evidence_best", "answerable", "best_relevance",
    "best_coverage", "known_share", "known_weight", "unknown_words", "concepts", "is_addressed",
    "trade_words", "elsewhere_words", "elsewhere_share", "unknown_names",
    "strange_words", "strange_share", "is_empty",
)  # fmt: skip
"""See `topic_features`."""
_NAME: Final = re.compile(r"(?<=[a-z0-9,;:'’)] )[A-Z][\w&.+-]*")
"""A capitalised word that does not begin a sentence."""
_RELEVANCE_RANGE: Final = (-8.0, 4.0)
_COUNT_CAP: Final = 3.0
HIGH_CONFIDENCE: Final = 0.9
MEDIUM_CONFIDENCE: Final = 0.7
"""Least probability of a verdict called so. Chosen by us: of the cross-validated verdicts on the
training questions so many were right (benchmarks/local_model.py prints it). A refusal counts from
its threshold, where it is as near to a search as can be: there its odds are taken as even."""


def topic_features(
    question: str,
    match: Match,
    corpus: Corpus,
    *,
    logits: Floats,
    answerable: float,
    evidence: Evidence,
    familiar: Container[str],
) -> Floats:
    """Return what speaks for and against a question's being on topic.

    Args:
        question: Its text, for the names in it.
        match: The question, matched against the documents.
        corpus: The documents.
        logits: Relevance of each chunk, shape (n_chunks,).
        answerable: Log odds that the likeliest chunk answers.
        evidence: What labelled questions tell.
        familiar: Stems that on-topic questions and documents use.

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
    pairs = zip(reading.words, reading.stems, strict=True)
    said = {text_stem for word, text_stem in pairs if is_content(word) and not word.isdigit()}
    strange = {text_stem for text_stem in said if text_stem not in familiar}
    trade = sum(name == "trade" for _, name in signs)
    return np.array(
        [
            evidence.off_topic,
            evidence.nothing,
            evidence.chunks.max(initial=0.0),
            np.clip(answerable, *_RELEVANCE_RANGE),
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
            min(len(_unknown_names(question, match, corpus)), _COUNT_CAP),
            min(len(strange), _COUNT_CAP),
            len(strange) / max(1, len(said)),
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
    logit = float(weights.logit(features))
    probability = 1.0 / (1.0 + np.exp(-logit))
    if probability >= threshold:
        return {"classification": "RELEVANT", "confidence": _confidence(probability)}
    beyond = np.log(threshold / (1.0 - threshold)) - logit
    return {"classification": "IRRELEVANT", "confidence": _confidence(1 / (1 + np.exp(-beyond)))}


def _unknown_names(question: str, match: Match, corpus: Corpus) -> set[str]:
    """Return capitalised words inside the question that neither documents nor lexicon know."""
    if question.isupper():
        return set()
    meant = {s for unit in match.reading.units if unit.concepts for s in unit.stems}
    named = {stem(word) for name in _NAME.findall(question) for word in words(name)}
    return {name for name in named if is_content(name) and name not in meant} - {
        name for name in named if corpus.has(name)
    }


def _confidence(probability: float) -> Confidence:
    if probability >= HIGH_CONFIDENCE:
        return "HIGH"
    return "MEDIUM" if probability >= MEDIUM_CONFIDENCE else "LOW"
