from __future__ import annotations

import pytest

from agent.models.local.answer_kinds import asked_kinds, held_kinds


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("How much is plan M?", {"money"}, id="a-price"),
        pytest.param("How long does it take?", {"time"}, id="a-duration"),
        pytest.param("How many colleagues can I invite?", {"number"}, id="a-count"),
        pytest.param("How many days do I have?", {"number", "time"}, id="a-count-of-days"),
        pytest.param("What is a snapshot?", set(), id="no-figure"),
    ],
)
def test_asked_kinds(question: str, expected: set[str]) -> None:
    assert asked_kinds(question) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        pytest.param("It costs 12 euros a month.", {"money", "number", "time"}, id="a-price"),
        pytest.param("It takes two hours.", {"number", "time"}, id="a-duration-in-words"),
        pytest.param("Open from 08:00.", {"number", "time"}, id="a-time-of-day"),
        pytest.param("Restoring is free.", {"money"}, id="free-is-a-price"),
        pytest.param("Click Renew.", set(), id="no-figure"),
    ],
)
def test_held_kinds(sentence: str, expected: set[str]) -> None:
    assert held_kinds(sentence) == expected
