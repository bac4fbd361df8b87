"""Counts over replicas that come, restart and go: none invented, none lost (C09)."""

from __future__ import annotations

import pytest

from telemetry import names
from telemetry.compare.counted import counts, times
from telemetry.compare.counters import Counters, Series


def series(name: str = "turns", instance: str = "a", **labels: str) -> Series:
    return Series.of({"__name__": name, "job": "j", "instance": instance, **labels})


def scraped(*values: float, start: float = 0.0) -> list[tuple[float, float]]:
    return [(start + 15.0 * number, value) for number, value in enumerate(values)]


TURNS, OTHER, SECOND = series(), series("other"), series(instance="b")


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        pytest.param({TURNS: scraped(0, 3, 3, 10)}, 10, id="a-counter-that-only-rises"),
        pytest.param({TURNS: scraped(100, 103)}, 3, id="nothing-of-before-the-first-scrape"),
        pytest.param({TURNS: scraped(0, 8, 2, 5)}, 13, id="a-restart-begins-at-zero-again"),
        pytest.param(
            {TURNS: scraped(0, 2, 7), OTHER: scraped(5, 9, 1)},
            2 + 7 + 4 + 1,
            id="a-restart-is-seen-in-a-sibling-that-fell",
        ),
        pytest.param(
            {TURNS: scraped(0, 4, 4), SECOND: scraped(6, 9, start=15.0)},
            4 + 9,
            id="a-replica-that-comes-later-counts-from-zero",
        ),
        pytest.param(
            {TURNS: scraped(0, 4), SECOND: scraped(0, 5, 6, 8)},
            4 + 8,
            id="a-replica-that-goes-takes-nothing-away",
        ),
        pytest.param(
            {TURNS: [(0.0, 1.0), (15.0, 2.0), (900.0, 6.0)]}, 5, id="a-gap-in-the-scrapes"
        ),
        pytest.param(
            {TURNS: [(0.0, 5.0), (30.0, 7.0)], OTHER: scraped(5, 1, 1)},
            7 + 1,
            id="a-series-that-is-made-late-after-a-restart",
        ),
        pytest.param({}, 0, id="nothing"),
    ],
)
def test_what_was_counted(samples: dict[Series, list[tuple[float, float]]], expected: int) -> None:
    gains = Counters().read(samples)

    assert sum(gain.amount for gain in gains) == expected
    assert all(gain.amount > 0 for gain in gains)


def test_slices_give_what_one_read_gives() -> None:
    values = scraped(0, 3, 9, 2, 2, 8, 1)
    whole = sum(gain.amount for gain in Counters().read({TURNS: values}))
    sliced = Counters()

    assert whole == sum(g.amount for part in values for g in sliced.read({TURNS: [part]}))


def test_what_was_there_before_the_window_is_no_part_of_it() -> None:
    counters = Counters()
    counters.remember(TURNS, 40.0)

    assert [gain.amount for gain in counters.read({TURNS: scraped(41), SECOND: scraped(3)})] == [
        1.0, 3.0,
    ]  # fmt: skip


def test_another_build_at_the_same_address_is_a_restart_and_counts_for_itself() -> None:
    old, new = (series(names.BUILD_INFO, version=version) for version in ("1", "2"))
    gains = Counters().read(
        {old: scraped(1, 1), new: scraped(1, 1, start=30.0), TURNS: scraped(0, 5, 7, 9)}
    )
    by_build = {
        version: sum(g.amount for g in gains if g.build and g.build["version"] == version)
        for version in ("1", "2")
    }

    assert by_build == {"1": 5.0, "2": 9.0}


def test_counts_from_buckets_keep_the_exact_mean() -> None:
    sample = counts({0.5: 60.0, 1.5: 80.0, 2.5: 90.0, 5.5: 100.0, float("inf"): 100.0}, 80.0)

    assert (sample.total, sample.mean) == (100, pytest.approx(0.8))


def test_times_from_buckets_are_spread_within_them() -> None:
    sample = times({0.5: 50.0, 2.5: 100.0, float("inf"): 101.0})

    assert sample.total == 101
    assert sample.quantile(0.25) == pytest.approx(0.25, abs=0.05)
    assert sample.values[-1] == 2.5


def test_no_buckets_are_no_sample() -> None:
    assert (counts({}, 0.0).total, times({}).total) == (0, 0)
