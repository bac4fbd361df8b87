from __future__ import annotations

import pytest

from telemetry import lexicon
from telemetry.phrasing import read
from telemetry.sides import TOLD, sides


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("how much is a backup", {"price"}, id="how-much-is"),
        pytest.param("How much?", {"price"}, id="how-much-alone"),
        pytest.param("how much memory do I get", {"amount"}, id="how-much-of-it"),
        pytest.param("how many servers", {"amount"}, id="how-many"),
        pytest.param("how long are they kept", {"time"}, id="how-long"),
        pytest.param("a long story", set(), id="long-without-how"),
        pytest.param("how often do they run", {"frequency"}, id="how-often"),
        pytest.param("how do I restore one", {"way"}, id="how-to"),
        pytest.param("is it free of charge", {"price"}, id="free-of-charge"),
        pytest.param("is the name still free today", set(), id="free-to-take"),
        pytest.param("where and when", {"place", "time"}, id="two-sides"),
        pytest.param("how", {"way"}, id="how-alone"),
        pytest.param("", set(), id="nothing"),
    ],
)
def test_sides(text: str, expected: set[str]) -> None:
    assert sides(read(text).words) == expected


def test_a_word_asks_for_one_side() -> None:
    words = [word for listed in lexicon.SIDES.values() for word in listed]

    assert len(set(words)) == len(words)
    assert lexicon.SIDES.keys() > TOLD
