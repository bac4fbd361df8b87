"""The known failures of a revise loop, each a pure function of one finished turn."""

from __future__ import annotations

from typing import Final

from telemetry import names
from telemetry.detectors import Finding
from telemetry.revising import loop_end
from telemetry.turn import Turn

REVISE_AT_CAP: Final = "revise_at_cap"
SCORE_NOT_RISING: Final = "score_not_rising"
STALE_CRITIQUE: Final = "stale_critique"


def revise_at_cap(turn: Turn) -> Finding | None:
    """Find a revise loop that used all its drafts.

    One such turn may be a hard question; many of them are a loop that does not work.
    """
    if loop_end(turn) != names.AT_CAP:
        return None
    scores = [r.score for r in turn.rounds if r.score is not None]
    best = f", the best scored {max(scores):.2f}" if scores else ""
    return Finding(
        detector=REVISE_AT_CAP,
        evidence=f"all {turn.drafts} drafts were used{best}",
        facts={"drafts": turn.drafts, "best_score": max(scores, default=None)},
    )


def score_not_rising(turn: Turn) -> Finding | None:
    """Find revisions that scored no better than the draft before them."""
    return _rounds_with(
        turn, names.SCORE_NOT_RISEN, SCORE_NOT_RISING, "scored no better than the draft before"
    )


def stale_critique(turn: Turn) -> Finding | None:
    """Find revisions whose critique was that of an earlier draft, or held it within."""
    return _rounds_with(
        turn, names.STALE_CRITIQUE, STALE_CRITIQUE, "stand beside the critique of an earlier draft"
    )


def _rounds_with(turn: Turn, effect: str, detector: str, what: str) -> Finding | None:
    found = [r.draft for r in turn.rounds if r.effect == effect]
    if not found:
        return None
    revisions = max(0, len(turn.rounds) - 1)
    return Finding(
        detector=detector,
        evidence=f"{len(found)} of {revisions} revisions {what}",
        facts={"revisions": revisions, "found": len(found), "first_draft": found[0]},
    )
