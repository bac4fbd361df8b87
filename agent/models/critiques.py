"""A critic's verdict as a score: closed words instead of a number that no two models mean alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agent.state import Critique

SUPPORTED: Final[Mapping[str, float]] = {"all": 1.0, "most": 0.6, "some": 0.3, "none": 0.0}
"""Whether the chunks state what the draft says."""
ANSWERS: Final[Mapping[str, float]] = {"fully": 1.0, "partly": 0.6, "no": 0.0}
"""Whether the draft says what the chunks hold on the question. Both scales are ours: only the
best words reach the published pass score of 0.8, and its worked pass begins at 0.6."""


def critique_of(verdict: Mapping[str, str]) -> Critique:
    """Return the critique; the worse of the two judgements is its score.

    Args:
        verdict: `supported`, `answers` and `note`, in the words of the critic's form.
    """
    score = min(SUPPORTED[verdict["supported"]], ANSWERS[verdict["answers"]])
    return {"score": score, "note": verdict["note"]}
