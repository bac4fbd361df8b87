"""The shares and counts that the guide watches, as data: which series, out of which."""

from __future__ import annotations

from typing import Final

from dashboards.signals import Count, Margin, Signal
from telemetry import names

_OUTCOME, _RETRIEVED, _LAST_GRADE = (
    names.LABEL_OUTCOME,
    names.LABEL_RETRIEVED,
    names.LABEL_LAST_GRADE,
)
_ATTEMPT, _RESULT = names.LABEL_ATTEMPT, names.LABEL_RESULT
_FIRST: Final = f'{_ATTEMPT}="{names.ATTEMPTS[0]}"'
"""The first retrieval of a turn: what rewriting does cannot move it."""

TICKET: Final = Margin(tier="ticket", add="ticket_add", odds="ticket_odds")
PAGE: Final = Margin(tier="page", add="page_add", odds="page_odds")
GRADER_TICKET: Final = Margin(tier="ticket", add="grader_add", odds="ticket_odds")

# ---------------------------------------------------------------------------------------------
# Counts
# ---------------------------------------------------------------------------------------------
TURNS: Final = Count(metric=names.TURNS)
SEARCHES: Final = Count(metric=names.TURNS, where=f'{_RETRIEVED}="{names.YES}"')
ANSWERS: Final = Count(metric=names.TURNS, where=f'{_OUTCOME}="{names.ANSWERED}"')
NO_RESULTS: Final = Count(metric=names.TURNS, where=f'{_OUTCOME}="{names.NO_RESULTS}"')
RECURSION_ERRORS: Final = Count(metric=names.RECURSION_ERRORS)
DISCARDED: Final = Count(
    metric=names.TURNS, where=f'{_OUTCOME}="{names.NO_RESULTS}",{_LAST_GRADE}="{names.PASS}"'
)
UNFOUNDED: Final = Count(
    metric=names.TURNS, where=f'{_OUTCOME}="{names.ANSWERED}",{_LAST_GRADE}="{names.FAIL}"'
)
TWO_ENDS: Final = Count(metric=names.TERMINAL_CONFLICTS)
DROPPED: Final = Count(metric=names.TELEMETRY_DROPPED)
TELEMETRY_ERRORS: Final = Count(metric=names.TELEMETRY_ERRORS)

# ---------------------------------------------------------------------------------------------
# Shares with a baseline: what is usual differs between deployments
# ---------------------------------------------------------------------------------------------
REJECTED: Final = Signal(
    slug="rejected",
    what="turns refused as off topic before any retrieval",
    out_of="turns",
    events=Count(
        metric=names.TURNS,
        where=f'{_OUTCOME}="{names.OFF_TOPIC}",{_RETRIEVED}="{names.NO}"',
    ),
    total=TURNS,
    expected="expected_rejected",
    margins=(PAGE, TICKET),
)
NOT_FOUND: Final = Signal(
    slug="not_found",
    what="no-results replies",
    out_of="turns that searched",
    events=NO_RESULTS,
    total=SEARCHES,
    expected="expected_no_results",
    margins=(PAGE, TICKET),
)
EMPTY: Final = Signal(
    slug="empty",
    what="first retrievals that returned no chunk",
    out_of="first retrievals",
    events=Count(metric=names.RETRIEVALS, where=f'{_RESULT}="{names.EMPTY}",{_FIRST}'),
    total=Count(metric=names.RETRIEVALS, where=f'{_RESULT}=~"{names.HIT}|{names.EMPTY}",{_FIRST}'),
    expected="expected_empty",
    margins=(TICKET,),
)
WEAK: Final = Signal(
    slug="weak",
    what="chunks that hardly matched their query",
    out_of="chunks returned",
    events=Count(metric=f"{names.CHUNK_SCORE}_bucket", le="weak_score"),
    total=Count(metric=f"{names.CHUNK_SCORE}_count"),
    expected="expected_weak",
    margins=(TICKET,),
)
GRADED_OUT: Final = Signal(
    slug="graded_out",
    what="chunks of first retrievals that failed their grading",
    out_of="chunks graded at first retrievals",
    events=Count(metric=names.GRADES_GIVEN, where=f'{names.LABEL_GRADE}="{names.FAIL}",{_FIRST}'),
    total=Count(metric=names.GRADES_GIVEN, where=_FIRST),
    expected="expected_grade_fail",
    margins=(GRADER_TICKET,),
)

# ---------------------------------------------------------------------------------------------
# Shares with a fixed limit: they should be near zero everywhere
# ---------------------------------------------------------------------------------------------
SWAPPED: Final = Signal(
    slug="swapped",
    what="rewrites that retrieved the same chunks at the same scores",
    out_of="rewrites",
    events=Count(
        metric=names.REWRITES, where=f'{names.LABEL_EFFECT}="{names.SAME_CHUNKS_AND_SCORES}"'
    ),
    total=Count(metric=names.REWRITES),
)
_LATER: Final = f'{_ATTEMPT}!="{names.REWRITE_ATTEMPTS[0]}"'
DRIFTED: Final = Signal(
    slug="drifted",
    what="rewrites that are no longer similar to the question",
    out_of="rewrites after the first of a turn",
    events=Count(metric=f"{names.REWRITE_SIMILARITY}_bucket", where=_LATER, le="drift_similarity"),
    total=Count(metric=f"{names.REWRITE_SIMILARITY}_count", where=_LATER),
)
ANSWERED_AFTER_DRIFT: Final = Signal(
    slug="answered_after_drift",
    what="answers from a search that had drifted",
    out_of="answers",
    events=Count(metric=names.ANSWERED_AFTER_DRIFT),
    total=ANSWERS,
)
_REVISE: Final = f'{names.LABEL_LOOP}="{names.REVISE}"'
AT_CAP: Final = Signal(
    slug="at_cap",
    what="revise loops that used up their drafts",
    out_of="revise loops",
    events=Count(
        metric=names.LOOP_ENDS_TOTAL, where=f'{_REVISE},{names.LABEL_END}="{names.AT_CAP}"'
    ),
    total=Count(metric=names.LOOP_ENDS_TOTAL, where=_REVISE),
)
_REVISIONS: Final = Count(metric=names.REVISIONS, where=_REVISE)
NOT_RISEN: Final = Signal(
    slug="not_risen",
    what="revisions that scored no better than the draft before",
    out_of="revisions",
    events=Count(
        metric=names.REVISIONS,
        where=f'{_REVISE},{names.LABEL_EFFECT}="{names.SCORE_NOT_RISEN}"',
    ),
    total=_REVISIONS,
)
STALE: Final = Signal(
    slug="stale",
    what="revisions beside the critique of an earlier draft",
    out_of="revisions",
    events=Count(
        metric=names.REVISIONS,
        where=f'{_REVISE},{names.LABEL_EFFECT}="{names.STALE_CRITIQUE}"',
    ),
    total=_REVISIONS,
)
MODEL_FAILED: Final = Signal(
    slug="model_failed",
    what="model calls that failed",
    out_of="model calls",
    events=Count(metric=f"{names.OPERATION_DURATION}_count", where=f'{names.LABEL_ERROR_TYPE}!=""'),
    total=Count(metric=f"{names.OPERATION_DURATION}_count"),
)
_JUDGES: Final = "|".join(names.JUDGING_ROLES)
_NO_VERDICT: Final = "|".join(
    reason for reason in names.FAILURE_REASONS if reason not in names.FAILED_CALL_REASONS
)
"""The model replied, but not with a verdict; calls that failed are model errors."""
UNJUDGED: Final = Signal(
    slug="unjudged",
    what="replies that were no verdict",
    out_of="calls of the topic check, the grader and the critic",
    events=Count(
        metric=names.JUDGEMENT_FAILURES,
        where=f'{names.LABEL_ROLE}=~"{_JUDGES}",{names.LABEL_REASON}=~"{_NO_VERDICT}"',
    ),
    total=Count(metric=names.LLM_CALLS, where=f'{names.LABEL_ROLE}=~"{_JUDGES}"'),
)
SEARCH_FAILED: Final = Signal(
    slug="search_failed",
    what="retrievals that raised an error",
    out_of="retrievals",
    events=Count(metric=names.RETRIEVALS, where=f'{_RESULT}="{names.ERROR}"'),
    total=Count(metric=names.RETRIEVALS),
)
TURN_FAILED: Final = Signal(
    slug="turn_failed",
    what="turns that ended in an error",
    out_of="turns",
    events=Count(metric=names.TURNS, where=f'{_OUTCOME}="{names.ERROR}"'),
    total=TURNS,
)
SLOW: Final = Signal(
    slug="slow",
    what="turns slower than the objective",
    out_of="turns",
    events=Count(
        metric=f"{names.TURN_DURATION}_count",
        less=Count(metric=f"{names.TURN_DURATION}_bucket", le="latency_seconds"),
    ),
    total=Count(metric=f"{names.TURN_DURATION}_count"),
)
