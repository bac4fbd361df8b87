from __future__ import annotations

import numpy as np
import pytest

from telemetry.phrasing import read
from telemetry.spaces import (
    MAX_DOCUMENTS,
    MAX_TOPICS,
    IntentSpace,
    TopicSpace,
    intent_space,
    read_documents,
)

BEES = read_documents([
    "A colony may swarm in May: the old queen leaves with half of the bees.",
    "To prevent a swarm remove queen cells from the hive.",
    "Honey is harvested when the cells are capped.",
    "Honey with too much water ferments.",
])  # fmt: skip
LISTING = """
# a comment

refund: I want my money back | return what I paid
outage: my site is down | nothing can be reached
status: is there a known problem
=refund: reimbursement cash_back
+trouble: outage status
"""


def cosine(space: TopicSpace, left: str, right: str) -> float:
    a, b = space.project(read(left)), space.project(read(right))
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def test_words_of_one_topic_are_near_without_a_shared_word() -> None:
    space = TopicSpace(BEES)

    assert cosine(space, "colony", "remove queen cells") > 0.5
    assert cosine(space, "colony", "honey water") < 0.2


def test_unknown_words_have_no_place() -> None:
    point = TopicSpace(BEES).project(read("flugelhorn"))

    assert not point.any()


@pytest.mark.parametrize(
    ("n_documents", "expected"),
    [(1, 1), (2, 2), (8, 4), (400, MAX_TOPICS)],
    ids=["one", "two", "half-as-many", "at-most"],
)
def test_dimensions(n_documents: int, expected: int) -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{n}" for n in random.integers(0, 500, 20)) for _ in range(n_documents)]

    assert len(TopicSpace(read_documents(texts)).project(read("w1"))) == expected


def test_rarity_falls_with_the_documents_that_have_a_word() -> None:
    space = TopicSpace(read_documents(["honey queen", "honey hive", "honey frame", "honey queen"]))
    honey, queen, absent = (read(word).items[0] for word in ("honey", "queen", "wasp"))

    assert space.rarity(honey) < space.rarity(queen) < space.rarity(absent) == 1


def test_rarity_goes_by_concept() -> None:
    space = TopicSpace(read_documents(["refund", "refund", "domain", "backup"]))
    (reimbursement,) = read("reimbursement").items

    assert space.rarity(reimbursement) < 1


def test_few_documents_are_trusted_less() -> None:
    assert TopicSpace(BEES[:1]).trust < TopicSpace(BEES).trust < 1


@pytest.mark.parametrize("texts", [[], [""], ["...", "!"]], ids=["none", "empty", "no-word"])
def test_documents_without_a_word_span_no_space(texts: list[str]) -> None:
    assert TopicSpace.fit(read_documents(texts)) is None


def test_of_many_documents_evenly_spaced_ones_are_read() -> None:
    found = read_documents([f"word{n}" for n in range(2 * MAX_DOCUMENTS + 1)])

    assert MAX_DOCUMENTS / 2 < len(found) <= MAX_DOCUMENTS
    assert [reading.words for reading in found[:2]] == [("word0",), ("word3",)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("give me my money back", "refund", id="a-sentence-like-one-of-the-list"),
        pytest.param("cash back", "refund", id="a-phrase-of-the-word-list"),
        pytest.param("the site cannot be reached", "outage", id="words-of-two-sentences"),
    ],
)
def test_leading_intent(text: str, expected: str) -> None:
    space = IntentSpace(LISTING)

    assert space.intents[int(space.project(read(text)).argmax())] == expected


def test_strengths_spread_to_close_intents_alone() -> None:
    space = IntentSpace(LISTING)
    strengths = np.array([0, 1, 0], dtype=np.float32)

    assert space.intents == ("refund", "outage", "status")
    assert space.spread(strengths).tolist() == [0, 1, 0.5]


def test_strengths_are_never_negative() -> None:
    space = intent_space()
    point = space.project(read("What happens if my server goes down?"))

    assert point.min() < 0
    assert space.strengths(point).min() == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("my machine is frozen and I cannot restart it", "reboot", id="reboot"),
        pytest.param("I would like to have my money returned", "refund", id="refund"),
        pytest.param("let a colleague into our account", "team", id="team"),
        pytest.param("is it going to rain", "weather", id="weather"),
    ],
)
def test_packaged_intents(text: str, expected: str) -> None:
    space = intent_space()

    assert space.intents[int(space.project(read(text)).argmax())] == expected
