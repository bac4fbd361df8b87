"""What the local model makes of a question, given its documents; fitted when it is loaded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

import numpy as np

from agent.models.local.corpus import Corpus, Floats, Match, Passage
from agent.models.local.evidence import Evidence, LabelledEvidence, targets_of
from agent.models.local.labelled import LabelledQuestion
from agent.models.local.lexicon import Lexicon
from agent.models.local.reading import Reading, read
from agent.models.local.relevance import (
    EVIDENCE_FEATURES,
    LEAD_FEATURES,
    PAIR_FEATURES,
    LogisticWeights,
    answerable_features,
    evidence_features,
    pair_features,
)
from agent.models.local.spelling import Speller
from agent.models.local.topic import TOPIC_FEATURES, topic_features
from agent.models.local.words import stem, words
from agent.retrieval.tokens import FUNCTION_WORDS

WEIGHTS_FILE: Final = "data/local/weights.json"
_VIEWS_KEPT: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The fitted numbers of the model, for documents with labelled questions or without."""

    relevance: LogisticWeights
    answerable: LogisticWeights
    answerable_logit: float
    """Least log odds that the likeliest chunk answers, with which any chunk passes the grader."""
    lead: float
    """Chunks whose log odds of relevance are at most this far below the likeliest pass with it."""
    topic: LogisticWeights
    topic_probability: float
    """Least probability of being on topic with which a question passes the guard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A question, seen before the documents."""

    question: str
    match: Match
    logits: Floats
    """Log odds that each chunk answers it, shape (n_chunks,)."""
    answerable: float
    """Log odds that the likeliest chunk answers it; minus infinity without chunks."""
    evidence: Evidence
    """What labelled questions tell."""
    topic: Floats
    """Features of the topic check, shape (len(TOPIC_FEATURES),)."""


class Understanding:
    """The documents, the lexicon and the labelled questions, put together."""

    def __init__(
        self,
        chunks: Sequence[Passage],
        labelled: Sequence[LabelledQuestion],
        lexicon: Lexicon,
        weights: Weights | None = None,
    ) -> None:
        """Index the documents and learn from the labelled questions.

        The answers of the labelled questions count when every one is a chunk of the documents;
        else the labels belong to other documents and tell only what is on and off topic.

        Args:
            chunks: The documents' chunks, with distinct ids; may be empty.
            labelled: Labelled questions, of these documents or of others.
            lexicon: The words and phrases to know.
            weights: The model's fitted numbers; None for the packaged ones.
        """
        self.lexicon: Final = lexicon
        self.corpus: Final = Corpus(chunks, lexicon)
        known = {word for q in labelled if q.is_well_spelled for word in words(q.text)}
        self.speller: Final = Speller(
            known | lexicon.vocabulary | FUNCTION_WORDS, self.corpus.vocabulary
        )
        self.familiar: Final = self.familiar_stems(labelled, least=1)
        answers = {id_ for question in labelled for id_ in question.answers}
        self.has_labels: Final = bool(answers) and answers <= self.corpus.rows.keys()
        self.weights: Final = weights or load_weights(
            "labelled" if self.has_labels else "unlabelled"
        )
        self.view: Final = lru_cache(maxsize=_VIEWS_KEPT)(self._view)
        self.evidence: Final = self._learn(labelled)

    def _learn(self, labelled: Sequence[LabelledQuestion]) -> LabelledEvidence:
        """Fit the evidence; labels of other documents tell only what is on and off topic."""
        corpus = self.corpus if self.has_labels else Corpus([], self.lexicon)
        answers = [question.answers if self.has_labels else () for question in labelled]
        on_topic = [question.is_on_topic for question in labelled]
        return LabelledEvidence(
            [self.read(question.text) for question in labelled],
            targets_of(answers, on_topic, corpus),
            self.lexicon.senses,
            (lambda _: False) if self.has_labels else self.corpus.has,
        )

    def familiar_stems(self, labelled: Sequence[LabelledQuestion], *, least: int) -> frozenset[str]:
        """Return the stems that on-topic questions, the documents or the lexicon use.

        Args:
            labelled: Questions, of which the on-topic ones count.
            least: On-topic questions that must use a stem; 2 when the question that is looked at
                is one of them.
        """
        said = Counter(
            text_stem
            for question in labelled
            if question.is_on_topic
            for text_stem in set(map(stem, words(question.text)))
        )
        often = {text_stem for text_stem, count in said.items() if count >= least}
        return frozenset(often | self.lexicon.desk_stems | set(map(stem, self.corpus.vocabulary)))

    def read(self, question: str) -> Reading:
        """Read a question and mend its typing mistakes."""
        return read(question, self.lexicon, self.speller.mend)

    def view_from(self, question: str, match: Match, evidence: Evidence) -> View:
        """Return the view of a question."""
        features = self.relevance_features(question, match, evidence)
        logits = self.weights.relevance.logit(features)
        answerable = -np.inf
        if len(logits):
            judged = answerable_features(features, logits, int(logits.argmax()))
            answerable = float(self.weights.answerable.logit(judged))
        return View(
            question=question,
            match=match,
            logits=logits,
            answerable=answerable,
            evidence=evidence,
            topic=topic_features(
                question,
                match,
                self.corpus,
                logits=logits,
                answerable=answerable,
                evidence=evidence,
                familiar=self.familiar,
            ),
        )

    def relevance_features(self, question: str, match: Match, evidence: Evidence) -> Floats:
        """Return the relevance features of a question with each chunk, shape (n_chunks, n)."""
        features = pair_features(question, match, self.corpus)
        if self.has_labels:
            features = np.hstack([features, evidence_features(evidence)])
        return features

    def _view(self, question: str) -> View:
        reading = self.read(question)
        return self.view_from(question, self.corpus.match(reading), self.evidence.score(reading))


@cache
def load_weights(name: str) -> Weights:
    """Return the packaged weights, `labelled` or `unlabelled`.

    They are made by `python benchmarks/local_model.py --fit`.
    """
    data = json.loads((files("agent") / WEIGHTS_FILE).read_text(encoding="utf-8"))[name]
    extra = EVIDENCE_FEATURES if name == "labelled" else ()
    return Weights(
        relevance=_logistic(data["relevance"], (*PAIR_FEATURES, *extra)),
        answerable=_logistic(data["answerable"], (*PAIR_FEATURES, *extra, *LEAD_FEATURES)),
        answerable_logit=data["answerable_logit"],
        lead=data["lead"],
        topic=_logistic(data["topic"], TOPIC_FEATURES),
        topic_probability=data["topic_probability"],
    )


def _logistic(data: dict[str, Any], features: Sequence[str]) -> LogisticWeights:
    return LogisticWeights(
        intercept=data["intercept"], weights=np.array([data[name] for name in features])
    )
