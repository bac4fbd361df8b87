"""All detectors, of both loops, in the order of the diagnosis guide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from telemetry.detectors import (
    Finding,
    budget_checked_first,
    rewrite_drift,
    runaway_loop,
    silent_rejection,
    synonym_swap,
    two_ends,
)
from telemetry.revise_detectors import revise_at_cap, score_not_rising, stale_critique
from telemetry.turn import Turn

DETECTORS: Final[tuple[Callable[[Turn], Finding | None], ...]] = (
    silent_rejection,
    runaway_loop,
    budget_checked_first,
    two_ends,
    synonym_swap,
    rewrite_drift,
    revise_at_cap,
    score_not_rising,
    stale_critique,
)
"""Each finds its failure in a finished turn, or nothing."""


def check_all(turn: Turn) -> tuple[Finding, ...]:
    """Return every finding of a turn."""
    found = (check(turn) for check in DETECTORS)
    return tuple(finding for finding in found if finding is not None)
