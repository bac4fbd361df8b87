"""Turns made from one good one; a test shows only its difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from telemetry.turn import Retrieval, Turn

NOW = 1_700_000_100.0
"""Unix time at which the tests of the store play, shortly after the good turn."""


@dataclass(frozen=True)
class Finding:
    detector: str


@dataclass(frozen=True)
class Node:
    path: str
    role: str


def make_turn(**changes: Any) -> Turn:
    good: dict[str, Any] = {
        "graph": "support_agent",
        "version": "1.0",
        "outcome": "answered",
        "reason": "chunk_passed",
        "classification": "relevant",
        "confidence": "high",
        "question": "How do I cancel my plan?",
        "reply": "Open Billing and choose Cancel.",
        "retrievals": (make_retrieval(0), make_retrieval(1, query="cancel subscription")),
        "rewrites": 1,
        "max_rewrites": 3,
        "llm_calls": 6,
        "input_tokens": 420,
        "output_tokens": 37,
        "recursion_limit": 15,
        "conversation_id": "thread-7",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "started_at": 1_700_000_000.25,
        "duration_seconds": 0.125,
    }
    return Turn(**{**good, **changes})


def make_retrieval(attempt: int, **changes: Any) -> Retrieval:
    good: dict[str, Any] = {
        "attempt": attempt,
        "query": "cancel plan",
        "chunk_ids": ("cancel", "refunds"),
        "scores": (0.5, 0.0),
        "grades": (True, False),
        "similarity": 0.0,
    }
    return Retrieval(**{**good, **changes})
