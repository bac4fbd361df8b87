from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain, combinations

import numpy as np
import pytest
from rollouts import first_slots, made_rollout

from telemetry.canary.counts import NOT_STARTED, Counts, Rollout
from telemetry.canary.course import ENOUGH, adjusted, judge, surely_fine, surely_worse
from telemetry.canary.decision import decide
from telemetry.canary.measures import BY_NAME, MEASURES
from telemetry.compare.rates import Rate

MARGIN = 0.05


@pytest.mark.parametrize(
    ("canary", "slots", "turns", "expected"),
    [
        pytest.param({}, 2_000, (19, 1), "promote", id="nothing-changed"),
        pytest.param({"no_results": 0.0}, 2_000, (19, 1), "promote", id="better-is-fine"),
        pytest.param({"no_results": 0.3}, 600, (19, 1), "roll back", id="three-times-as-many"),
        pytest.param({"slow": 0.5}, 300, (19, 1), "roll back", id="slow"),
        pytest.param({"failed": 0.1}, 600, (19, 1), "roll back", id="failing"),
        pytest.param({"rewrote": 0.4}, 600, (3, 3), "roll back", id="half-of-the-traffic"),
        pytest.param({}, 30, (19, 1), "keep waiting", id="thirty-turns-are-too-few"),
        pytest.param({"failed": 1.0}, 9, (19, 1), "keep waiting", id="nine-turns-say-nothing"),
        pytest.param({"failed": 1.0}, 10, (19, 1), "roll back", id="ten-failures-do"),
    ],
)
def test_verdict(
    canary: Mapping[str, float], slots: int, turns: tuple[int, int], expected: str
) -> None:
    found = decide(made_rollout(1, slots, canary, turns), MARGIN)

    assert found.verdict == expected
    assert {one.measure.name for one in found.worse} == set(canary if found.worse else ())
    assert (found.more_turns is None) == (expected != "keep waiting")
    for one in found.findings:
        assert one.interval.low <= one.difference <= one.interval.high
        assert one.is_fine == (one.interval.high <= MARGIN + 1e-3)


def test_a_rise_below_the_margin_is_promoted_and_one_above_is_not() -> None:
    rollout = made_rollout(2, 4_000, {"rewrote": 0.29})
    (rewrote,) = (BY_NAME["rewrote"],)

    assert decide(rollout, 0.2, [BY_NAME["off_topic"], BY_NAME["slow"]]).verdict == "promote"
    assert decide(rollout, 0.05, [rewrote]).verdict == "roll back"


def test_before_its_first_turn_there_is_nothing_to_decide() -> None:
    found = decide(NOT_STARTED, MARGIN)

    assert (found.verdict, found.more_turns, found.findings) == ("keep waiting", None, ())


def test_a_side_without_turns_is_waited_for() -> None:
    found = decide(made_rollout(1, 50, {}, (5, 0)), MARGIN)

    assert (found.verdict, found.more_turns) == ("keep waiting", None)
    assert all(math.isnan(one.difference) for one in found.findings)


def test_once_surely_worse_stays_so_whatever_comes_after() -> None:
    """A command that is started anew decides as the one that it replaces."""
    bad, good = made_rollout(1, 400, {"failed": 0.2}), made_rollout(2, 3_000, {"failed": 0.0})
    counts = {
        name: type(found)(
            before=found.before,
            hits=np.concatenate([found.hits, good.counts[name].hits]),
            totals=np.concatenate([found.totals, good.counts[name].totals]),
        )
        for name, found in bad.counts.items()
    }
    both = type(bad)(
        since=0.0, turns=np.concatenate([bad.turns, good.turns]), counts=counts, slow_seconds=None
    )

    assert decide(bad, MARGIN).verdict == "roll back"
    assert decide(both, MARGIN).verdict == "roll back"


def test_the_course_is_what_was_decided_at_every_look() -> None:
    rollout = made_rollout(5, 1_200, {"no_results": 0.13})
    judged = judge(rollout, MARGIN, MEASURES)
    worse, fine = surely_worse(judged, rollout).any(axis=0), surely_fine(judged)
    for slots in range(60, 1_201, 120):
        part = first_slots(rollout, slots)
        known = judge(part, MARGIN, MEASURES)

        assert surely_worse(known, part).any(axis=0)[-1] == worse[slots - 1]
        assert surely_fine(known)[-1] == fine[slots - 1]


@pytest.mark.parametrize(
    ("canary", "slots", "expected"),
    [
        pytest.param(0.1, 20, "promote", id="the-same"),
        pytest.param(0.12, 20, "promote", id="a-little-worse"),
        pytest.param(0.2, 50, "roll back", id="twice-as-many"),
        pytest.param(0.3, 20, "roll back", id="three-times-as-many"),
    ],
)
def test_when_shares_stay_it_takes_about_the_turns_that_it_says(
    canary: float, slots: int, expected: str
) -> None:
    totals = np.tile([19.0, 1.0], (2_000, 1))
    counts = Counts(before=Rate(60, 600), hits=totals * [0.1, canary], totals=totals)
    rollout = Rollout(since=0.0, turns=totals, counts={"no_results": counts}, slow_seconds=None)
    (judged,) = judge(rollout, MARGIN, MEASURES)
    said = decide(first_slots(rollout, slots), MARGIN)
    path = judged.fine if expected == "promote" else judged.worse
    taken = int(np.argmax(path >= ENOUGH)) + 1 - slots

    assert said.likely == expected
    assert said.more_turns is not None
    assert 0.55 < said.more_turns / taken < 1.7


@pytest.mark.parametrize(
    "e_values",
    [(1.0,), (50.0, 2.0), (60.0, 50.0, 0.1, 0.1), (0.0, 0.0, 5.0), (3.0, 3.0, 3.0, 400.0)],
    ids=str,
)
def test_adjusted_is_the_least_mean_of_all_groups_with_the_measure(
    e_values: tuple[float, ...],
) -> None:
    """Closed testing, spelled out: every group that holds the measure, by its mean."""
    everyone = range(len(e_values))
    groups = list(chain.from_iterable(combinations(everyone, n + 1) for n in everyone))
    expected = [
        min(np.mean([e_values[other] for other in group]) for group in groups if one in group)
        for one in everyone
    ]

    assert adjusted(np.array(e_values)[:, None])[:, 0] == pytest.approx(expected)


def test_no_change_is_seldom_rolled_back_over_all_measures_and_looks() -> None:
    """benchmarks/canary.py does 2,000 longer ones with turns of the agent."""
    shown = 0
    for seed in range(100):
        rollout = made_rollout(seed, 500, {})
        shown += bool(surely_worse(judge(rollout, MARGIN, MEASURES), rollout).any())

    assert shown <= 5


def test_worse_by_the_margin_is_seldom_promoted() -> None:
    shown = 0
    for seed in range(200):
        rollout = made_rollout(seed, 800, {"no_results": 0.1 + MARGIN})
        shown += bool(surely_fine(judge(rollout, MARGIN, [BY_NAME["no_results"]])).any())

    assert shown <= 16  # of 200 at 5 %: more with a chance of 3 %
