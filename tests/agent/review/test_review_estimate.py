from __future__ import annotations

import pytest

from agent.review.estimate import estimate, wilson
from agent.review.verdicts import Verdict, verdict_on


def judged(count: int, wrong: int, *, is_sure: bool) -> list[Verdict]:
    return [
        verdict_on(
            f"{is_sure}-{n}", "wrong" if n < wrong else "right",
            is_sure=is_sure, question=None, by="me",
        )
        for n in range(count)
    ]  # fmt: skip


def test_wilson_of_the_textbook() -> None:
    low, high = wilson(0.4, 20)

    assert (round(low, 4), round(high, 4)) == (0.2188, 0.6134)


def test_one_kind_alone_has_the_plain_wilson_interval() -> None:
    found = estimate(judged(20, 8, is_sure=False), turns=1_000, unsure=20, sure=0)

    assert (found.low, found.high) == wilson(0.4, 20)
    assert found.share_of_turns == pytest.approx(0.008)


def test_each_kind_is_weighted_by_how_many_there_are() -> None:
    verdicts = judged(20, 10, is_sure=False) + judged(20, 0, is_sure=True)
    found = estimate(verdicts, turns=1_000, unsure=20, sure=180)

    assert found.share_of_refusals == pytest.approx(0.05)
    assert found.low is not None and found.high is not None
    assert found.low < 0.05 < found.high


def test_the_interval_shrinks_with_more_verdicts() -> None:
    few = estimate(judged(10, 1, is_sure=True), turns=900, unsure=0, sure=300)
    many = estimate(judged(100, 10, is_sure=True), turns=900, unsure=0, sure=300)

    assert few.high is not None and many.high is not None
    assert many.high < few.high


@pytest.mark.parametrize(
    ("verdicts", "unsure", "sure"),
    [
        pytest.param([], 10, 90, id="nobody-judged"),
        pytest.param(judged(5, 1, is_sure=False), 10, 90, id="one-kind-was-never-judged"),
        pytest.param([], 0, 0, id="nothing-was-refused"),
    ],
)
def test_too_little_says_nothing(verdicts: list[Verdict], unsure: int, sure: int) -> None:
    found = estimate(verdicts, turns=100, unsure=unsure, sure=sure)

    assert found.share_of_refusals is None
    assert found.share_of_turns is None
