"""The grader: does this chunk answer the standalone question?"""

from __future__ import annotations

import numpy as np

from agent.models.local.corpus import Corpus, Passage
from agent.models.local.relevance import answerable_features, best_values, pair_features
from agent.models.local.understanding import Understanding, View, load_weights


def passes(view: View, passage: Passage, understanding: Understanding) -> bool:
    """Say whether a chunk answers a question, surely enough to answer from it.

    It must be the likeliest of all chunks, or hardly less likely, and the question must look as if
    the documents answered it. A chunk that is not among the fitted documents (another retriever may
    bring such) is read on the spot.
    """
    corpus, weights = understanding.corpus, understanding.weights
    row = corpus.rows.get(passage.id)
    if row is None or corpus.texts[row] != passage.text:
        return _guest_passes(view, passage, understanding)
    is_near_best = bool(view.logits[row] >= view.logits.max() - weights.lead)
    return is_near_best and view.answerable >= weights.answerable_logit


def rank(view: View) -> list[int]:
    """Return the rows of all chunks, the likeliest answer first; ties by row."""
    return [int(row) for row in np.argsort(-view.logits, kind="stable")]


def _guest_passes(view: View, passage: Passage, understanding: Understanding) -> bool:
    """Judge a chunk of other documents beside the best of ours, without labelled questions."""
    corpus = understanding.corpus
    weights = load_weights("unlabelled")
    guest = Corpus([passage], understanding.lexicon)
    match = guest.match(view.match.reading, view.match.weights)
    best = best_values(view.match, corpus) if len(corpus) else np.zeros(3)
    features = pair_features(view.question, match, guest, best)
    logits = weights.relevance.logit(features)
    if len(corpus):  # a guest on its own would lead by as much as can be, whatever it says
        ours = weights.relevance.logit(pair_features(view.question, view.match, corpus))
        logits = np.append(logits, ours.max())
    judged = answerable_features(features, logits, 0)
    return bool(weights.answerable.logit(judged) >= weights.answerable_logit)
