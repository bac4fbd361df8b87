"""Term counts as lists ordered by norm."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from agent.retrieval import postings as module
from agent.retrieval.postings import Postings

COUNTS = np.array([[2, 0, 1], [1, 0, 0], [1, 3, 0], [0, 0, 0], [1, 1, 0]], np.int32)


def lists_of(postings: Postings, term: int) -> dict[int, list[int]]:
    """Return count -> positions of the chunks that hold the term so often, in stored order."""
    return {
        int(postings.list_counts[i]): postings.places[
            postings.rows[postings.list_starts[i] : postings.list_starts[i + 1]]
        ].tolist()
        for i in range(*postings.term_lists[term : term + 2])
    }


@pytest.mark.parametrize("slice_postings", [1, 3, 1 << 22])
def test_lists_hold_each_count_apart_and_run_by_norm(
    slice_postings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SLICE_POSTINGS", slice_postings)

    postings = Postings.from_counts(sp.csr_array(COUNTS))

    assert lists_of(postings, 0) == {2: [0], 1: [1, 4, 2]}
    assert lists_of(postings, 1) == {3: [2], 1: [4]}
    assert lists_of(postings, 2) == {1: [0]}
    assert np.all(np.diff(postings.norms) >= 0)
    assert postings.places.tolist() == [3, 1, 4, 0, 2]


def test_weights_follow_the_smoothed_formula() -> None:
    postings = Postings.from_counts(sp.csr_array(COUNTS))

    assert postings.idf == pytest.approx(np.log(6 / np.array([5, 3, 2])) + 1)
    assert postings.norms[1] == pytest.approx(postings.idf[0])


def test_tokens_per_chunk_in_the_given_order() -> None:
    postings = Postings.from_counts(sp.csr_array(COUNTS))

    assert postings.tokens_per_chunk().tolist() == [3, 1, 4, 0, 2]


def test_a_posting_costs_four_bytes() -> None:
    postings = Postings.from_counts(sp.csr_array(COUNTS))

    assert postings.rows.nbytes == 4 * np.count_nonzero(COUNTS)
