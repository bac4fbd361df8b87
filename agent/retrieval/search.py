"""Exact top-k search: the scores of `vectorizer.transform([query]) @ matrix.T`, bit for bit."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np

from agent.retrieval.postings import Floats, Ints, Postings
from agent.retrieval.pruning import TIE, is_member, promising_rows


class Searcher:
    """Searches one set of postings; many threads may use it at once."""

    def __init__(self, postings: Postings) -> None:
        self.postings = postings
        self._local = threading.local()

    def top(self, query: dict[int, float], k: int) -> list[tuple[int, float]]:
        """Return the k best chunks as (position in the corpus, score), best first.

        Tied scores (see `ranked`) go by position. When fewer than k chunks share a term with the
        query, the lowest positions of the others follow with score 0.

        Args:
            query: Weight of each term by its index: a vector of length 1, or empty.
            k: How many to return, at least 1; all chunks when the corpus has fewer.
        """
        found: list[tuple[int, float]] = []
        if query:
            terms = sorted(query.items())
            rows = promising_rows(self.postings, terms, k, self._sums())
            places = self.postings.places[rows]
            scores = _exact_scores(self.postings, terms, rows)
            found = list(zip(places.tolist(), scores.tolist(), strict=True))
        if sum(score > TIE for _, score in found) < k:
            found += _unmatched(self.postings.n_chunks, {place for place, _ in found}, k)
        return ranked(found)[:k]

    def _sums(self) -> Floats:
        """Return this thread's scratch space, one 0.0 a row; made once, then reused."""
        sums: Floats | None = getattr(self._local, "sums", None)
        if sums is None:
            sums = self._local.sums = np.zeros(self.postings.n_chunks)
        return sums


def ranked(found: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """Sort (position, score) by falling score, so that rounding noise never orders anything.

    Scores within `TIE` of the best one of their group are tied and go by position.
    """
    result: list[tuple[int, float]] = []
    group: list[tuple[int, float]] = []
    for place, score in sorted(found, key=lambda pair: -pair[1]):
        if group and group[0][1] - score > TIE:
            result += sorted(group)
            group = []
        group.append((place, score))
    return result + sorted(group)


def _exact_scores(postings: Postings, query: list[tuple[int, float]], rows: Ints) -> Floats:
    """Score rows by scikit-learn's and SciPy's own arithmetic: the order of operations matters."""
    scores = np.zeros(len(rows))
    for term, weight in query:
        for number in range(*postings.term_lists[term : term + 2]):
            members = postings.rows[slice(*postings.list_starts[number : number + 2])]
            hit = is_member(members, rows)
            numerator = float(postings.list_counts[number]) * postings.idf[term]
            scores[hit] += weight * (numerator / postings.norms[rows[hit]])
    return scores


def _unmatched(n_chunks: int, matched: set[int], k: int) -> list[tuple[int, float]]:
    """Return the k lowest positions that are not matched, with score 0."""
    candidates = range(min(n_chunks, len(matched) + k))
    return [(place, 0.0) for place in candidates if place not in matched][:k]
