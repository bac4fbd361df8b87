from __future__ import annotations

import pytest

from agent.errors import FaultError
from agent.faults.chance import Chance

TEXTS = [f"question {number}" for number in range(2_000)]


@pytest.mark.parametrize("share", [0.05, 0.4, 0.95])
def test_about_the_share_of_many_texts_is_struck(share: float) -> None:
    struck = sum(map(Chance(share=share, seed=1).strikes, TEXTS)) / len(TEXTS)

    assert struck == pytest.approx(share, abs=0.04)


def test_all_are_struck_by_default() -> None:
    assert all(map(Chance().strikes, [*TEXTS, "", "\ud83d"]))


def test_a_text_is_struck_every_time_or_never_in_any_order() -> None:
    chance = Chance(share=0.5)
    forwards = [chance.strikes(text) for text in TEXTS]
    backwards = [Chance(share=0.5).strikes(text) for text in reversed(TEXTS)]

    assert forwards == list(reversed(backwards))


def test_a_larger_share_strikes_the_same_texts_and_more() -> None:
    few = {text for text in TEXTS if Chance(share=0.2).strikes(text)}
    many = {text for text in TEXTS if Chance(share=0.6).strikes(text)}

    assert few < many


def test_another_seed_strikes_other_texts() -> None:
    assert [Chance(share=0.5, seed=1).strikes(t) for t in TEXTS] != [
        Chance(share=0.5, seed=2).strikes(t) for t in TEXTS
    ]


@pytest.mark.parametrize("share", [0, -0.1, 1.01, float("nan"), float("inf")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(FaultError, match="expected more than 0 and at most 1"):
        Chance(share=share)
