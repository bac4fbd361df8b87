"""What a question costs in model calls, by the published formulas and as counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.lab.runs import Row

ANSWERED_ON_FIRST_RETRIEVAL = "1 + k + 1"
NEVER_ANSWERED = "1 + k*(m+1) + m"
"""k chunks a retrieval, m rewrites allowed; the leading 1 is the topic check."""


def answered_on_first_retrieval(k: int, *, topic_check: bool = True) -> int:
    """Return the calls of a question answered at once: the check, k grades, the answer."""
    return int(topic_check) + k + 1


def never_answered(k: int, max_rewrites: int, *, topic_check: bool = True) -> int:
    """Return the calls of a full loop: the check, k grades a retrieval, a call a rewrite."""
    return int(topic_check) + k * (max_rewrites + 1) + max_rewrites


def formulas_against_counts(
    by_bound: Mapping[int, Sequence[Row]], k: int, *, topic_check: bool
) -> list[dict[str, Any]]:
    """Return, for each row that a formula speaks of, the formula's calls and the counted ones.

    The formulas are those of a first turn: a follow-up costs one call more, its enhancement.
    """
    return [
        {
            "question": row.golden.question,
            "max_rewrites": bound,
            "formula": name,
            "expected": expected + bool(row.golden.history),
            "counted": row.answer.llm_calls,
        }
        for bound, rows in sorted(by_bound.items())
        for row in rows
        for name, expected in [_formula_of(row, k, bound, topic_check)]
        if name is not None
    ]


def _formula_of(row: Row, k: int, bound: int, topic_check: bool) -> tuple[str | None, int]:
    if row.answer.outcome == "answered" and row.answer.retrievals == 1:
        return ANSWERED_ON_FIRST_RETRIEVAL, answered_on_first_retrieval(k, topic_check=topic_check)
    if row.answer.outcome == "no_results":
        return NEVER_ANSWERED, never_answered(k, bound, topic_check=topic_check)
    return None, 0


def topic_check_pays(rows: Sequence[Row], k: int, max_rewrites: int) -> dict[str, Any]:
    """Return whether the topic check saves calls on this mix of questions.

    It costs one call a question and saves a full loop for each off-topic one, so it pays when the
    off-topic share times the cost of a full loop exceeds one call.
    """
    off = sum(row.golden.topic == "off" for row in rows)
    loop = never_answered(k, max_rewrites, topic_check=False)
    saved = off / len(rows) * loop
    return {
        "max_rewrites": max_rewrites,
        "off_topic_share": off / len(rows),
        "full_loop_calls": loop,
        "saved_calls_per_question": saved,
        "pays": saved > 1,
        "breaks_even_at_off_topic_share": 1 / loop,
    }


def zero_score_grades(rows: Sequence[Row], max_rewrites: int) -> dict[str, int]:
    """Return the calls spent on grading chunks that share no word with their query.

    They are what a `min_score` just above 0 saves, unless such a chunk passes.
    """
    graded = [chunk for row in rows for a in row.answer.attempts for chunk in a.chunks]
    without_words = [chunk for chunk in graded if chunk.score == 0]
    return {
        "max_rewrites": max_rewrites,
        "chunks_graded": len(graded),
        "with_score_0": len(without_words),
        "of_them_passed": sum(chunk.passed is True for chunk in without_words),
    }
