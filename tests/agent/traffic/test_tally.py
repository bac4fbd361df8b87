from __future__ import annotations

import math
import random

import pytest

from agent.traffic.tally import Durations, KindTally, Tally


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_quantiles_are_right_to_within_two_percent(share: float) -> None:
    chance = random.Random(1)
    values = sorted(chance.lognormvariate(-2, 1.5) for _ in range(2_001))
    durations = Durations()
    for value in values:
        durations.add(value)
    place = max(0, math.ceil(share * len(values)) - 1)

    assert durations.quantile(share) == pytest.approx(values[place], rel=0.02)


def test_no_duration_has_no_quantile() -> None:
    assert Durations().quantile(0.5) is None


def test_a_duration_of_zero_is_counted() -> None:
    durations = Durations()
    durations.add(0.0)

    assert durations.quantile(0.5) == pytest.approx(1e-4)


def test_memory_does_not_grow_with_the_number_of_durations() -> None:
    durations = Durations()
    for number in range(50_000):
        durations.add(0.05 + (number % 100) / 1_000)

    assert durations.count == 50_000
    assert len(durations._bins) < 80


@pytest.mark.parametrize(
    ("sent", "unsent", "errors", "expected"),
    [
        pytest.param(3, 0, 0, True, id="every-question-got-a-reply"),
        pytest.param(3, 1, 0, False, id="one-could-not-be-sent"),
        pytest.param(3, 0, 1, False, id="one-got-no-reply"),
        pytest.param(0, 0, 0, False, id="nothing-was-asked"),
    ],
)
def test_is_answered(sent: int, unsent: int, errors: int, expected: bool) -> None:
    total = KindTally(sent=sent, unsent=unsent)
    if errors:
        total.errors["timeout"] = errors

    assert Tally(total=total).is_answered is expected


def test_json_holds_each_kind() -> None:
    tally = Tally(seconds=2.0)
    for place in tally.of("golden"):
        place.sent += 1
        place.outcomes["answered"] += 1
        place.durations.add(0.1)

    assert tally.as_json()["kinds"]["golden"] == tally.as_json()["total"]
    assert tally.as_json()["total"] == {
        "sent": 1, "unsent": 0, "outcomes": {"answered": 1}, "errors": {},
        "p50_seconds": pytest.approx(0.1, rel=0.02), "p99_seconds": pytest.approx(0.1, rel=0.02),
    }  # fmt: skip
