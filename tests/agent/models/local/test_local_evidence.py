from __future__ import annotations

import numpy as np
import pytest
from foreign_documents import BICYCLE_SHOP

from agent.models.local.corpus import Corpus
from agent.models.local.evidence import RIDGE, LabelledEvidence, targets_of
from agent.models.local.lexicon import load_lexicon
from agent.models.local.reading import read

LABELLED = (
    ("can you mend my tyre", ("repairs",), True),
    ("my brakes squeak", ("repairs",), True),
    ("when do you open", ("opening",), True),
    ("are you there on sunday", ("opening",), True),
    ("do you sell scooters", (), True),
    ("do you have skateboards", (), True),
    ("who won the match", (), False),
    ("tell me a joke", (), False),
)
LEXICON = load_lexicon()
CORPUS = Corpus(BICYCLE_SHOP, LEXICON)
TARGETS = targets_of([a for _, a, _ in LABELLED], [on for _, _, on in LABELLED], CORPUS)
EVIDENCE = LabelledEvidence(
    [read(text, LEXICON) for text, _, _ in LABELLED], TARGETS, LEXICON.senses
)


def test_targets_have_one_column_a_chunk_then_nothing_and_off_topic() -> None:
    assert TARGETS[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert TARGETS[4].tolist() == [0, 0, 0, 0, 0, 0, 1, 0]
    assert TARGETS[7].tolist() == [0, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("is my tyre something you can mend?", "repairs", id="near-a-labelled-one"),
        pytest.param("sunday", "opening", id="one-word-of-a-labelled-one"),
        pytest.param("do you sell skateboards", "nothing", id="near-an-unanswerable-one"),
        pytest.param("who tells a joke", "off_topic", id="near-an-off-topic-one"),
    ],
)
def test_the_highest_score(question: str, expected: str) -> None:
    found = EVIDENCE.score(read(question, LEXICON))
    scores = dict(zip(CORPUS.ids, found.chunks.tolist(), strict=True))
    scores |= {"nothing": found.nothing, "off_topic": found.off_topic}

    assert max(scores, key=lambda name: scores[name]) == expected


def test_the_solver_agrees_with_the_exact_solution() -> None:
    features = EVIDENCE.features.toarray()
    kernel = features @ features.T + RIDGE * np.eye(len(features))
    mean = TARGETS.mean(axis=0)
    exact = features @ features.T @ np.linalg.solve(kernel, TARGETS - mean) + mean

    found = EVIDENCE.score(read(LABELLED[0][0], LEXICON))

    assert found.chunks == pytest.approx(exact[0, :-2], abs=1e-3)


def test_without_labelled_questions_nothing_is_known() -> None:
    evidence = LabelledEvidence([], np.zeros((0, 2)), LEXICON.senses)

    found = evidence.score(read("refund", LEXICON))

    assert (found.chunks.size, found.nothing, found.off_topic) == (0, 0.0, 0.0)
