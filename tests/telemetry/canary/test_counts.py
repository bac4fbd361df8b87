from __future__ import annotations

import numpy as np
import pytest

from telemetry.canary.counts import CANARY, SLOT_SECONDS, STABLE, Counts, Tally
from telemetry.compare.rates import Rate


def counts(*totals: tuple[float, float]) -> Counts:
    table = np.array(totals, dtype=float).reshape(-1, 2)
    return Counts(before=Rate(1, 10), hits=table // 2, totals=table)


@pytest.mark.parametrize(
    ("slots", "expected", "ends"),
    [
        pytest.param([(3, 1), (2, 2)], [(3, 1), (2, 2)], [1, 2], id="both-in-every-slot"),
        pytest.param([(3, 0), (2, 0), (4, 1)], [(9, 1)], [3], id="waits-for-the-canary"),
        pytest.param([(0, 1), (0, 1), (4, 0)], [(4, 2)], [3], id="waits-for-the-stable-side"),
        pytest.param([(3, 1), (2, 0)], [(3, 1)], [1], id="what-is-not-over-is-left-out"),
        pytest.param([(3, 0), (2, 0)], [], [], id="one-side-alone-is-no-block"),
        pytest.param([], [], [], id="nothing"),
    ],
)
def test_blocks(
    slots: list[tuple[float, float]], expected: list[tuple[float, float]], ends: list[int]
) -> None:
    found = counts(*slots).blocks()

    assert found.totals.tolist() == [list(pair) for pair in expected]
    assert found.ends.tolist() == ends
    assert found.hits.shape == found.totals.shape


def test_a_tally_keeps_what_was_before_and_the_slots_that_are_over() -> None:
    tally = Tally(since=1_000.0)
    tally.add(990.0, STABLE, "off_topic", 1, 5)
    tally.add(990.0, CANARY, "off_topic", 1, 1)  # out before the rollout: not of it
    tally.add(1_000.0, STABLE, "off_topic", 2, 7)
    tally.add(1_000.0 + SLOT_SECONDS, CANARY, "off_topic", 1, 2)
    tally.add(1_000.0 + 2 * SLOT_SECONDS, CANARY, "off_topic", 9, 9)  # a slot still under way
    found = tally.rollout(1_000.0 + 2.5 * SLOT_SECONDS, None)
    seen = found.counts["off_topic"]

    assert seen.before == Rate(1, 5)
    assert (seen.rate(STABLE), seen.rate(CANARY)) == (Rate(2, 7), Rate(1, 2))
    assert found.turns.tolist() == [[7, 0], [0, 2]]
    assert found.total == (7, 2)


def test_in_whatever_order_it_comes_the_sum_is_the_same() -> None:
    told = [(1_000.0 + 3 * n, n % 2, "failed", n % 3 == 0, 1) for n in range(50)]
    first, second = Tally(1_000.0), Tally(1_000.0)
    for one in told:
        first.add(*one)
    for one in reversed(told):
        second.add(*one)

    assert np.array_equal(
        *(tally.rollout(1_200.0, None).counts["failed"].hits for tally in (first, second))
    )
