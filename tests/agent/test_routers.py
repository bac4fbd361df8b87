from __future__ import annotations

from typing import Any, cast

import pytest

from agent.routers import (
    route_after_topic_check,
    route_budget_first,
    route_evidence_first,
    route_unless_doubtful,
)
from agent.state import Grade, SupportState


def make_state(**changes: Any) -> SupportState:
    return cast(
        SupportState,
        {
            "topic": {"classification": "RELEVANT", "confidence": "HIGH"},
            "asked_back": False,
            "attempts": [],
            "rewrites": 0,
            "max_rewrites": 2,
            **changes,
        },
    )


def attempts(*grades: Grade) -> list[dict[str, Any]]:
    chunks = [{"id": str(n), "score": 0.1, "grade": grade} for n, grade in enumerate(grades)]
    return [{"query": "q", "chunks": chunks}]


@pytest.mark.parametrize(
    ("classification", "confidence", "expected"),
    [
        pytest.param("RELEVANT", "HIGH", "fetch_content", id="relevant-searches"),
        pytest.param("RELEVANT", "LOW", "fetch_content", id="confidence-is-not-read"),
        pytest.param("IRRELEVANT", "HIGH", "handle_off_topic", id="irrelevant-is-refused"),
        pytest.param("IRRELEVANT", "LOW", "handle_off_topic", id="doubtful-irrelevant-is-refused"),
        pytest.param("Relevant?", "HIGH", "handle_off_topic", id="anything-else-is-refused"),
    ],
)
def test_topic_check_routes_on_the_classification_alone(
    classification: str, confidence: str, expected: str
) -> None:
    state = make_state(topic={"classification": classification, "confidence": confidence})

    assert route_after_topic_check(state) == expected


@pytest.mark.parametrize(
    ("classification", "confidence", "asked_back", "expected"),
    [
        pytest.param("IRRELEVANT", "LOW", False, "ask_clarification", id="a-doubt-asks-back"),
        pytest.param("IRRELEVANT", "LOW", True, "handle_off_topic", id="never-twice-in-a-row"),
        pytest.param("IRRELEVANT", "MEDIUM", False, "handle_off_topic", id="medium-is-no-doubt"),
        pytest.param("IRRELEVANT", "HIGH", False, "handle_off_topic", id="sure-is-refused"),
        pytest.param("RELEVANT", "LOW", False, "fetch_content", id="a-search-needs-no-question"),
        pytest.param("RELEVANT", "LOW", True, "fetch_content", id="nor-after-a-clarification"),
        pytest.param("RELEVANT", "HIGH", False, "fetch_content", id="relevant-searches-as-ever"),
        pytest.param("Relevant?", "HIGH", False, "handle_off_topic", id="anything-else-is-refused"),
    ],
)
def test_a_doubtful_refusal_asks_back_once(
    classification: str, confidence: str, asked_back: bool, expected: str
) -> None:
    topic = {"classification": classification, "confidence": confidence}

    assert route_unless_doubtful(make_state(topic=topic, asked_back=asked_back)) == expected


@pytest.mark.parametrize(
    ("grades", "rewrites", "evidence_first", "budget_first"),
    [
        pytest.param(
            ("pass", "fail"), 0, "generate_response", "generate_response",
            id="evidence-at-once-answers-in-both",
        ),
        pytest.param(
            ("fail", "pass"), 1, "generate_response", "generate_response",
            id="evidence-with-budget-left-answers-in-both",
        ),
        pytest.param(
            ("fail", "fail"), 0, "optimize_query", "optimize_query",
            id="no-evidence-rewrites-in-both",
        ),
        pytest.param(
            ("fail", "fail"), 1, "optimize_query", "optimize_query",
            id="no-evidence-with-one-left-rewrites-in-both",
        ),
        pytest.param(
            ("fail", "fail"), 2, "handle_no_results", "handle_no_results",
            id="no-evidence-and-no-budget-gives-up-in-both",
        ),
        pytest.param(
            ("pass", "fail"), 2, "generate_response", "handle_no_results",
            id="evidence-on-the-last-retrieval-tells-them-apart",
        ),
        pytest.param(
            (), 0, "optimize_query", "optimize_query", id="nothing-retrieved-rewrites-in-both"
        ),
        pytest.param(
            ("ungraded", "fail"), 0, "generate_response", "generate_response",
            id="a-chunk-kept-ungraded-is-evidence",
        ),
    ],
)  # fmt: skip
def test_order_of_the_checks_after_grading(
    grades: tuple[Grade, ...], rewrites: int, evidence_first: str, budget_first: str
) -> None:
    state = make_state(attempts=attempts(*grades), rewrites=rewrites)

    assert (route_evidence_first(state), route_budget_first(state)) == (
        evidence_first,
        budget_first,
    )


def test_bound_of_zero_answers_evidence_first_and_never_budget_first() -> None:
    state = make_state(attempts=attempts("pass"), max_rewrites=0)

    assert (route_evidence_first(state), route_budget_first(state)) == (
        "generate_response",
        "handle_no_results",
    )
