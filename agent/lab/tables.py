"""The published tables, each counted from rows of real runs; nothing here knows an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.lab.runs import Row, count_calls, count_outcome
from agent.lab.unbounded import run_unbounded

ENDS_IN = {"answered": "answer"}
"""The published tables say `answer` where the outcome is `answered`."""
CASES = ("answered on the first retrieval", "no answer in the documents", "off topic")


def one_of_each_kind(rows: Sequence[Row]) -> dict[str, Row]:
    """Return the first question of each kind that Table 1 sets side by side, as far as there is."""
    kinds = {
        CASES[0]: (r for r in rows if r.is_right and r.answer.rewrites == 0),
        CASES[1]: (r for r in rows if r.golden.topic == "on" and not r.golden.answers),
        CASES[2]: (r for r in rows if r.golden.topic == "off"),
    }
    found = {kind: next(candidates, None) for kind, candidates in kinds.items()}
    return {kind: row for kind, row in found.items() if row is not None}


def topic_and_grader(checked: Sequence[Row], unchecked: Sequence[Row]) -> list[dict[str, Any]]:
    """Table 1: the guardrail and the grader catch different failures."""
    kinds = one_of_each_kind(checked)
    table = [_topic_row(row) for row in kinds.values()]
    if CASES[2] in kinds:
        question = kinds[CASES[2]].golden.question
        table += [_topic_row(row) for row in unchecked if row.golden.question == question]
    return table


def _topic_row(row: Row) -> dict[str, Any]:
    topic = row.answer.topic
    on_or_off = {"RELEVANT": "on", "IRRELEVANT": "off"}
    return {
        "question": row.golden.question,
        "topic_check": topic is not None,
        "topic": None if topic is None else on_or_off[topic["classification"]],
        "retrievals": row.answer.retrievals,
        "passing_chunks_on_last_retrieval": row.passing_on_last_retrieval,
        "ends_in": ends_in(row),
        "llm_calls": row.answer.llm_calls,
    }


def ends_in(row: Row) -> str:
    """Return how the row ended, in the published tables' words."""
    return ENDS_IN.get(row.answer.outcome, row.answer.outcome)


def topic_check_cost(
    checked: Mapping[int, Sequence[Row]], unchecked: Mapping[int, Sequence[Row]]
) -> list[dict[str, int]]:
    """The model calls of the whole set with and without the check, at each bound."""
    return [
        {
            "max_rewrites": bound,
            "llm_calls_with_check": count_calls(checked[bound]),
            "llm_calls_without_check": count_calls(unchecked[bound]),
        }
        for bound in sorted(checked)
    ]


def unbounded_runs(limits: Sequence[int | None]) -> list[dict[str, Any]]:
    """Table 2: the unbounded graph at LangGraph's default limit (None) and at given ones."""
    return [_unbounded_row(limit) for limit in limits]


def _unbounded_row(limit: int | None) -> dict[str, Any]:
    from importlib.metadata import version

    tally = run_unbounded(limit)
    label = f"default of langgraph {version('langgraph')} ({tally.steps})"
    return {
        "recursion_limit": label if limit is None else limit,
        "retrievals": tally.retrievals,
        "llm_calls": tally.llm_calls,
        "ended_in": tally.ended_in,
    }


def outcomes_by_bound(checked: Mapping[int, Sequence[Row]]) -> list[dict[str, int]]:
    """Table 3: the whole set at each bound."""
    return [
        {
            "max_rewrites": bound,
            "answered": count_outcome(rows, "answered"),
            "no_results": count_outcome(rows, "no_results"),
            "off_topic": count_outcome(rows, "off_topic"),
            "retrievals": sum(row.answer.retrievals for row in rows),
            "llm_calls": count_calls(rows),
        }
        for bound, rows in sorted(checked.items())
    ]


def found_on_last_rewrite(rows: Sequence[Row], bound: int) -> Row | None:
    """Return the first question answered only on its last allowed retrieval (the outage question).

    It is the one that the order of the router's checks makes or breaks, and that shows which
    rewrite helped.
    """
    return next((r for r in rows if r.is_right and r.answer.rewrites == bound > 0), None)


def router_orders(evidence_first: Row, budget_first: Row) -> list[dict[str, Any]]:
    """The same question under both orders of the router's checks."""
    discarded = [c.id for c in budget_first.answer.attempts[-1].chunks if c.passed]
    table = [
        {"order": order, "ends_in": ends_in(row), "llm_calls": row.answer.llm_calls}
        for order, row in (("evidence_first", evidence_first), ("budget_first", budget_first))
    ]
    if discarded and budget_first.answer.outcome == "no_results":
        table[1]["passing_chunk_discarded"] = discarded[0]
    return table


def attempts_of(row: Row) -> list[dict[str, Any]]:
    """Table 5: each retrieval of one question, with its two best chunks."""
    return [
        {
            "attempt": "original" if number == 0 else f"rewrite {number}",
            "query": attempt.query,
            "top_two": [
                [chunk.id, None if chunk.score is None else round(chunk.score, 3)]
                for chunk in attempt.chunks[:2]
            ],
            "passes": any(chunk.passed for chunk in attempt.chunks),
        }
        for number, attempt in enumerate(row.answer.attempts)
    ]
