"""What several nodes write into the state, and what they read of the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.models.support import Judgement
from agent.state import Chunk, JudgementFailure, Outcome, Role, SupportState, exchange

Update = dict[str, Any]

FAILED_ANSWER_REPLY = (
    "I'm sorry, I can't answer that right now. Please try again or contact support."
)
FALLBACK_PREFIX = "fallback:"
"""Begins the id of a chunk of the second source, so that every citation of it tells."""


def end_turn(state: SupportState, *, outcome: Outcome, reason: str | None, reply: str) -> Update:
    """Write the end of the turn; the history grows only here, so a crashed turn leaves none."""
    said = exchange(state["question"], reply, outcome)
    return {"outcome": outcome, "reason": reason, "reply": reply, "messages": said}


def noted(state: SupportState, role: Role, judged: Sequence[Judgement[Any]]) -> Update:
    """Return the update that adds the failed judgements among `judged` to the turn's list."""
    failures = failures_of(role, judged)
    return {"judgement_failures": [*state["judgement_failures"], *failures]} if failures else {}


def failures_of(role: Role, judged: Sequence[Judgement[Any]]) -> list[JudgementFailure]:
    """Return the failed ones of several judgements of a role."""
    return [{"role": role, "reason": j.failure} for j in judged if j.failure is not None]


def kept_chunks(state: SupportState) -> list[Chunk]:
    """Return the chunks of the last retrieval that were not graded out."""
    graded = state["attempts"][-1]["chunks"]
    return [c for c, g in zip(state["chunks"], graded, strict=True) if g["grade"] != "fail"]


def evidence_reason(state: SupportState) -> str:
    """Return what an answer rests on, for its reason."""
    if state["is_fallback"]:
        return "fallback_chunk"
    is_passed = any(chunk["grade"] == "pass" for chunk in state["attempts"][-1]["chunks"])
    return "passing_chunk" if is_passed else "ungraded_chunk"
