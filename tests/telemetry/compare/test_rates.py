from __future__ import annotations

import pytest
from scipy.stats import binomtest

from telemetry.compare.rates import Rate, newcombe, p_value, wilson


@pytest.mark.parametrize(
    ("before", "after", "low", "high"),
    [
        pytest.param((48, 80), (56, 70), 0.0524, 0.3339, id="a-large-samples"),
        pytest.param((3, 10), (9, 10), 0.1705, 0.8090, id="b-ten-a-side"),
        pytest.param((2, 7), (6, 7), 0.0582, 0.8062, id="c-seven-a-side"),
        pytest.param((0, 29), (5, 56), -0.0381, 0.1926, id="d-none-on-one-side"),
        pytest.param((0, 20), (0, 10), -0.1611, 0.2775, id="e-none-of-unequal-sizes"),
        pytest.param((0, 10), (0, 10), -0.2775, 0.2775, id="f-none-of-equal-sizes"),
        pytest.param((0, 20), (10, 10), 0.6791, 1.0, id="g-all-against-none"),
        pytest.param((0, 10), (10, 10), 0.6075, 1.0, id="h-all-against-none-of-ten"),
    ],
)
def test_newcombe_gives_the_published_intervals(
    before: tuple[int, int], after: tuple[int, int], low: float, high: float
) -> None:
    """Newcombe 1998, Statistics in Medicine 17, 873-890, Table II, method 10."""
    found = newcombe(Rate(*before), Rate(*after))

    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("hits, total", [(0, 20), (1, 29), (15, 148), (81, 263), (7, 7)])
def test_wilson_is_scipys(hits: int, total: int) -> None:
    found = wilson(Rate(hits, total))
    known = binomtest(hits, total).proportion_ci(method="wilson")

    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-12)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param((0, 0), (5, 10), 1.0, id="nothing-on-one-side-tells-nothing"),
        pytest.param((0, 50), (0, 50), 1.0, id="none-on-both-sides-is-the-same"),
        pytest.param((50, 50), (9, 9), 1.0, id="all-on-both-sides-is-the-same"),
        pytest.param((1, 10), (2, 10), 1.0, id="few-go-to-fishers-exact-test"),
        pytest.param((30, 300), (60, 300), 0.000604, id="many-go-to-the-score-test"),
    ],
)
def test_p_value(before: tuple[int, int], after: tuple[int, int], expected: float) -> None:
    assert p_value(Rate(*before), Rate(*after)) == pytest.approx(expected, rel=0.01)


def test_a_side_without_turns_has_every_share_possible() -> None:
    assert (wilson(Rate(0, 0)).low, wilson(Rate(0, 0)).high) == (0.0, 1.0)
    assert newcombe(Rate(0, 0), Rate(1, 2)).low == -1.0
