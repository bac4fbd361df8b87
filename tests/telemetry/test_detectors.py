from __future__ import annotations

from typing import Any

import pytest

from telemetry import names
from telemetry.checks import DETECTORS, check_all
from telemetry.detectors import (
    DRIFT_THRESHOLD,
    MANY_RETRIEVALS,
    Finding,
    budget_checked_first,
    rewrite_drift,
    rewrite_effect,
    runaway_loop,
    silent_rejection,
    synonym_swap,
    two_ends,
)
from telemetry.turn import Retrieval, Round, Turn

SECRET = "swordfish"


def make_retrieval(**changes: Any) -> Retrieval:
    good: dict[str, Any] = {
        "attempt": 0,
        "query": f"{SECRET} query",
        "chunk_ids": ("reboot", "sizing"),
        "scores": (0.416, 0.389),
        "grades": (False, False),
    }
    return Retrieval(**{**good, **changes})


def make_turn(**changes: Any) -> Turn:
    good: dict[str, Any] = {
        "graph": "support",
        "version": "1",
        "outcome": names.ANSWERED,
        "classification": names.RELEVANT,
        "confidence": "high",
        "question": f"{SECRET} question",
        "reply": f"{SECRET} reply",
        "retrievals": (make_retrieval(grades=(True, False)),),
        "max_rewrites": 2,
    }
    return Turn(**{**good, **changes})


def loop(*similarities: float | None, **changes: Any) -> Turn:
    """Make a turn with one rewrite for each similarity."""
    rewritten = tuple(
        make_retrieval(attempt=n, similarity=value, chunk_ids=(f"chunk{n}",), scores=(0.1 * n,))
        for n, value in enumerate(similarities, 1)
    )
    retrievals = (make_retrieval(), *rewritten)
    return make_turn(retrievals=retrievals, rewrites=len(rewritten), **changes)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, {"chunk_ids": ("sla", "incidents")}, names.NEW_CHUNKS, id="other-chunks"),
        pytest.param(
            {}, {"chunk_ids": ("sizing", "reboot")}, names.NEW_CHUNKS, id="another-order-is-new"
        ),
        pytest.param(
            {}, {"chunk_ids": ("reboot",), "scores": (0.416,)}, names.NEW_CHUNKS, id="fewer-is-new"
        ),
        pytest.param({}, {}, names.SAME_CHUNKS_AND_SCORES, id="all-the-same-is-a-swap"),
        pytest.param({}, {"scores": (0.416, 0.4)}, names.SAME_CHUNKS, id="another-score"),
        pytest.param(
            {}, {"scores": (0.416 + 9e-10, 0.389)}, names.SAME_CHUNKS_AND_SCORES,
            id="local-scores-within-1e-9-are-the-same",
        ),
        pytest.param(
            {}, {"scores": (0.416 + 2e-9, 0.389)}, names.SAME_CHUNKS,
            id="local-scores-2e-9-apart-differ",
        ),
        pytest.param(
            {"is_remote": True, "scores": (416.0, 389.0)},
            {"is_remote": True, "scores": (416.0003, 389.0)},
            names.SAME_CHUNKS_AND_SCORES,
            id="remote-scores-within-a-millionth-are-the-same",
        ),
        pytest.param(
            {"is_remote": True, "scores": (416.0, 389.0)},
            {"is_remote": True, "scores": (416.0009, 389.0)},
            names.SAME_CHUNKS,
            id="remote-scores-two-millionths-apart-differ",
        ),
        pytest.param(
            {"chunk_ids": (), "scores": ()}, {"chunk_ids": (), "scores": ()},
            names.NOTHING_MATCHED, id="empty-twice-is-no-swap",
        ),
        pytest.param(
            {"scores": (0.0, 0.0)}, {"scores": (0.0, 0.0)}, names.NOTHING_MATCHED,
            id="zero-twice-is-no-swap",
        ),
        pytest.param(
            {"chunk_ids": (), "scores": ()}, {"scores": (0.0, 0.0)}, names.NOTHING_MATCHED,
            id="empty-then-zero-matched-nothing",
        ),
        pytest.param(
            {"scores": (0.0, 0.0)}, {"scores": (0.2, 0.0)}, names.SAME_CHUNKS,
            id="a-score-above-zero-matched",
        ),
        pytest.param(
            {"chunk_ids": (), "scores": ()}, {}, names.NEW_CHUNKS, id="empty-then-chunks-is-new"
        ),
        pytest.param(
            {}, {"chunk_ids": (), "scores": ()}, names.NEW_CHUNKS, id="chunks-then-empty-is-new"
        ),
        pytest.param(
            {"scores": (None, None)}, {"scores": (None, None)}, names.SAME_CHUNKS,
            id="without-scores-a-swap-is-not-proved",
        ),
        pytest.param({}, {"scores": (0.416, None)}, names.SAME_CHUNKS, id="one-score-unknown"),
        pytest.param({"scores": ()}, {"scores": ()}, names.SAME_CHUNKS, id="no-scores-at-all"),
        pytest.param({}, {"failed": True}, None, id="failed-after-says-nothing"),
        pytest.param({"failed": True}, {}, None, id="failed-before-says-nothing"),
    ],
)  # fmt: skip
def test_rewrite_effect(
    before: dict[str, Any], after: dict[str, Any], expected: str | None
) -> None:
    effect = rewrite_effect(make_retrieval(**before), make_retrieval(attempt=1, **after))

    assert effect == expected


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        pytest.param(
            make_turn(outcome=names.OFF_TOPIC, retrievals=(), confidence="low"),
            {"confidence": "low", "is_doubtful": True},
            id="low-confidence-is-doubtful",
        ),
        pytest.param(
            make_turn(outcome=names.OFF_TOPIC, retrievals=(), confidence="high"),
            {"confidence": "high", "is_doubtful": False},
            id="high-confidence-is-evidence-too",
        ),
        pytest.param(
            make_turn(outcome=names.OFF_TOPIC, retrievals=(), confidence=None),
            {"confidence": None, "is_doubtful": False},
            id="confidence-unknown",
        ),
        pytest.param(make_turn(outcome=names.OFF_TOPIC), None, id="something-was-searched"),
        pytest.param(make_turn(retrievals=()), None, id="answered-without-a-search"),
        pytest.param(make_turn(outcome=names.ERROR, retrievals=()), None, id="failed-early"),
        pytest.param(make_turn(outcome=names.CLARIFY, retrievals=()), None, id="asked-back"),
    ],
)
def test_silent_rejection(turn: Turn, expected: dict[str, Any] | None) -> None:
    assert facts(silent_rejection(turn)) == expected


@pytest.mark.parametrize(
    ("turn", "is_found"),
    [
        pytest.param(loop(outcome=names.RECURSION_LIMIT), True, id="recursion-limit"),
        pytest.param(
            make_turn(outcome=names.RECURSION_LIMIT, retrievals=()), True,
            id="recursion-limit-before-any-search",
        ),
        pytest.param(loop(None, None, None, max_rewrites=2), True, id="more-rewrites-than-allowed"),
        pytest.param(loop(None, None, max_rewrites=2), False, id="the-bound-used-up"),
        pytest.param(loop(max_rewrites=0), False, id="no-rewrite-allowed-none-made"),
        pytest.param(loop(None, max_rewrites=0), True, id="no-rewrite-allowed-one-made"),
        pytest.param(
            loop(*[None] * (MANY_RETRIEVALS - 1), max_rewrites=None), True,
            id="many-retrievals-without-a-bound",
        ),
        pytest.param(
            loop(*[None] * (MANY_RETRIEVALS - 2), max_rewrites=None), False,
            id="fewer-retrievals-without-a-bound",
        ),
        pytest.param(
            loop(*[None] * MANY_RETRIEVALS, max_rewrites=MANY_RETRIEVALS), False,
            id="many-retrievals-that-the-bound-allows",
        ),
        pytest.param(loop(outcome=names.NO_RESULTS), False, id="no-results"),
    ],
)  # fmt: skip
def test_runaway_loop(turn: Turn, is_found: bool) -> None:
    assert (runaway_loop(turn) is not None) is is_found


def graded(*grades: tuple[bool | None, ...], **changes: Any) -> Turn:
    retrievals = tuple(make_retrieval(attempt=n, grades=g) for n, g in enumerate(grades))
    return make_turn(retrievals=retrievals, rewrites=len(grades) - 1, **changes)


@pytest.mark.parametrize(
    ("turn", "is_found"),
    [
        pytest.param(
            graded((False, False), (True, False), outcome=names.NO_RESULTS), True,
            id="passed-last-and-still-no-results",
        ),
        pytest.param(
            graded((True, True), outcome=names.NO_RESULTS), True, id="passed-on-the-only-search"
        ),
        pytest.param(
            graded((True, False), (False, False), outcome=names.NO_RESULTS), False,
            id="passed-earlier-failed-last",
        ),
        pytest.param(
            graded((False, False), outcome=names.NO_RESULTS), False, id="nothing-passed"
        ),
        pytest.param(graded((True, False)), False, id="passed-and-answered"),
        pytest.param(
            graded((None, None), outcome=names.NO_RESULTS), False, id="nothing-graded"
        ),
        pytest.param(
            make_turn(outcome=names.NO_RESULTS, retrievals=()), False, id="nothing-searched"
        ),
        pytest.param(
            graded((True, False), outcome=names.RECURSION_LIMIT), False, id="ended-otherwise"
        ),
    ],
)  # fmt: skip
def test_budget_checked_first(turn: Turn, is_found: bool) -> None:
    assert (budget_checked_first(turn) is not None) is is_found


def searched(*found: tuple[tuple[str, ...], tuple[float | None, ...]], **changes: Any) -> Turn:
    retrievals = tuple(
        make_retrieval(attempt=n, chunk_ids=ids, scores=scores)
        for n, (ids, scores) in enumerate(found)
    )
    return make_turn(retrievals=retrievals, rewrites=len(found) - 1, **changes)


OUTAGE_FIRST = (("reboot", "sizing"), (0.416, 0.389))
OUTAGE_LAST = (("sla", "incidents"), (0.470, 0.253))


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        pytest.param(
            searched(OUTAGE_FIRST, OUTAGE_FIRST, OUTAGE_LAST), {"swaps": 1, "rewrites": 2},
            id="the-published-outage-question-swaps-once",
        ),
        pytest.param(
            searched(OUTAGE_FIRST, OUTAGE_FIRST, OUTAGE_FIRST), {"swaps": 2, "rewrites": 2},
            id="two-swaps",
        ),
        pytest.param(searched(OUTAGE_FIRST, OUTAGE_LAST), None, id="new-chunks"),
        pytest.param(searched(OUTAGE_FIRST), None, id="no-rewrite"),
        pytest.param(
            searched(OUTAGE_FIRST, OUTAGE_LAST, OUTAGE_FIRST), None, id="back-to-the-first-chunks"
        ),
        pytest.param(searched(((), ()), ((), ())), None, id="empty-against-empty"),
        pytest.param(
            searched((("a", "b"), (0.0, 0.0)), (("a", "b"), (0.0, 0.0))), None,
            id="the-published-student-question-matches-nothing",
        ),
        pytest.param(
            make_turn(retrievals=(make_retrieval(), make_retrieval())), None,
            id="searched-again-without-a-rewrite",
        ),
        pytest.param(
            make_turn(retrievals=(make_retrieval(), make_retrieval(attempt=1, failed=True))), None,
            id="the-search-after-the-rewrite-failed",
        ),
    ],
)  # fmt: skip
def test_synonym_swap(turn: Turn, expected: dict[str, Any] | None) -> None:
    assert facts(synonym_swap(turn)) == expected


@pytest.mark.parametrize(
    ("turn", "attempt"),
    [
        pytest.param(loop(0.9, 0.2), 2, id="the-second-rewrite-drifted"),
        pytest.param(loop(0.2), 1, id="the-first-rewrite-drifted"),
        pytest.param(loop(0.4, 0.1, 0.3), 2, id="the-least-alike-is-named"),
        pytest.param(loop(0.3, 0.9), 1, id="coming-back-does-not-undo-it"),
        pytest.param(loop(None, 0.1), 2, id="one-was-not-measured"),
        pytest.param(loop(0.9, 0.8), None, id="alike"),
        pytest.param(loop(DRIFT_THRESHOLD), None, id="on-the-threshold"),
        pytest.param(loop(None, None), None, id="nothing-measured"),
        pytest.param(loop(), None, id="no-rewrite"),
        pytest.param(
            make_turn(retrievals=(make_retrieval(similarity=0.1),)), None,
            id="the-first-search-is-no-rewrite",
        ),
    ],
)  # fmt: skip
def test_rewrite_drift(turn: Turn, attempt: int | None) -> None:
    finding = rewrite_drift(turn)

    assert (finding and finding.attempt) == attempt


def facts(finding: Finding | None) -> dict[str, Any] | None:
    return None if finding is None else dict(finding.facts)


def test_check_all_names_every_failure_of_a_turn() -> None:
    turn = make_turn(
        outcome=names.NO_RESULTS,
        max_rewrites=1,
        rewrites=2,
        retrievals=(
            make_retrieval(),
            make_retrieval(attempt=1, similarity=0.3),
            make_retrieval(attempt=2, similarity=0.2, grades=(True, False)),
        ),
    )

    assert [finding.detector for finding in check_all(turn)] == [
        "runaway_loop",
        "budget_checked_first",
        "synonym_swap",
        "rewrite_drift",
    ]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        pytest.param((), None, id="no-end"),
        pytest.param((names.ANSWER,), None, id="one-end"),
        pytest.param((names.ANSWER, names.ANSWER), None, id="an-end-that-is-reached-twice"),
        pytest.param(
            (names.OFF_TOPIC, names.ANSWER),
            "nodes of these roles ended one turn: off_topic, answer",
            id="two-ends",
        ),
    ],
)
def test_two_ends(roles: tuple[str, ...], expected: str | None) -> None:
    found = two_ends(make_turn(terminal_roles=roles))

    assert (found and found.evidence) == expected


def test_check_all_finds_nothing_in_a_good_turn() -> None:
    assert check_all(make_turn()) == ()


@pytest.mark.parametrize("check", DETECTORS, ids=lambda check: check.__name__)
def test_evidence_holds_no_text_of_the_turn(check: Any) -> None:
    turns = [
        make_turn(outcome=names.OFF_TOPIC, retrievals=()),
        loop(0.1, 0.1, 0.1, outcome=names.RECURSION_LIMIT),
        graded((False,), (True,), outcome=names.NO_RESULTS),
        searched(OUTAGE_FIRST, OUTAGE_FIRST),
        make_turn(terminal_roles=(names.OFF_TOPIC, names.ANSWER)),
        make_turn(
            outcome=names.GAVE_UP,
            drafts=3,
            max_drafts=3,
            rounds=(
                Round(draft=1, score=0.6),
                Round(draft=2, score=0.3, effect=names.SCORE_NOT_RISEN),
                Round(draft=3, score=0.6, effect=names.STALE_CRITIQUE),
            ),
        ),
    ]
    findings = [finding for turn in turns if (finding := check(turn)) is not None]

    assert findings
    assert all(SECRET not in repr(finding) for finding in findings)


def test_evidence_is_a_sentence_with_its_numbers() -> None:
    (finding,) = check_all(loop(0.9, 0.21))

    assert finding.evidence == "rewrite 2 is 0.21 like the question, below 0.5"
