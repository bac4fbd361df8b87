from __future__ import annotations

import pytest

from dashboards.errors import SettingsError
from dashboards.settings import Settings, load_settings


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"time_scale": 0}, "time_scale got 0", id="a-scale-is-above-0"),
        pytest.param({"time_scale": "1/0"}, "time_scale got '1/0'", id="a-scale-is-a-number"),
        pytest.param({"time_scale": 2}, "time_scale got 2", id="a-scale-is-at-most-1"),
        pytest.param(
            {"time_scale": 1 / 60},
            "time_scale 0.01667 makes window_short 15s, expected at least 4 scrapes, 1m; "
            "scrape at least every 3750ms",
            id="scaled-windows-need-faster-scrapes",
        ),
        pytest.param(
            {"scrape_interval": "5m"}, "expected at least 4 scrapes, 20m", id="slow-scrapes"
        ),
        pytest.param(
            {"window_short": "2h"}, "expected each longer than the one before", id="windows-grow"
        ),
        pytest.param({"window_short": "a while"}, "no duration", id="a-duration-is-one"),
        pytest.param(
            {"memory": "30m"},
            "memory got 30m, expected more than window_medium, 1h",
            id="memory-outlasts-an-hour",
        ),
        pytest.param({"group_by": "instance"}, "group_by got 'instance'", id="no-replica-label"),
        pytest.param(
            {"group_by": "job,graph"}, "group_by got 'graph'", id="no-label-of-our-metrics"
        ),
        pytest.param({"group_by": "cluster"}, "expected job and others", id="job-is-needed"),
        pytest.param({"group_by": "job,job"}, "each once", id="each-label-once"),
        pytest.param({"selector": "job=a"}, "selector got 'job=a'", id="values-need-quotes"),
        pytest.param(
            {"severity_page": "ticket"}, "are both 'ticket'", id="severities-differ"
        ),
        pytest.param({"grafana_folder": "$HOME"}, "'$'", id="no-dollar-anywhere"),
        pytest.param(
            {"latency_seconds": 15},
            "latency_seconds got 15.0, expected one of 0.5, 2.5, 5.0, 10.0, 20.0, 40.0",
            id="latency-is-a-bucket-edge",
        ),
        pytest.param(
            {"latency_seconds": 120}, "latency_seconds got 120.0", id="below-the-last-edge"
        ),
        pytest.param({"drift_similarity": 0.55}, "drift_similarity got 0.55", id="drift-edge"),
        pytest.param({"weak_score": 0.07}, "weak_score got 0.07", id="score-edge"),
        pytest.param(
            {"page_add": 0.05},
            "page_add got 0.05, expected at least ticket_add, 0.1",
            id="a-page-needs-more-than-a-ticket",
        ),
        pytest.param({"uid_prefix": "much-too-long"}, "uid_prefix", id="uids-stay-short"),
        pytest.param({"rule_name": "Not DNS"}, "rule_name", id="kubernetes-names"),
        pytest.param({"no_such": 1}, "no_such", id="unknown-names-are-refused"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused_by_name(
    changes: dict[str, object], said: str
) -> None:
    with pytest.raises(SettingsError, match="wrong settings") as caught:
        load_settings(**changes)

    assert said in str(caught.value)
    assert "generate --help" in str(caught.value)


def test_none_stands_for_not_given() -> None:
    assert load_settings(time_scale=None, group_by=None) == Settings()


@pytest.mark.parametrize(
    ("scale", "scrape", "expected"),
    [
        pytest.param(1, "15s", ("5m", "15m", "1h", "2m", "1m"), id="real-time"),
        pytest.param(1 / 60, "1s", ("5s", "15s", "1m", "2s", "1s"), id="a-minute-in-a-second"),
        pytest.param(1 / 60, "2s", ("8s", "15s", "1m", "2s", "2s"), id="four-scrapes-at-least"),
        pytest.param(
            1 / 120, "1s", ("4s", "7500ms", "30s", "1s", "1s"), id="no-evaluation-before-a-scrape"
        ),
    ],
)
def test_one_scale_shortens_every_time(
    scale: float, scrape: str, expected: tuple[str, ...]
) -> None:
    settings = load_settings(time_scale=scale, scrape_interval=scrape)

    got = (
        settings.range(300),
        settings.range(settings.window_short),
        settings.range(settings.window_medium),
        settings.span(120),
        f"{settings.evaluation_seconds:g}s".replace("60s", "1m"),
    )

    assert got == expected


@pytest.mark.parametrize(
    ("interval", "scale", "expected"),
    [("1m", 1, 60), ("15s", 1, 20), ("1m", 1 / 60, 10), ("10s", 1, 10), ("61s", 1, 70)],
)
def test_grafana_evaluates_in_whole_ticks(interval: str, scale: float, expected: int) -> None:
    settings = load_settings(
        evaluation_interval=interval, time_scale=scale, scrape_interval=f"{15 * scale}s"
    )

    assert settings.grafana_seconds == expected


def test_a_selector_may_hold_several_matchers() -> None:
    text = 'namespace="prod",cluster=~"a|b,c"'

    assert load_settings(selector=text).selector == text


@pytest.mark.parametrize(("text", "expected"), [("1/60", 1 / 60), ("0.5", 0.5), (1, 1.0)])
def test_a_scale_may_be_a_fraction(text: str | float, expected: float) -> None:
    assert load_settings(time_scale=text, scrape_interval="1s").time_scale == expected
