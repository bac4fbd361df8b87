"""Means, ranks and the sample they share, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from telemetry.compare import means, ranks
from telemetry.compare.sample import MAX_DISTINCT, Sample, aligned

CHANCE = np.random.default_rng(7)
SLOW, FAST = CHANCE.exponential(1.2, 150), CHANCE.exponential(1.0, 170)


def test_a_sample_leaves_out_what_is_no_number_and_counts_the_rest() -> None:
    sample = Sample.of([1.0, math.nan, 2.0, 2.0, math.inf])

    assert sample.values.tolist() == [1.0, 2.0]
    assert sample.counts.tolist() == [1, 2]
    assert sample.variance == pytest.approx(np.var([1, 2, 2], ddof=1))


def test_merging_many_values_keeps_the_mean_and_the_number() -> None:
    many = Sample.of(CHANCE.lognormal(size=3_000))
    values, first, _ = aligned(many, Sample.of(CHANCE.lognormal(size=1_000)))

    assert len(values) <= MAX_DISTINCT
    assert first.sum() == 3_000


@pytest.mark.parametrize("decimals", [9, 0], ids=["no-ties", "many-ties"])
def test_ranks_give_scipys_p_value(decimals: int) -> None:
    before, after = FAST.round(decimals), SLOW.round(decimals)
    known = stats.mannwhitneyu(before, after, method="asymptotic").pvalue

    assert ranks.p_value(Sample.of(before), Sample.of(after)) == pytest.approx(known, rel=1e-9)


def test_the_shift_is_the_median_of_all_differences() -> None:
    known = np.median(SLOW[:, None] - FAST)

    assert ranks.shift(Sample.of(FAST), Sample.of(SLOW)) == pytest.approx(known, abs=1e-9)


def test_the_interval_of_the_shift_holds_what_the_test_does_not_reject() -> None:
    interval = ranks.shift_interval(Sample.of(FAST), Sample.of(SLOW))
    inside, outside = (
        ranks.p_value(Sample.of(FAST + moved), Sample.of(SLOW))
        for moved in (interval.high - 0.01, interval.high + 0.01)
    )

    assert inside > 0.05 > outside


def test_means_agree_with_welch_where_both_are_right() -> None:
    known = stats.ttest_ind(SLOW, FAST, equal_var=False)
    interval = means.difference_interval(Sample.of(FAST), Sample.of(SLOW))

    assert means.p_value(Sample.of(FAST), Sample.of(SLOW)) == pytest.approx(known.pvalue, abs=0.02)
    assert interval.low == pytest.approx(known.confidence_interval().low, abs=0.04)
    assert interval.high == pytest.approx(known.confidence_interval().high, abs=0.06)


@pytest.mark.parametrize(
    ("before", "after", "is_found"),
    [
        pytest.param([2] * 50, [3] * 50, True, id="a-change-without-any-spread-is-found"),
        pytest.param([2] * 50, [2] * 50, False, id="the-same-number-everywhere-is-no-change"),
        pytest.param([], [1] * 20, False, id="nothing-before-tells-nothing"),
        pytest.param([1], [9], False, id="one-turn-a-side-tells-nothing"),
        pytest.param([0] * 50, [0] * 48 + [9, 9], False, id="two-outliers-are-no-change"),
    ],
)
def test_means_of_odd_samples(before: list[float], after: list[float], is_found: bool) -> None:
    first, second = Sample.of(before), Sample.of(after)
    interval = means.difference_interval(first, second)

    assert (means.p_value(first, second) < 0.05) == is_found
    assert (ranks.p_value(first, second) < 0.05) == is_found
    assert interval.low <= interval.high


def test_means_see_a_tail_that_ranks_do_not() -> None:
    before = Sample.of([4] * 300)
    after = Sample.of([4] * 290 + [30] * 10)

    assert means.p_value(before, after) < 0.05
    assert ranks.shift(before, after) == 0.0


def test_the_interval_of_a_mean_holds_it() -> None:
    interval = means.mean_interval(Sample.of(FAST))

    assert interval.low < FAST.mean() < interval.high
    assert interval.high - interval.low == pytest.approx(4 * FAST.std() / 170**0.5, rel=0.2)
