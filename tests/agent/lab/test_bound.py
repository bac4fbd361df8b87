from __future__ import annotations

import pytest

from agent.lab.bound import choose_bound


@pytest.mark.parametrize(
    ("right_by_bound", "expected"),
    [
        pytest.param(
            {0: "100", 1: "110", 2: "111", 3: "111"}, 2, id="stops-where-the-count-stops-rising"
        ),
        pytest.param({0: "110", 1: "110", 2: "110"}, 0, id="a-tie-goes-to-the-smaller-bound"),
        pytest.param({0: "100", 1: "100", 2: "110"}, 2, id="a-flat-step-before-a-gain-is-crossed"),
        pytest.param({0: "110", 1: "101"}, 0, id="a-win-paid-with-a-loss-is-noise"),
        pytest.param({0: "1000", 1: "0111"}, 1, id="more-than-twice-the-losses-is-a-gain"),
        pytest.param({0: "1100", 1: "0111"}, 0, id="twice-the-losses-is-still-noise"),
        pytest.param({0: "000", 1: "000"}, 0, id="nothing-answered-anywhere-buys-no-rewrites"),
        pytest.param({1: "10", 0: "00"}, 1, id="the-order-of-the-measurements-is-of-no-account"),
    ],
)
def test_choose_bound(right_by_bound: dict[int, str], expected: int) -> None:
    rows = {bound: [c == "1" for c in marks] for bound, marks in right_by_bound.items()}

    assert choose_bound(rows).max_rewrites == expected


@pytest.mark.parametrize(
    ("right_by_bound", "expected"),
    [
        pytest.param(
            {0: [True, False], 1: [True, False]},
            "1 of 2 questions are answered rightly with 0 rewrites, "
            "and going to 1 answers nothing new",
            id="plateau",
        ),
        pytest.param(
            {0: [False], 1: [True]},
            "1 of 1 questions are answered rightly with 1 rewrites, and no larger bound was "
            "measured: measure one more to see it stop rising",
            id="still-rising-at-the-end",
        ),
        pytest.param(
            {0: [True, False], 1: [False, True]},
            "1 of 2 questions are answered rightly with 0 rewrites; "
            "going to 1 wins 1 and loses 1, which is within the noise",
            id="noise",
        ),
    ],
)
def test_reason_says_what_was_measured(
    right_by_bound: dict[int, list[bool]], expected: str
) -> None:
    assert choose_bound(right_by_bound).reason == expected


def test_different_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="give the same rows for each"):
        choose_bound({0: [True], 1: [True, False]})
