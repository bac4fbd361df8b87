"""One question step by step: the counter and the running total of model calls at each stage."""

from __future__ import annotations

from typing import Any, cast

from agent.golden import GoldenQuestion
from agent.graph import limit_for
from agent.lab.runs import history_of
from agent.service import SupportAgent
from agent.state import Attempt, SupportState

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def walk(agent: SupportAgent, golden: GoldenQuestion) -> list[dict[str, Any]]:
    """Return a row for each stage of the turn that a golden question goes through.

    Raises:
        Exception: Whatever the graph raises; the walk shows complete turns only.
    """
    state: SupportState = {}
    rows: list[dict[str, Any]] = []
    for update in agent.graph.stream(
        {"question": golden.question, "messages": history_of(golden)},
        {"recursion_limit": limit_for(agent.context, agent.limit)},
        context=agent.context,
        stream_mode="updates",
    ):
        ((node, changed),) = cast(dict[str, dict[str, Any]], update).items()
        state = cast(SupportState, {**state, **(changed or {})})
        stage = _stage(node, state)
        if stage is not None:
            rows.append(
                {"after": stage, "rewrites": state["rewrites"], "llm_calls": state["llm_calls"]}
            )
    return rows


def _stage(node: str, state: SupportState) -> str | None:
    """Name the stage that a node ends; None for a node that ends none."""
    if node == "assess_relevance":
        attempts = state["attempts"]
        scores = f", {_scores(attempts[0])}" if len(attempts) == 1 else ""
        return f"{_ordinal(len(attempts))} retrieval graded{scores}"
    return {
        "validate_topic": "topic check",
        "generate_response": "answer",
        "handle_no_results": "no-results reply",
        "handle_off_topic": "off-topic reply",
    }.get(node)


def _ordinal(number: int) -> str:
    return _ORDINALS[number - 1] if number <= len(_ORDINALS) else f"{number}th"


def _scores(attempt: Attempt) -> str:
    scores = ["none" if c["score"] is None else f"{c['score']:.3f}" for c in attempt["chunks"]]
    if not scores:
        return "no chunks"
    if len(scores) > 1 and len(set(scores)) == 1:
        return f"{'both' if len(scores) == 2 else f'all {len(scores)}'} scores {scores[0]}"
    return f"score{'s' if len(scores) > 1 else ''} {', '.join(scores)}"
