"""Find the few rows that can be among the k best, reading as little of the postings as possible.

A row's score is the sum of the numerators of its lists, divided by its norm. Order the lists by
numerator: a row whose first list is list j scores at most cap_j / norm, where cap_j adds up, term
by term, the largest numerator at or after j. So once k rows are known to score at least s, list j
holds nothing of interest beyond the norm cap_j / s; and since lists run by ascending norm, that is
a prefix. What was read is then filtered by the most that the unread lists could still add.

Source: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995 (MaxScore). The
order by norm and the one list per count, which make the bounds tight, are ours.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from agent.retrieval.postings import Floats, Ints, Postings

TIE: Final = 1e-9
"""Scores no further apart than this are tied; the tolerance of the synonym-swap rule."""

SHORT_LIST: Final = 4096
"""Lists of at most so many postings are read whole at once."""
FIRST_ROWS: Final = 8192
"""Rows up to which the long lists are read in the first round."""
DEEPER: Final = 8
"""Factor on `FIRST_ROWS` from round to round. All three chosen by benchmarks/retrieval.py."""

_SLACK: Final = 1 + 1e-9
"""Factor on the bounds, far above the rounding error of a sum of 10^5 products."""

_NO_ROWS: Final[Ints] = np.empty(0, np.int32)


def promising_rows(
    postings: Postings, query: list[tuple[int, float]], k: int, sums: Floats
) -> Ints:
    """Return a superset of the rows that are among the k best of a query or tied with them.

    Rows that share no term with the query are never returned.

    Args:
        postings: The corpus.
        query: Terms by ascending index, each with its weight above 0; not empty.
        k: At least 1.
        sums: One 0.0 a row, for this call alone; it is left as it was.
    """
    reading = _Reading(postings, query, sums)
    try:
        return reading.rows_left(k)
    finally:
        for rows in reading.seen:
            sums[rows] = 0.0


class _Reading:
    """The lists of one query by falling numerator, and how far each has been read."""

    def __init__(self, postings: Postings, query: list[tuple[int, float]], sums: Floats) -> None:
        self._postings, self._sums, self._n_terms = postings, sums, len(query)
        spans = [np.arange(*postings.term_lists[term : term + 2]) for term, _ in query]
        factors = [weight * float(postings.idf[term]) for term, weight in query]
        numbers = np.concatenate(spans)
        sizes = [len(span) for span in spans]
        values = postings.list_counts[numbers] * np.repeat(factors, sizes)
        order = np.argsort(-values, kind="stable")
        self._numerators: Floats = values[order]
        self._terms = np.repeat(np.arange(len(query)), sizes)[order]
        self._starts = postings.list_starts[numbers[order]]
        self._sizes = postings.list_starts[numbers[order] + 1] - self._starts
        self._read = np.zeros_like(self._sizes)
        self._limits = np.where(self._sizes <= SHORT_LIST, postings.n_chunks, 0)
        self.seen: list[Ints] = []

    def rows_left(self, k: int) -> Ints:
        """Read in rounds, each deeper, until no unread posting can start a row of the top."""
        n_rows, norms = self._postings.n_chunks, self._postings.norms
        is_long = self._sizes > SHORT_LIST
        caps = _running_total(self._numerators[::-1], self._terms[::-1])[:0:-1]
        ends = np.full(len(caps), n_rows)
        depth, best, threshold = FIRST_ROWS, _NO_ROWS, 0.0
        while True:
            self._limits[is_long] = np.minimum(ends, depth)[is_long]
            best = self._best([best, self._read_on()], k)
            threshold = self._score_of(best, k)
            if threshold > 0:
                ends = np.searchsorted(norms, caps / threshold, side="right")
            if depth >= n_rows or np.all(ends <= self._limits):
                return self._look_up(self._filtered(threshold), threshold)
            depth *= DEEPER

    def _read_on(self) -> Ints:
        """Read each list up to its limit and add its numerator to the rows read."""
        rows, stops, parts = self._postings.rows, [], [_NO_ROWS]
        positions = zip(
            self._starts.tolist(), self._read.tolist(), self._sizes.tolist(), strict=True
        )
        for limit, (start, read, size) in zip(
            self._limits.astype(np.int32), positions, strict=True
        ):
            stop = read + int(rows[start + read : start + size].searchsorted(limit))
            parts.append(rows[start + read : start + stop])
            stops.append(stop)
        new, read_before = np.concatenate(parts), self._read
        self._read = np.array(stops, np.int64)
        np.add.at(self._sums, new, np.repeat(self._numerators, self._read - read_before))
        self.seen.append(new)
        return new

    def _best(self, rows: list[Ints], k: int) -> Ints:
        """Return at least k rows, if there are as many, that score best by what was read."""
        pool = np.concatenate(rows)
        wanted = k * (self._n_terms + 1)  # a row is here once a term at most, and as a best one
        if len(pool) > wanted:
            scores = self._sums[pool] / self._postings.norms[pool]
            pool = pool[np.argpartition(scores, -wanted)[-wanted:]]
        return np.unique(pool)

    def _score_of(self, best: Ints, k: int) -> float:
        """Return what a row must reach to matter: the k-th best score so far, less the tie."""
        if len(best) < k:
            return 0.0
        scores = np.sort(self._sums[best] / self._postings.norms[best])
        return max(0.0, float(scores[-k]) / _SLACK - 2 * TIE)

    def _filtered(self, threshold: float) -> Ints:
        """Return the rows read that reach the threshold if all lists unread there hold them."""
        rows = np.concatenate(self.seen)
        unread = np.flatnonzero(self._read < self._sizes)
        unread = unread[np.argsort(self._limits[unread], kind="stable")]
        could_add = _running_total(self._numerators[unread], self._terms[unread])
        n_unread = np.searchsorted(self._limits[unread], rows, side="right")
        reachable = self._sums[rows] + could_add[n_unread]
        return np.unique(rows[reachable >= threshold * self._postings.norms[rows]])

    def _look_up(self, rows: Ints, threshold: float) -> Ints:
        """Complete the sums of a few rows list by list, dropping those that fall behind."""
        unread = np.flatnonzero(self._read < self._sizes)
        caps = _running_total(self._numerators[unread][::-1], self._terms[unread][::-1])[::-1]
        sums, needed = self._sums[rows], threshold * self._postings.norms[rows]
        for index, cap in zip(unread, caps[1:], strict=True):
            start, stop = self._starts[index] + self._read[index], self._sizes[index]
            members = self._postings.rows[start : self._starts[index] + stop]
            sums[is_member(members, rows)] += self._numerators[index]
            keep = sums + cap >= needed
            rows, sums, needed = rows[keep], sums[keep], needed[keep]
        return rows


def is_member(members: Ints, rows: Ints) -> NDArray[np.bool_]:
    """Say for each row whether it is among the members; both ascending, members not empty."""
    at = members.searchsorted(rows)
    at[at == len(members)] = 0
    hit: NDArray[np.bool_] = members[at] == rows
    return hit


def _running_total(numerators: Floats, terms: NDArray[np.int64]) -> Floats:
    """Return, for each number of leading lists, the most they can give one row together.

    A row is in one list of a term at most, so a term counts with its largest numerator.
    """
    largest: dict[int, float] = {}
    totals = [0.0]
    for numerator, term in zip(numerators.tolist(), terms.tolist(), strict=True):
        gain = max(0.0, numerator - largest.get(term, 0.0))
        largest[term] = largest.get(term, 0.0) + gain
        totals.append(totals[-1] + gain * _SLACK)
    return np.array(totals)
