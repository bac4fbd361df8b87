from __future__ import annotations

import pytest

from agent.console.guide import GuideFailure, Rise, ShareCriterion, SilenceCriterion, guide
from agent.console.measures import MEASURES

BY_SLUG: dict[str, GuideFailure] = {failure.slug: failure for failure in guide()}


def test_what_records_tell_is_of_the_guide() -> None:
    named = {c.measure for f in guide() for alert in f.alerts for c in alert.criteria}

    assert set(MEASURES) <= named


def test_records_tell_all_but_what_leaves_no_turn() -> None:
    told = {
        failure.slug
        for failure in guide()
        for alert in failure.alerts
        for criterion in alert.criteria
        if isinstance(criterion, SilenceCriterion) or criterion.measure in MEASURES
    }

    assert set(BY_SLUG) - told == {
        "metrics_absent", "recursion_limit_low", "spans_dropped", "telemetry_errors",
        "datasource_down", "probe_flipped", "probe_absent",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("RagSynonymSwapTicket", {0.25}, id="a-fixed-limit"),
        pytest.param("RagBudgetCheckedFirstPage", {0.1}, id="a-share-of-rare-events"),
        pytest.param("RagRunawayLoopPage", {0.072, 0.03}, id="two-burn-rates"),
        pytest.param("RagRunawayLoopTicket", {0.0}, id="at-the-first"),
        pytest.param("RagSilentRejectionPage", {None}, id="from-the-past"),
    ],
)
def test_limits_are_those_of_the_guide(name: str, expected: set[float | None]) -> None:
    alert = next(a for f in guide() for a in f.alerts if a.name == name)

    limits = {
        window.limit
        for criterion in alert.criteria
        if isinstance(criterion, ShareCriterion)
        for window in criterion.windows
    }

    assert limits == expected


@pytest.mark.parametrize(
    ("events", "total", "expected"),
    [
        pytest.param(0, 0, 0.3077, id="without-a-past-the-expected-share"),
        pytest.param(0, 100_000, 0.2002, id="what-never-happens-may-rise-by-the-share"),
        pytest.param(500_000, 1_000_000, 0.8, id="what-is-usual-is-bounded-by-the-odds"),
    ],
)
def test_a_limit_follows_from_the_past_as_in_the_rules(
    events: int, total: int, expected: float
) -> None:
    criterion = BY_SLUG["silent_rejection"].alerts[0].criteria[0]
    assert isinstance(criterion, ShareCriterion)
    assert isinstance(criterion.rise, Rise)

    assert criterion.rise.limit(events, total) == pytest.approx(expected, abs=5e-4)


def test_the_objective_of_latency_is_told() -> None:
    assert BY_SLUG["latency_objective"].edges == {"slow": 20.0}
