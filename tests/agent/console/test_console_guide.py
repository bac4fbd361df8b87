from __future__ import annotations

from collections.abc import Mapping

import pytest

from agent.console.diagnosis import COUNTED, SHOWN_BY, SIGNALS, Counts, from_records
from agent.console.guide import GuideFailure, guide

BY_SLUG: Mapping[str, GuideFailure] = {failure.slug: failure for failure in guide()}


REFUSED, ANSWERED = ("off_topic", "none"), ("answered", "pass")


def counts(by_end: Mapping[tuple[str, str], int], **changes: object) -> Counts:
    given = {"findings": {}, "rewritten": 0, "rewritten_twice": 0, **changes}
    return Counts(by_end=by_end, **given)  # type: ignore[arg-type]  # a row's changes


def test_what_records_tell_is_of_the_guide() -> None:
    assert {*SIGNALS, *SHOWN_BY, *COUNTED} <= set(BY_SLUG)


def test_every_failure_that_records_tell_has_a_threshold_that_can_be_read() -> None:
    unread = [
        alert.name
        for slug in SIGNALS
        for alert in BY_SLUG[slug].alerts
        if alert.shows == "share" and alert.limit is None
    ]

    # a burn rate or a second condition beside the share: its ticket is a count, or it is a cause
    assert set(unread) <= {
        "RagRunawayLoopPage", "RagBudgetCheckedFirstPage", "RagAnsweredWithoutEvidencePage",
    }  # fmt: skip


def test_limits_are_those_of_the_guide() -> None:
    limits = {a.name: a.limit for f in guide() for a in f.alerts}

    assert limits["RagSynonymSwapTicket"] == 0.25
    assert limits["RagSilentRejectionPage"] == pytest.approx(0.3077)


@pytest.mark.parametrize(
    ("slug", "counted", "level"),
    [
        pytest.param(
            "silent_rejection",
            counts({REFUSED: 60, ANSWERED: 40}),
            "page",
            id="most-turns-refused",
        ),
        pytest.param(
            "silent_rejection",
            counts({REFUSED: 8, ANSWERED: 92}),
            "quiet",
            id="the-usual-share",
        ),
        pytest.param("silent_rejection", counts({REFUSED: 4}), "quiet", id="too-few-to-say"),
        pytest.param(
            "runaway_loop",
            counts({("recursion_limit", "fail"): 1, ANSWERED: 9}),
            "ticket",
            id="one-runaway-loop",
        ),
        pytest.param(
            "budget_checked_first",
            counts({("no_results", "pass"): 1}),
            "ticket",
            id="passed-chunk-thrown-away-once",
        ),
        pytest.param(
            "synonym_swap",
            counts({ANSWERED: 90}, rewritten=50, findings={"synonym_swap": 40}),
            "ticket",
            id="most-rewrites-are-swaps",
        ),
        pytest.param(
            "turn_errors",
            counts({("error", "none"): 50, ANSWERED: 50}),
            "page",
            id="half-of-the-turns-fail",
        ),
        pytest.param("silent_rejection", counts({}), "unknown", id="no-turn-at-all"),
        pytest.param("spans_dropped", counts({ANSWERED: 9}), "unknown", id="records-cannot-tell"),
    ],
)
def test_the_state_of_a_failure(slug: str, counted: Counts, level: str) -> None:
    assert from_records(BY_SLUG[slug], {"1 h": counted}).level == level
