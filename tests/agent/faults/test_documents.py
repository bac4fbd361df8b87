from __future__ import annotations

import pytest

from agent.faults.chance import Chance
from agent.faults.documents import damaged, garbled
from agent.retrieval.tfidf import CorpusChunk, TfidfIndex

CHUNKS = [CorpusChunk(id=f"c{n}", text=f"Words number {n} on backups") for n in range(100)]


def test_a_share_is_lost_or_garbled_and_the_rest_is_whole() -> None:
    left = damaged(CHUNKS, Chance(share=0.5))
    whole = [chunk for chunk in left if chunk in CHUNKS]
    broken = [chunk for chunk in left if chunk not in CHUNKS]

    assert 35 <= len(whole) <= 65
    assert 10 <= len(broken) <= 40
    assert len(left) < len(CHUNKS)


def test_the_same_chunks_are_damaged_every_time() -> None:
    chance = Chance(share=0.5, seed=3)

    assert damaged(CHUNKS, chance) == damaged(CHUNKS, chance)


def test_a_garbled_chunk_keeps_its_id_and_no_query_finds_it_by_its_words() -> None:
    left = damaged(CHUNKS, Chance())
    index = TfidfIndex.fit(left)

    assert {chunk.id for chunk in left} < {chunk.id for chunk in CHUNKS}
    assert [score for _, score in index.search("words on backups", 2)] == [0.0, 0.0]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_something_is_always_left_to_index(count: int) -> None:
    for seed in range(20):
        assert TfidfIndex.fit(damaged(CHUNKS[:count], Chance(seed=seed))).chunks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Backups, 14 days", "Onpxhcf, 14 qnlf", id="letters-move-half-the-alphabet"),
        pytest.param("é 密码", "é 密码", id="other-letters-stay"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_garbled(text: str, expected: str) -> None:
    assert garbled(text) == expected
