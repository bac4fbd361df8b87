"""The grader: does this chunk answer the standalone question?"""

from __future__ import annotations

from typing import Final

import numpy as np

from agent.models.local.corpus import Corpus, Floats, Passage
from agent.models.local.relevance import best_values, pair_features
from agent.models.local.understanding import Understanding, View, load_weights

_TEXT_ROW: Final = 0


def relevance_logit(view: View, passage: Passage, understanding: Understanding) -> float:
    """Return the log odds that a chunk answers a question.

    A chunk that is not among the fitted documents (another retriever may bring such) is read on
    the spot, without labelled questions.
    """
    corpus = understanding.corpus
    row = corpus.rows.get(passage.id)
    if row is not None and corpus.texts[row] == passage.text:
        return float(view.logits[row])
    guest = Corpus([passage], understanding.lexicon)
    match = guest.match(view.match.reading, view.match.weights)
    best = best_values(view.match, corpus) if len(corpus) else np.zeros(3)
    features = pair_features(view.question, match, guest, best)
    return float(load_weights("unlabelled").relevance.logit(features)[_TEXT_ROW])


def passes(view: View, passage: Passage, understanding: Understanding) -> bool:
    """Say whether a chunk answers a question, surely enough to answer from it."""
    return relevance_logit(view, passage, understanding) >= understanding.weights.pass_logit


def rank(view: View) -> list[int]:
    """Return the rows of all chunks, the likeliest answer first; ties by row."""
    order: Floats = np.argsort(-view.logits, kind="stable")
    return [int(row) for row in order]
