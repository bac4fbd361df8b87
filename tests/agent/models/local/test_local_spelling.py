from __future__ import annotations

import pytest

from agent.models.local.spelling import Speller

SPELLER = Speller(["house", "with", "maintenance", "lunch"], ["invoice", "refund", "cancel"])


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("invioce", "invoice", id="two-letters-swapped"),
        pytest.param("refnd", "refund", id="a-letter-missing"),
        pytest.param("cancell", "cancell", id="another-form-of-a-known-word-stays"),
        pytest.param("maintanance", "maintenance", id="a-wrong-letter"),
        pytest.param("maintanence", "maintenance", id="two-wrong-letters-in-a-long-word"),
        pytest.param("wiht", "with", id="a-swap-in-a-short-word"),
        pytest.param("wish", "wish", id="a-short-word-may-be-another-word"),
        pytest.param("mouse", "mouse", id="the-first-letter-is-not-guessed"),
        pytest.param("gpu", "gpu", id="three-letters-stay"),
        pytest.param("x9", "x9", id="codes-stay"),
        pytest.param("größe", "größe", id="other-scripts-stay"),
    ],
)
def test_mend(word: str, expected: str) -> None:
    assert SPELLER.mend(word) == expected


def test_a_preferred_word_wins_over_an_equally_near_one() -> None:
    speller = Speller(["plane"], ["plant"])

    assert speller.mend("plany") == "plant"
