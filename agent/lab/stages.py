"""Any question one node at a time: what the router saw after each, and what was spent so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.messages import AnyMessage

from agent.graph import limit_for
from agent.service import SupportAgent, valid_question
from agent.state import Attempt, SupportState, TopicVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The turn after one node."""

    node: str
    rewrites: int
    max_rewrites: int
    llm_calls: int
    """Model calls of the turn so far."""
    query: str | None
    topic: TopicVerdict | None
    latest: Attempt | None
    """The last retrieval, with its grades as far as they are given."""
    outcome: str | None
    reason: str | None
    reply: str | None
    next_node: str | None = None
    """Where the turn went from here; None at its end."""


def stages(agent: SupportAgent, question: str, history: Sequence[AnyMessage] = ()) -> list[Stage]:
    """Run one question and return the turn after each of its nodes.

    Raises:
        InvalidQuestionError: The question cannot be asked.
        Exception: Whatever the graph raises; only complete turns are shown.
    """
    state: SupportState = {}
    found: list[Stage] = []
    for update in agent.graph.stream(
        {"question": valid_question(question), "messages": list(history)},
        {"recursion_limit": limit_for(agent.context, agent.limit)},
        context=agent.context,
        stream_mode="updates",
    ):
        ((node, changed),) = cast("dict[str, dict[str, Any]]", update).items()
        state = cast(SupportState, {**state, **(changed or {})})
        if found:
            found[-1] = replace(found[-1], next_node=node)
        found.append(_stage(node, state, agent.context.max_rewrites))
    return found


def _stage(node: str, state: SupportState, max_rewrites: int) -> Stage:
    attempts = state.get("attempts", [])
    return Stage(
        node=node,
        rewrites=state.get("rewrites", 0),
        max_rewrites=max_rewrites,
        llm_calls=state.get("llm_calls", 0),
        query=state.get("query"),
        topic=state.get("topic"),
        latest=_latest(node, state, attempts),
        outcome=state.get("outcome"),
        reason=state.get("reason"),
        reply=state.get("reply"),
    )


def _latest(node: str, state: SupportState, attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the last retrieval; straight after a search its chunks have no grade yet."""
    if node == "fetch_content":
        chunks = state.get("chunks", [])
        return {
            "query": state.get("query", ""),
            "chunks": [
                {"id": chunk["id"], "score": chunk["score"], "grade": "ungraded"}
                for chunk in chunks
            ],
        }
    return attempts[-1] if attempts else None
