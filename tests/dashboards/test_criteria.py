from __future__ import annotations

import re
from typing import Any

import pytest

from dashboards import shares
from dashboards.conditions import Burns, Condition, Either, Exceeds, Happened, Rises, Share
from dashboards.criteria import criteria
from dashboards.failures import FAILURES
from dashboards.settings import Settings, load_settings
from dashboards.special_conditions import FellSilent, Vanished

REAL = load_settings()
SURE = {"z": 3, "min_events": 5, "min_total": 10}
BARE = {"z": 0, "min_total": 0, "rise": None}
RISES = Rises(signal=shares.REJECTED, margin=shares.PAGE)
USUAL_PAGE = {
    "add": 0.2, "odds": 4.0, "expected": 0.1, "weight": 200.0,
    "baseline_seconds": 604_800.0, "delay_seconds": 21_600.0,
}  # fmt: skip


def window(seconds: float, limit: float | None, burst: float | None = None) -> dict[str, Any]:
    return {"seconds": seconds, "limit": limit, "burst_seconds": burst}


def windows(limit: float | None) -> list[dict[str, Any]]:
    return [window(seconds, limit) for seconds in (900.0, 3_600.0, 21_600.0)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        pytest.param(
            Exceeds(signal=shares.SWAPPED, limit="swap_ticket"),
            [{"measure": "swapped", "windows": windows(0.25), "rise": None, **SURE}],
            id="above-a-fixed-limit",
        ),
        pytest.param(
            RISES,
            [{"measure": "rejected", "windows": windows(None), "rise": USUAL_PAGE, **SURE}],
            id="above-its-usual-value",
        ),
        pytest.param(
            Rises(signal=shares.NOT_FOUND, margin=shares.TICKET, after_change=True),
            [],
            id="after-a-change-which-numbers-do-not-tell",
        ),
        pytest.param(
            Either(of=(RISES, RISES)),
            [{"measure": "rejected", "windows": windows(None), "rise": USUAL_PAGE, **SURE}] * 2,
            id="one-of-two",
        ),
        pytest.param(
            Happened(events=shares.DISCARDED, what="x"),
            [{"measure": "a_failure", "min_events": 1, "windows": [window(3_600.0, 0.0)], **BARE}],
            id="at-the-first",
        ),
        pytest.param(
            Share(events=shares.DISCARDED, total=shares.NO_RESULTS, what="x", out_of="y",
                  limit="misplaced_page"),
            [{"measure": "a_failure", "min_events": 3, "windows": [window(3_600.0, 0.1)], **BARE}],
            id="a-share-of-rare-events",
        ),
        pytest.param(
            Burns(events=shares.RECURSION_ERRORS, total=shares.TURNS, what="x", out_of="y",
                  budget="loop_budget"),
            [{"measure": "a_failure", "min_events": 3, **BARE, "windows": [
                window(3_600.0, 0.072, 300.0), window(21_600.0, 0.03, 1_800.0)]}],
            id="a-budget-in-two-windows",
        ),
        pytest.param(
            FellSilent(events=shares.TURNS),
            [{"measure": "a_failure", "windows": [900.0, 3_600.0, 21_600.0], "more_than": 20.0,
              "period_seconds": 604_800.0}],
            id="silence",
        ),
        pytest.param(Vanished(), [], id="its-query-alone-tells"),
    ],
)  # fmt: skip
def test_the_numbers_of_a_condition(condition: Condition, expected: list[dict[str, Any]]) -> None:
    assert criteria(condition, REAL, "a_failure") == expected


def test_durations_are_scaled_as_in_the_rules() -> None:
    fast = load_settings(time_scale=1 / 60, scrape_interval="1s")

    (found,) = criteria(RISES, fast, "a_failure")

    assert [one["seconds"] for one in found["windows"]] == [15.0, 60.0, 360.0]
    assert (found["rise"]["baseline_seconds"], found["rise"]["delay_seconds"]) == (10_080.0, 360.0)


def test_every_fixed_limit_stands_in_its_rule(settings: Settings) -> None:
    for failure in FAILURES:
        for alert in failure.alerts:
            compared = {float(n) for n in re.findall(r"> ([\d.]+)", alert.condition.expr(settings))}
            for criterion in criteria(alert.condition, settings, failure.slug):
                fixed = {one["limit"] for one in criterion["windows"] if isinstance(one, dict)}
                assert fixed - {None} <= compared
