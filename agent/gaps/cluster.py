"""Questions in groups that ask the same: TF-IDF and agglomerative clustering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from agent.retrieval.tokens import tokenize

DISTANCE: Final = 0.8
"""Mean cosine distance up to which two groups are joined, 0 to 1. Chosen by us on the handbook's
unanswerable questions: paraphrases that share a rare word join, subjects stay apart."""
MAX_QUESTIONS: Final = 1_000
"""Different questions that are grouped; chosen by us: time and memory grow with the square."""


def clusters(questions: Sequence[str], distance: float = DISTANCE) -> list[list[int]]:
    """Return the places of the questions in groups, each with its most typical one first.

    Args:
        questions: At most `MAX_QUESTIONS` different texts.
        distance: Mean cosine distance up to which groups are joined.

    Returns:
        Every place once. A question without a word is a group of its own.
    """
    from sklearn.cluster import AgglomerativeClustering  # takes long to import
    from sklearn.feature_extraction.text import TfidfVectorizer

    worded = [place for place, question in enumerate(questions) if tokenize(question)]
    alone = [[place] for place in range(len(questions)) if place not in set(worded)]
    if len(worded) < 2:
        return [[place] for place in worded] + alone
    weights = TfidfVectorizer(analyzer=_terms, sublinear_tf=True).fit_transform(
        [questions[place] for place in worded]
    )
    near = np.asarray((weights @ weights.T).todense())
    labels = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=distance
    ).fit_predict(np.clip(1 - near, 0, 1))
    groups: dict[int, list[int]] = {}
    for row, label in enumerate(labels):
        groups.setdefault(int(label), []).append(row)
    typical = [sorted(rows, key=lambda r: -near[r, rows].sum()) for rows in groups.values()]
    return [[worded[row] for row in rows] for rows in typical] + alone


def _terms(question: str) -> list[str]:
    """Return words without their plural: two customers rarely use the same number."""
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word
            for word in tokenize(question)]  # fmt: skip
