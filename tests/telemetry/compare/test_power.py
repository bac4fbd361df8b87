from __future__ import annotations

import math

import numpy as np
import pytest

from telemetry.compare import power
from telemetry.compare.holm import holm
from telemetry.compare.rates import Rate, p_value


def test_the_textbook_size_for_a_doubling_from_ten_percent() -> None:
    """Fleiss, Levin and Paik, Table A.4 before its continuity correction: 199 a side."""
    assert power.turns_for_rise(0.10, 0.10, 0.05) == 199


def test_the_turns_needed_are_those_with_which_the_rise_is_detectable() -> None:
    needed = power.turns_for_rise(0.10, 0.10, 0.004)

    assert power.detectable_rise(0.10, needed, needed, 0.004) <= 0.10
    assert power.detectable_rise(0.10, needed - 5, needed - 5, 0.004) > 0.10


def test_a_detectable_rise_is_found_four_times_in_five() -> None:
    rise = power.detectable_rise(0.10, 300, 300, 0.05)
    chance = np.random.default_rng(3)
    hits = chance.binomial(300, [0.10, 0.10 + rise], size=(2_000, 2))
    found = [p_value(Rate(int(a), 300), Rate(int(b), 300)) < 0.05 for a, b in hits]

    assert np.mean(found) == pytest.approx(power.POWER, abs=0.03)


@pytest.mark.parametrize(
    ("share", "before", "after"),
    [
        pytest.param(0.1, 0, 10, id="an-empty-side-shows-nothing"),
        pytest.param(0.99, 20, 20, id="nor-does-a-share-that-can-hardly-rise"),
        pytest.param(1.0, 500, 500, id="nor-one-that-cannot"),
    ],
)
def test_no_rise_is_detectable(share: float, before: int, after: int) -> None:
    assert power.detectable_rise(share, before, after, 0.05) == math.inf


def test_four_times_the_turns_show_half_the_shift() -> None:
    assert power.turns_for_shift(2.0, 1.0, 100, 100) == 400


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        pytest.param([], (), id="nothing-to-correct"),
        pytest.param([0.04], (0.04,), id="one-test-stays"),
        pytest.param([0.01, 0.04, 0.03], (0.03, 0.06, 0.06), id="holms-steps-never-fall"),
        pytest.param([0.5, 0.6], (1.0, 1.0), id="never-above-one"),
    ],
)
def test_holm(p_values: list[float], expected: tuple[float, ...]) -> None:
    assert holm(p_values) == pytest.approx(expected)
