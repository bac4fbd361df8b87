from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from agent.lab.paired import Paired, detectable, interval, mean_interval, needed, p_value
from telemetry.compare.verdict import ALPHA


@pytest.mark.parametrize(
    ("lost", "won", "expected"),
    [
        pytest.param(0, 0, 1.0, id="nothing-moved"),
        pytest.param(1, 0, 1.0, id="one-flip-is-a-coin"),
        pytest.param(5, 0, 2 * 0.5**5, id="five-of-five-are-not-sure"),
        pytest.param(6, 0, 2 * 0.5**6, id="six-of-six-are-sure"),
        pytest.param(3, 3, 1.0, id="as-many-each-way"),
        pytest.param(2, 10, 2 * (1 + 12 + 66) / 2**12, id="won-more"),
    ],
)
def test_p_value_against_the_closed_form(lost: int, won: int, expected: float) -> None:
    assert p_value(lost, won) == pytest.approx(expected)


def test_p_value_is_the_exact_binomial_test() -> None:
    pairs = [(lost, won) for lost in range(8) for won in range(8) if lost + won]

    assert [p_value(*pair) for pair in pairs] == pytest.approx(
        [binomtest(lost, lost + won).pvalue for lost, won in pairs]
    )


@pytest.mark.parametrize(
    ("pairs", "low", "high"),
    [
        # Half a question in each cell: (0.5 of 7) +- 1.96 sqrt(1) / 7.
        pytest.param(Paired(total=5, lost=0, won=0), -1.96 / 7, 1.96 / 7, id="nothing-moved"),
        pytest.param(
            Paired(total=98, lost=10, won=0),
            -0.1 - 0.0196 * math.sqrt(10),
            -0.1 + 0.0196 * math.sqrt(10),
            id="ten-lost-of-98",
        ),
        pytest.param(Paired(total=0, lost=0, won=0), -0.98, 0.98, id="no-question"),
        pytest.param(Paired(total=1, lost=1, won=0), -1.0, 0.5102, id="never-beyond-all"),
    ],
)  # fmt: skip
def test_interval_against_the_closed_form(pairs: Paired, low: float, high: float) -> None:
    found = interval(pairs)

    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-4)


def test_interval_covers_the_truth_19_times_in_20() -> None:
    chance = np.random.default_rng(7)
    size, chances = 60, (0.15, 0.05, 0.80)  # lost, won, neither
    drawn = chance.multinomial(size, chances, size=2_000)
    found = [interval(Paired(total=size, lost=int(b), won=int(c))) for b, c, _ in drawn]
    covered = sum(one.low <= -0.10 <= one.high for one in found) / len(found)

    assert 0.94 <= covered <= 0.97


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1, 0.3])
def test_under_no_change_few_pairs_of_runs_are_called_worse(noise: float) -> None:
    chance = np.random.default_rng(11)
    drawn = chance.multinomial(100, (noise / 2, noise / 2, 1 - noise), size=2_000)
    worse = sum(lost > won and p_value(int(lost), int(won)) <= ALPHA for lost, won, _ in drawn)

    assert worse / len(drawn) <= 0.025


@pytest.mark.parametrize(
    ("total", "won", "expected"),
    [
        pytest.param(60, 0, 0.10, id="six-of-sixty"),
        pytest.param(5, 0, math.inf, id="not-even-all-of-five"),
        pytest.param(6, 0, 1.0, id="all-of-six"),
        pytest.param(100, 5, 0.10, id="against-noise-fifteen-are-needed"),
        pytest.param(0, 0, math.inf, id="no-question"),
    ],
)
def test_what_so_many_questions_could_show(total: int, won: int, expected: float) -> None:
    assert detectable(total, won) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("total", "won", "expected"),
    [
        pytest.param(60, 0, 0, id="enough"),
        pytest.param(5, 0, 55, id="fifty-five-more"),
        pytest.param(0, 0, 60, id="none-yet"),
    ],
)
def test_how_many_more_questions_would_do(total: int, won: int, expected: int) -> None:
    assert needed(total, won) == expected


def test_what_is_needed_shows_it_at_the_same_noise() -> None:
    more = needed(100, 20)

    assert more > 0
    assert detectable(100 + more, round(0.2 * (100 + more))) <= 0.10


@pytest.mark.parametrize(
    ("numbers", "low", "high"),
    [
        pytest.param([], -math.inf, math.inf, id="none"),
        pytest.param([3], -math.inf, math.inf, id="one"),
        pytest.param([2, 2, 2], 2.0, 2.0, id="no-spread"),
        # Mean 2, deviation 1, t(2) = 4.3027.
        pytest.param([1, 2, 3], 2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5, id="three"),
    ],
)
def test_interval_of_a_mean(numbers: list[float], low: float, high: float) -> None:
    found = mean_interval(numbers)

    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-3)
