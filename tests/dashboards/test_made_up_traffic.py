"""The values that made-up traffic gives to promtool."""

from __future__ import annotations

import pytest

from dashboards.traffic import ANSWERED, BROKEN, GAUGES, HEALTHY, Phase, Replica, build

A_MINUTE = {ANSWERED: 2.0}


@pytest.mark.parametrize(
    ("phases", "step", "expected"),
    [
        pytest.param((Phase(minutes=3, rates=A_MINUTE),), 1, "0+2x3", id="a-phase"),
        pytest.param(
            (Phase(minutes=2, rates=A_MINUTE), Phase(minutes=2, rates={ANSWERED: 5.0})),
            1,
            "0+2x2 9+5x1",
            id="a-phase-goes-on-where-the-last-ended",
        ),
        pytest.param(
            (Phase(minutes=2, rates=A_MINUTE), Phase(minutes=2, rates=A_MINUTE, restarts=True)),
            1,
            "0+2x2 0+2x1",
            id="a-restart-begins-at-0",
        ),
        pytest.param(
            (
                Phase(minutes=1, rates=A_MINUTE),
                Phase(minutes=2, rates=A_MINUTE, is_scraped=False),
                Phase(minutes=1, rates=A_MINUTE),
            ),
            1,
            "0+2x1 _x2 8+2x0",
            id="a-gap-does-not-stop-the-service",
        ),
        pytest.param(
            (Phase(minutes=1, rates=A_MINUTE), Phase(minutes=3, is_gone=True)),
            1,
            "0+2x1 stale _x2",
            id="a-target-that-goes-is-marked-stale",
        ),
        pytest.param(
            (Phase(minutes=2, rates={}), Phase(minutes=2, rates=A_MINUTE)),
            1,
            "_x3 2+2x1",
            id="a-series-may-be-born-late-at-its-first-events",
        ),
        pytest.param(
            (Phase(minutes=20, rates=A_MINUTE),), 10, "0+20x2", id="a-coarse-step-sums-up"
        ),
    ],
)
def test_values(phases: tuple[Phase, ...], step: int, expected: str) -> None:
    series = Replica(phases=phases).series(step, {})

    assert next(v for k, v in series.items() if k.startswith(ANSWERED[:-1])) == expected


def test_an_old_service_begins_with_what_it_counted_before() -> None:
    series = Replica(phases=(Phase(minutes=1, rates=A_MINUTE),), age_minutes=100).series(1, {})

    assert "200+2x1" in series.values()


def test_target_labels_follow_those_of_the_metric() -> None:
    series = Replica(phases=(Phase(minutes=1, rates=A_MINUTE, gauges={}),), name="b")

    assert list(series.series(1, {"cluster": "x"})) == [
        'rag_turns_total{graph="support_agent",outcome="answered",retrieved="yes",'
        'last_grade="pass",job="support",instance="b",cluster="x"}'
    ]


def test_gauges_keep_their_value() -> None:
    series = Replica(phases=(Phase(minutes=2, rates={}, gauges={build(): 1}),)).series(1, {})

    assert list(series.values()) == ["1+0x2"]


def test_healthy_rates_add_up_without_rounding() -> None:
    """promtool adds step by step: an inexact rate would look like a restart between phases."""
    assert all((rate * 4096).is_integer() for rate in map(float, HEALTHY.values()))
    assert BROKEN in HEALTHY
    assert build() in GAUGES
