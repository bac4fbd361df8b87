"""Term counts, stored so that a query reads little and needs no weight per posting.

Chunks are numbered by ascending norm (row 0 has the shortest vector). The chunks that hold a term
exactly c times form one list, in row order. Within a list the numerator c * idf is constant, so row
order is also order of falling weight: a reader can stop as soon as the rest cannot matter. The
weights are made while searching, in the arithmetic of scikit-learn's TfidfTransformer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]

_SLICE_POSTINGS: Final = 1 << 22
"""Postings weighed or sorted at a time, to bound the memory a build takes; chosen by us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """The arrays of a fitted corpus; read-only, safe to share between threads."""

    rows: Ints
    """Rows of all lists end to end, shape (n_postings,)."""
    list_starts: Offsets
    """List i is `rows[list_starts[i]:list_starts[i + 1]]`, shape (n_lists + 1,)."""
    list_counts: Ints
    """How often the term of list i occurs in each of its chunks, shape (n_lists,)."""
    term_lists: Offsets
    """Term t has the lists `term_lists[t]` up to `term_lists[t + 1]`, shape (n_terms + 1,)."""
    idf: Floats
    """Smoothed inverse document frequency, ln((1 + n) / (1 + df)) + 1, shape (n_terms,)."""
    norms: Floats
    """Euclidean length of each row's weights, ascending, shape (n_chunks,)."""
    places: Ints
    """Position of each row's chunk in the given order, shape (n_chunks,)."""

    @classmethod
    def from_counts(cls, counts: Any) -> Postings:
        """Build the lists of a corpus.

        Args:
            counts: Sparse CSR array of term counts, shape (n_chunks, n_terms); its indices are
                sorted in place, since the rounding of a norm depends on the order of its terms.
        """
        from sklearn.feature_extraction.text import TfidfTransformer  # a saved index needs none

        counts.sort_indices()
        idf: Floats = TfidfTransformer().fit(counts).idf_
        norms = _norms(counts, idf)
        order = np.argsort(norms, kind="stable")
        by_term = counts[order].tocsc()
        list_counts, list_starts, term_lists = _sort_into_lists(by_term)
        return cls(
            rows=by_term.indices.astype(np.int32, copy=False),
            list_starts=list_starts,
            list_counts=list_counts,
            term_lists=term_lists,
            idf=idf,
            norms=norms[order],
            places=order.astype(np.int32),
        )

    @property
    def n_chunks(self) -> int:
        """Number of chunks, those without any term included."""
        return len(self.norms)

    def tokens_per_chunk(self) -> NDArray[np.float64]:
        """Return how many tokens each chunk has, in the given order, shape (n_chunks,)."""
        counts = np.repeat(self.list_counts, np.diff(self.list_starts))
        tokens = np.empty(self.n_chunks)
        tokens[self.places] = np.bincount(self.rows, counts, minlength=self.n_chunks)
        return tokens


def _norms(counts: Any, idf: Floats) -> Floats:
    """Return the length of each row of count * idf, slice by slice."""
    from sklearn.utils.extmath import row_norms

    norms = np.empty(counts.shape[0])
    for start, stop in _slices(counts.indptr):
        block = counts[start:stop].astype(np.float64)
        block.data *= idf[block.indices]
        norms[start:stop] = row_norms(block)
    return norms


def _sort_into_lists(by_term: Any) -> tuple[Ints, Offsets, Offsets]:
    """Sort each column of a CSC array by falling count, in place; return where lists begin."""
    counts, starts, first_lists = [], [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    n_lists = 0
    for start, stop in _slices(by_term.indptr):
        low, high = by_term.indptr[start], by_term.indptr[stop]
        sizes = np.diff(by_term.indptr[start : stop + 1])
        data = by_term.data[low:high].astype(np.int64)
        base = int(data.max(initial=0)) + 1
        key = np.repeat(np.arange(stop - start, dtype=np.int64) * base, sizes) + (base - 1 - data)
        order = np.argsort(key, kind="stable")
        by_term.indices[low:high] = by_term.indices[low:high][order]
        ends = np.flatnonzero(np.diff(key[order], append=-1)) + 1
        last = key[order][ends - 1]
        counts.append((base - 1 - last % base).astype(np.int32))
        starts.append(low + ends)
        first_lists.append(n_lists + np.searchsorted(last, np.arange(1, stop - start + 1) * base))
        n_lists += len(ends)
    return np.concatenate(counts), np.concatenate(starts), np.concatenate(first_lists)


def _slices(indptr: Any) -> Iterator[tuple[int, int]]:
    """Cut rows (or columns) into runs of at most `_SLICE_POSTINGS` entries, but at least one."""
    start, last = 0, len(indptr) - 1
    while start < last:
        stop = int(np.searchsorted(indptr, indptr[start] + _SLICE_POSTINGS, side="right")) - 1
        stop = min(max(stop, start + 1), last)
        yield start, stop
        start = stop
