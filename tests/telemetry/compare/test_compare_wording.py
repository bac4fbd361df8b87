"""How a comparison's numbers read."""

from __future__ import annotations

import pytest

from telemetry.compare import wording
from telemetry.compare.measures import BY_NAME
from telemetry.compare.rates import Rate
from telemetry.compare.side import Side
from telemetry.compare.verdict import findings


def side(hits: int, total: int) -> Side:
    return Side(name="", about="", turns=total, measured={"no_results": Rate(hits, total)})


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param((60, 600), (62, 600), "no difference shown", id="none-was-found"),
        pytest.param(
            (20_000, 200_000), (20_900, 200_000), "differs by too little to matter",
            id="a-sure-one-below-a-point",
        ),
        pytest.param((1, 9), (1, 300), "not enough data: ", id="the-turns-that-are-missing"),
    ],
)  # fmt: skip
def test_a_verdict_in_words(before: tuple[int, int], after: tuple[int, int], told: str) -> None:
    (found,) = findings(side(*before), side(*after))

    assert wording.verdict(found).startswith(told)


@pytest.mark.parametrize(
    ("value", "told"),
    [(-2.73e-17, "0"), (2.73e-17, "0"), (-0.05, "-0.05"), (0.05, "+0.05"), (float("nan"), "?")],
    ids=["rounded-below", "rounded-above", "less", "more", "unknown"],
)
def test_a_difference_that_comes_of_rounding_is_none(value: float, told: str) -> None:
    assert wording.signed(BY_NAME["duration"], value) == told
