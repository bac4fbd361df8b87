"""Pruned search against the plain way: the same scores, bit for bit, in the same order."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer

from agent.retrieval import pruning
from agent.retrieval.postings import Postings
from agent.retrieval.search import Searcher, ranked

Ranking = list[tuple[int, float]]


def plain_ranking(counts: Any, query: dict[int, float], k: int) -> Ranking:
    """Score every chunk by scikit-learn and SciPy, and rank by the rule in its plainest form."""
    matrix = TfidfTransformer().fit_transform(counts)
    row = sp.csr_array(
        (list(query.values()), ([0] * len(query), list(query))), shape=(1, counts.shape[1])
    )
    scores = (row @ sp.csr_array(matrix).T).toarray().ravel().tolist()
    left = sorted(enumerate(scores), key=lambda pair: -pair[1])
    ranking: Ranking = []
    while left and len(ranking) < k:
        tied = [pair for pair in left if left[0][1] - pair[1] <= 1e-9]
        ranking += sorted(tied)
        left = left[len(tied) :]
    return ranking[:k]


def unit_query(counts: Any, terms: list[int]) -> dict[int, float]:
    """Weigh query terms as `TfidfVectorizer.transform` does."""
    row = np.bincount(terms, minlength=counts.shape[1])
    vector = sp.csr_array(TfidfTransformer().fit(counts).transform(sp.csr_array(row[None, :])))
    return dict(zip(vector.indices.tolist(), vector.data.tolist(), strict=True))


def zipf_counts(n_chunks: int, n_terms: int, seed: int) -> Any:
    """Make term counts whose words are as unevenly spread as those of a language."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, n_chunks)
    share = np.cumsum(1 / np.arange(1, n_terms + 1))
    terms = np.searchsorted(share, rng.random(lengths.sum()) * share[-1])
    rows = np.repeat(np.arange(n_chunks), lengths)
    counts = sp.coo_array((np.ones(len(terms), np.int32), (rows, terms)), (n_chunks, n_terms))
    return sp.csr_array(counts)


@st.composite
def corpora(draw: st.DrawFn) -> tuple[Any, list[int]]:
    """Draw a small matrix of counts, with empty and equal rows, and the terms of a query."""
    n_chunks, n_terms = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    counts = rng.choice([0, 0, 0, 1, 1, 2, 3, 40, 2_000_000_000], (n_chunks, n_terms))
    query = rng.integers(0, n_terms, rng.integers(1, 7)).tolist()
    return sp.csr_array(counts.astype(np.int32)), query


@settings(max_examples=150, deadline=None)
@given(corpora(), st.integers(1, 12), st.integers(0, 4), st.integers(1, 8))
def test_scores_and_order_equal_the_plain_way(
    corpus: tuple[Any, list[int]], k: int, short_list: int, first_rows: int
) -> None:
    counts, terms = corpus
    query = unit_query(counts, terms)

    with pytest.MonkeyPatch.context() as patch:  # limits of a large corpus on a small one
        patch.setattr(pruning, "SHORT_LIST", short_list)
        patch.setattr(pruning, "FIRST_ROWS", first_rows)
        patch.setattr(pruning, "DEEPER", 2)
        found = Searcher(Postings.from_counts(counts)).top(query, k)

    assert found == plain_ranking(counts, query, k)


@pytest.mark.parametrize("k", [1, 2, 10])
def test_pruned_reading_of_a_large_corpus_equals_the_plain_way(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "SHORT_LIST", 32)
    monkeypatch.setattr(pruning, "FIRST_ROWS", 128)
    counts = zipf_counts(20_000, 3_000, seed=0)
    searcher = Searcher(Postings.from_counts(counts))
    rng = np.random.default_rng(1)
    for _ in range(20):
        query = unit_query(counts, (rng.zipf(1.3, rng.integers(1, 8)) % 3_000).tolist())

        assert searcher.top(query, k) == plain_ranking(counts, query, k)


def test_a_query_reads_a_small_part_of_its_postings() -> None:
    counts = zipf_counts(50_000, 3_000, seed=0)
    postings = Postings.from_counts(counts)
    terms = sorted(unit_query(counts, [5, 40, 300, 2000]).items())
    n_postings = sum(
        int(np.diff(postings.list_starts[postings.term_lists[term : term + 2]])[0])
        for term, _ in terms
    )

    reading = pruning._Reading(postings, terms, np.zeros(postings.n_chunks))
    rows = reading.rows_left(2)

    assert sum(map(len, reading.seen)) < n_postings / 2
    assert 2 <= len(rows) < 100


def test_scratch_space_is_clean_after_each_query() -> None:
    counts = zipf_counts(500, 50, seed=2)
    postings = Postings.from_counts(counts)
    sums = np.zeros(postings.n_chunks)

    pruning.promising_rows(postings, sorted(unit_query(counts, [0, 1, 7]).items()), 2, sums)

    assert not sums.any()


def test_many_threads_get_what_one_gets() -> None:
    counts = zipf_counts(5_000, 500, seed=3)
    searcher = Searcher(Postings.from_counts(counts))
    queries = [unit_query(counts, [i, 3 * i % 400, 7 * i % 300]) for i in range(60)]
    alone = [searcher.top(query, 5) for query in queries]
    results: list[list[Ranking]] = []
    threads = [
        threading.Thread(target=lambda: results.append([searcher.top(q, 5) for q in queries]))
        for _ in range(6)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [alone] * 6


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param([(1, 0.2), (0, 0.1)], [1, 0], id="higher-score-first"),
        pytest.param([(3, 0.5), (1, 0.5), (2, 0.5)], [1, 2, 3], id="equal-scores-by-position"),
        pytest.param([(2, 0.5), (1, 0.5 - 9e-10)], [1, 2], id="within-tolerance-is-a-tie"),
        pytest.param([(2, 0.5), (1, 0.5 - 2e-9)], [2, 1], id="beyond-tolerance-is-none"),
        pytest.param(
            [(3, 0.5), (2, 0.5 - 8e-10), (1, 0.5 - 16e-10)], [2, 3, 1],
            id="tolerance-counts-from-the-best-of-a-group",
        ),
        pytest.param([], [], id="nothing-found"),
    ],
)  # fmt: skip
def test_ranking(found: Ranking, expected: list[int]) -> None:
    assert [place for place, _ in ranked(found)] == expected
