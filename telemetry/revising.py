"""The book of a revise loop: drafts, what the critic said of each, and what a revision changed."""

from __future__ import annotations

from collections.abc import Sequence

from telemetry import names
from telemetry.facts import Critique
from telemetry.turn import Round, Turn


class Revising:
    """What is known of the revise loop of a running turn. Its texts stay here."""

    max_drafts: int | None = None
    """The bound the graph says it has."""

    def __init__(self) -> None:
        self.drafts = 0
        self.rounds: list[Round] = []
        self._latest: Critique | None = None

    def drafted(self) -> int:
        """Note a draft; return its number, 1 for the first."""
        self.drafts += 1
        return self.drafts

    def critiqued(self, critique: Critique) -> Round:
        """Note a critique of the latest draft; return it as the finished turn shows it."""
        before, self._latest = self._latest, critique
        effect = None if before is None else revision_effect(before, critique)
        self.rounds.append(Round(draft=self.drafts, score=critique.score, effect=effect))
        return self.rounds[-1]


def revision_effect(before: Critique, after: Critique) -> str | None:
    """Return what a revision did, one of `names.REVISION_EFFECTS`.

    A critique is stale when it is not of the draft that it stands beside: the critic wrote none, it
    holds the one before within it (appended instead of replaced), or it is the same for another
    draft. One that repeats itself of an unchanged draft is right to.

    Args:
        before: The critique of the draft before.
        after: The critique of the revision.

    Returns:
        None when one of the two has no score, so that nothing can be said.
    """
    if after.note is None:
        return names.STALE_CRITIQUE
    if before.note and before.note in after.note:
        is_other_draft = before.draft is None or before.draft != after.draft
        if is_other_draft or before.note != after.note:
            return names.STALE_CRITIQUE
    if before.score is None or after.score is None:
        return None
    return names.SCORE_ROSE if after.score > before.score else names.SCORE_NOT_RISEN


def loop_end(turn: Turn) -> str | None:
    """Return how the revise loop of a turn ended, one of `names.LOOP_ENDS`; None without one.

    Where no bound is known, a turn that gave up after its last critique ended at it.
    """
    if not turn.drafts:
        return None
    gave_up = turn.outcome == names.GAVE_UP
    if turn.max_drafts is None:
        is_at_cap = gave_up and bool(turn.rounds)
    else:
        is_at_cap = turn.drafts >= turn.max_drafts and len(turn.rounds) == turn.drafts
    if is_at_cap:
        return names.AT_CAP
    return names.PASSED if turn.outcome == names.ANSWERED else names.STOPPED


def loop_attributes(turn: Turn) -> dict[str, int | str | Sequence[float]]:
    """Return what the turn's span shows of its revise loop; nothing without one."""
    end = loop_end(turn)
    if end is None:
        return {}
    shown: dict[str, int | str | Sequence[float]] = {
        names.RAG_LOOP: names.REVISE,
        names.RAG_LOOP_END: end,
        names.RAG_DRAFTS: turn.drafts,
    }
    if turn.max_drafts is not None:
        shown[names.RAG_MAX_DRAFTS] = turn.max_drafts
    scores = [round_.score for round_ in turn.rounds if round_.score is not None]
    if scores:
        shown[names.RAG_CRITIQUE_SCORES] = scores
    return shown
