"""What the span of a turn shows of it once it has finished."""

from __future__ import annotations

from typing import Any, Final

from telemetry import names
from telemetry.revising import loop_attributes
from telemetry.turn import Turn


def turn_attributes(turn: Turn) -> dict[str, Any]:
    """Return what the turn's span shows of a finished turn."""
    failed = turn.outcome in (names.ERROR, names.RECURSION_LIMIT)
    attributes: dict[str, Any] = {
        names.RAG_OUTCOME: turn.outcome,
        names.RAG_REWRITES: turn.rewrites,
        names.RAG_LLM_CALLS: turn.llm_calls,
        names.RAG_RETRIEVALS: len(turn.retrievals),
        names.RAG_SYNONYM_SWAPS: sum(
            [r.effect == names.SAME_CHUNKS_AND_SCORES for r in turn.retrievals]
        ),
        names.RAG_BUDGET_FIRST: turn.outcome == names.NO_RESULTS and turn.last_grade == names.PASS,
    }
    optional = {
        names.RAG_REASON: turn.reason,
        names.RAG_TOPIC_CLASSIFICATION: turn.classification,
        names.RAG_TOPIC_CONFIDENCE: turn.confidence,
        names.RAG_MAX_REWRITES: turn.max_rewrites,
        names.RAG_CONFLICT: turn.is_conflict or None,
        names.RAG_RECURSION_LIMIT: turn.recursion_limit,
        names.RAG_LAST_NODE: turn.last_node if turn.outcome not in _SELF_ENDED else None,
        names.ERROR_TYPE: (turn.error_type or turn.reason) if failed else None,
        names.SYNTHETIC_TYPE: names.SYNTHETIC_TEST if turn.is_synthetic else None,
    }
    attributes |= loop_attributes(turn)
    for key, value in optional.items():
        if value is not None:
            attributes[key] = value
    return attributes


_SELF_ENDED: Final = frozenset(names.TERMINAL_OUTCOMES.values())
