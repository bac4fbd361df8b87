from __future__ import annotations

import pytest

from agent.faults.chance import Chance
from agent.faults.rewriter import FILLERS, swap_words, wander
from agent.retrieval.tfidf import CorpusChunk, TfidfIndex
from agent.retrieval.tokens import tokenize

INDEX = TfidfIndex.fit(
    [
        CorpusChunk(
            id="backups", text="Backups are kept for 14 days. Regarding snapshots, see below"
        ),
        CorpusChunk(id="refunds", text="Money back within 30 days"),
    ]
)
SUBJECTS = ["Backups and snapshots", "Refunds and money", "Free trial"]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "query", ["How long are backups kept?", "backups", "Is my money back soon"]
)
def test_swapped_words_find_the_same_chunks_at_the_same_scores(query: str, seed: int) -> None:
    first = swap_words(query, INDEX.vocabulary, Chance(seed=seed))
    second = swap_words(first, INDEX.vocabulary, Chance(seed=seed))

    assert len({query, first, second}) == 3
    assert INDEX.search(query, 2) == INDEX.search(first, 2) == INDEX.search(second, 2)


def test_no_word_of_the_documents_is_added() -> None:
    added = set()
    for seed in range(50):
        query = swap_words("backups", INDEX.vocabulary, Chance(seed=seed))
        added |= set(tokenize(query)) - {"backups"}

    assert added == set(FILLERS) - {"regarding"}


def test_a_query_does_not_grow_with_each_swap() -> None:
    query = "How long are backups kept?"
    for _ in range(10):
        query = swap_words(query, INDEX.vocabulary, Chance())

    assert len(query.split()) == 6


def test_a_query_without_words_gets_one() -> None:
    assert swap_words("", INDEX.vocabulary, Chance()) in FILLERS


@pytest.mark.parametrize("seed", range(5))
def test_a_wandering_search_shares_no_word_with_question_or_search(seed: int) -> None:
    chance = Chance(seed=seed)
    first = wander("How long are backups kept?", "backups kept", SUBJECTS, chance)
    second = wander("How long are backups kept?", first, SUBJECTS, chance)

    assert {first, second} == {"Refunds and money", "Free trial"}


def test_a_search_stays_when_there_is_no_other_subject() -> None:
    assert wander("backups?", "backups", ["Backups"], Chance()) == "backups"
