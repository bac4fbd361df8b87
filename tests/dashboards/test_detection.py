from __future__ import annotations

import math
from pathlib import Path

import pytest
from promtool import firing_by_minute
from scipy.stats import binomtest, norm

from dashboards.cases import WARM_UP
from dashboards.detection import seconds_to_fire, wilson_lower
from dashboards.failures import (
    BUDGET_CHECKED_FIRST,
    FAILURES,
    METRICS_ABSENT,
    RUNAWAY_LOOP,
    SILENT_REJECTION,
)
from dashboards.settings import Settings
from dashboards.traffic import ANSWERED, IDLE, OFF_TOPIC, Phase, Replica

PAGE, TICKET = SILENT_REJECTION.alerts


@pytest.mark.parametrize(("events", "total"), [(5, 10), (0, 10), (10, 10), (180, 530), (1, 1)])
def test_the_bound_is_the_textbook_interval(events: int, total: int) -> None:
    level = 2 * norm.cdf(3) - 1
    textbook = binomtest(events, total).proportion_ci(confidence_level=level, method="wilson")

    assert wilson_lower(events, total) == pytest.approx(textbook.low, abs=1e-9)


def test_more_events_than_total_give_no_error() -> None:
    assert math.isfinite(wilson_lower(11, 10))


@pytest.mark.parametrize(
    ("per_minute", "affected", "expected_minutes"),
    [
        pytest.param(50, 1.0, 7, id="busy-and-total"),
        pytest.param(2, 1.0, 10, id="two-a-minute"),
        pytest.param(0.5, 1.0, 33, id="one-in-two-minutes"),
        pytest.param(0.1, 1.0, 178, id="one-in-ten-minutes"),
        pytest.param(10, 0.05, None, id="too-little-to-page"),
    ],
)
def test_a_total_refusal_pages_in_time(
    per_minute: float, affected: float, expected_minutes: float | None, settings: Settings
) -> None:
    got = seconds_to_fire(PAGE, settings, per_second=per_minute / 60, affected=affected)

    assert got == (None if expected_minutes is None else expected_minutes * 60)


def test_less_traffic_is_never_told_sooner(settings: Settings) -> None:
    for failure in FAILURES:
        for alert in failure.alerts:
            times = [
                seconds_to_fire(alert, settings, per_second=rate, affected=1.0) or math.inf
                for rate in (1.0, 0.1, 0.01, 0.001)
            ]
            assert times == sorted(times)


def test_what_is_not_about_counts_has_no_time(settings: Settings) -> None:
    (alert,) = METRICS_ABSENT.alerts

    assert seconds_to_fire(alert, settings, per_second=1, affected=1) is None


def test_scaled_time_is_scaled_detection(settings: Settings, demo_settings: Settings) -> None:
    """As many events in a scaled window: as many minutes as seconds."""
    for alert in (PAGE, TICKET, RUNAWAY_LOOP.alerts[0], BUDGET_CHECKED_FIRST.alerts[0]):
        real = seconds_to_fire(alert, settings, per_second=1 / 6, affected=0.5)
        scaled = seconds_to_fire(alert, demo_settings, per_second=10, affected=0.5)

        assert real is not None
        assert scaled == pytest.approx(real / 60, abs=1)


@pytest.mark.servers
def test_the_replay_says_what_prometheus_does(
    settings: Settings, tree: Path, tmp_path: Path
) -> None:
    """Eight turns a minute, an eighth refused before and five eighths after."""
    before = {**IDLE, OFF_TOPIC: 1, ANSWERED: 7}
    after = {**IDLE, OFF_TOPIC: 5, ANSWERED: 3}
    replica = Replica(
        age_minutes=512,
        phases=(Phase(minutes=WARM_UP, rates=before), Phase(minutes=60, rates=after)),
    )
    series = [{"series": k, "values": v} for k, v in replica.series(1, {}).items()]
    rules = tree / "prometheus" / "silent_rejection.yml"
    minutes = range(WARM_UP, WARM_UP + 60)

    firing = firing_by_minute([rules], series, minutes, tmp_path)
    expected = Settings(expected_rejected=0.125)

    for alert in (PAGE, TICKET):
        name = SILENT_REJECTION.alert_name(alert)
        first = next(minute for minute in minutes if name in firing[minute]) - WARM_UP
        told = seconds_to_fire(alert, expected, per_second=8 / 60, affected=4 / 7)
        assert told is not None
        assert abs(told / 60 - first) <= 2
