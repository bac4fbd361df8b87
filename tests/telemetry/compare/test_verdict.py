from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_turns import Loop, make_side

from telemetry.compare.comparison import compare
from telemetry.compare.from_records import side_of
from telemetry.compare.measures import BY_NAME
from telemetry.compare.rates import Rate
from telemetry.compare.report import as_json, markdown
from telemetry.compare.sample import Sample
from telemetry.compare.side import Side
from telemetry.compare.verdict import findings


def side(**measured: Rate | Sample) -> Side:
    return Side(name="", about="", turns=0, measured=measured)


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        pytest.param("no_results", (30, 300), (60, 300), "worse", id="doubled-of-300"),
        pytest.param("no_results", (1, 10), (2, 10), "not enough data", id="doubled-of-ten"),
        pytest.param("no_results", (60, 300), (30, 300), "better", id="halved"),
        pytest.param("no_results", (60, 600), (62, 600), "no difference shown", id="the-same"),
        pytest.param("answered", (270, 300), (200, 300), "worse", id="fewer-answers-are-worse"),
        pytest.param("answered", (200, 300), (270, 300), "better", id="more-answers-are-better"),
        pytest.param("no_results", (0, 0), (90, 90), "not enough data", id="an-empty-side"),
        pytest.param("no_results", (0, 9), (9, 9), "not enough data", id="nine-are-too-few"),
        pytest.param("no_results", (0, 300), (0, 300), "no difference shown", id="none-at-all"),
        pytest.param("no_results", (300, 300), (300, 300), "no difference shown", id="all"),
        pytest.param(
            "no_results", (20_000, 200_000), (20_900, 200_000), "no difference shown",
            id="sure-but-less-than-a-point",
        ),
    ],
)  # fmt: skip
def test_the_verdict_on_a_rate(
    name: str, before: tuple[int, int], after: tuple[int, int], expected: str
) -> None:
    (found,) = findings(side(**{name: Rate(*before)}), side(**{name: Rate(*after)}))

    assert found.verdict == expected
    assert (found.more_after > 0) == (expected == "not enough data" and found.after.n < 200)


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        pytest.param({"answered": 2_000}, 0, id="enough-of-the-only-measure"),
        pytest.param({"answered": 12}, 3, id="too-little-of-the-only-measure"),
        pytest.param({"no_results": 2_000, "answered": 12}, 0, id="headline-measures-decide"),
        pytest.param({"no_results": 12, "answered": 2_000}, 3, id="and-are-too-few"),
        pytest.param({}, 3, id="nothing-was-measured"),
    ],
)
def test_which_measures_must_have_enough_data(measured: dict[str, int], expected: int) -> None:
    one = side(**{name: Rate(size // 2, size) for name, size in measured.items()})

    assert compare(one, one).exit_code == expected


def test_too_few_data_say_how_many_more_would_do() -> None:
    (found,) = findings(side(no_results=Rate(1, 10)), side(no_results=Rate(2, 20)))
    enough = found.before.n + found.more_before
    (then,) = findings(
        side(no_results=Rate(enough // 10, enough)), side(no_results=Rate(enough // 10, enough))
    )

    assert found.before.n + found.more_before == found.after.n + found.more_after
    assert then.verdict == "no difference shown"


def test_a_comparison_is_worse_when_one_measure_is() -> None:
    found = compare(make_side(600, 1), make_side(600, 2, Loop(lost=0.4)))

    assert (found.verdict, found.exit_code) == ("worse", 1)
    assert found.blame is not None
    assert found.blame.first_cause == "retrieval"


def test_an_empty_side_is_not_enough_and_never_an_error() -> None:
    found = compare(side_of("before", "", []), make_side(50, 1))

    assert (found.verdict, found.exit_code) == ("not enough data", 3)
    assert "nan" not in str(as_json(found)).lower()
    assert "nothing to compare" in markdown(found)


def test_under_no_change_at_most_one_comparison_in_twenty_says_worse() -> None:
    """Family-wise over all measures; benchmarks/compare.py does 2,000 pairs of larger sides."""
    pool = make_side(1_000, 5).observed
    chance = random.Random(1)
    verdicts = [
        compare(*(side_of("", "", chance.choices(pool, k=120)) for _ in range(2))).verdict
        for _ in range(40)
    ]

    assert verdicts.count("worse") <= 3  # of 40 at 2.5 %: more with a chance of 2 %


def test_a_doubling_from_ten_percent_is_found_in_nine_of_ten() -> None:
    chance = np.random.default_rng(2)
    others = {name: Rate(30, 600) for name in BY_NAME if BY_NAME[name].kind == "rate"}
    found = []
    for first, second in chance.binomial(600, [0.1, 0.2], size=(300, 2)):
        sides = [side(**{**others, "no_results": Rate(int(hits), 600)}) for hits in (first, second)]
        found.append(findings(*sides)[0].verdict == "worse")

    assert np.mean(found) >= 0.9


numbers = st.lists(st.floats(0, 1e6) | st.just(math.nan), max_size=40)


@settings(max_examples=40, deadline=None)
@given(hits=st.tuples(*[st.integers(0, 400)] * 4), first=numbers, second=numbers)
def test_whatever_was_counted_gets_a_verdict(
    hits: tuple[int, ...], first: list[float], second: list[float]
) -> None:
    before, after = (
        side(
            no_results=Rate(min(pair), max(pair)),
            tokens=Sample.of(found),
            duration=Sample.of(found),
        )
        for pair, found in ((hits[:2], first), (hits[2:], second))
    )
    for found in findings(before, after):
        assert 0 <= found.p_value <= 1
        assert found.p_value <= found.p_adjusted <= 1
        assert not found.interval.low > found.interval.high
        assert min(found.more_before, found.more_after) >= 0
