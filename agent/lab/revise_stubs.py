"""The revise loop run with stubs: the router's table, and what the worst request costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.revise import (
    PASS_SCORE,
    Critique,
    Draft,
    ReviseState,
    build_revise_graph,
    route_after_critique,
)

TOKENS_PER_ATTEMPT = 2_000
"""A draft and its critique together. Source: the published budget."""
PUBLISHED_STATES = ((0, 0.5), (3, 0.9), (1, 0.9))
"""Attempts and score of the published rows: below the pass score, at the cap, passed."""


def router_table(states: Sequence[tuple[int, float]] = PUBLISHED_STATES) -> list[dict[str, Any]]:
    """Return the route for each (attempts, score)."""
    return [
        {
            "attempts": attempts,
            "score": score,
            "route": route_after_critique({"attempts": attempts, "score": score}),
        }
        for attempts, score in states
    ]


def worst_case() -> dict[str, Any]:
    """Run the loop with a critic that never passes a draft, and count what it used."""

    def write(state: ReviseState) -> Draft:
        return {"text": f"draft {state.get('attempts', 0) + 1}", "tokens": TOKENS_PER_ATTEMPT}

    def judge(state: ReviseState) -> Critique:  # noqa: ARG001 - a critic's signature
        return {"score": 0.0, "note": "not yet", "tokens": 0}

    end = build_revise_graph(write, judge).invoke({"request": "worst case"})
    return {
        "max_attempts": end["attempts"],
        "pass_score": PASS_SCORE,
        "tokens_per_attempt": TOKENS_PER_ATTEMPT,
        "worst_case_tokens": end["tokens"],
    }
