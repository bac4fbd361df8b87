"""Which bound to set: where the answered count stops rising."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenBound:
    """A bound and the sentence that says why."""

    max_rewrites: int
    reason: str


def choose_bound(right_by_bound: Mapping[int, Sequence[bool]]) -> ChosenBound:
    """Return the smallest bound beyond which no more questions are answered rightly.

    A larger bound repeats the smaller one's path before it goes on, so a question answered rightly
    at the smaller bound and not at the larger one is noise of the model, and shows how much noise
    there is. A step up is taken only when the questions won outnumber those lost by more than the
    lost ones, so ties and uncertainty go to the smaller bound. Failed questions are not right.

    Args:
        right_by_bound: For each bound, whether each question was answered rightly; the same
            questions in the same order for every bound, at least one bound.

    Raises:
        ValueError: The rows differ in length, so they cannot be the same questions.

    Source:
        The published rule (set it where the answered count stops rising); the margin against
        noise is ours.
    """
    if len({len(rows) for rows in right_by_bound.values()}) != 1:
        raise ValueError("bounds were measured on different questions: give the same rows for each")
    bounds = sorted(right_by_bound)
    chosen = bounds[0]
    for bound in bounds[1:]:
        won, lost = _won_and_lost(right_by_bound[chosen], right_by_bound[bound])
        if won > 2 * lost:
            chosen = bound
    return ChosenBound(max_rewrites=chosen, reason=_reason(right_by_bound, chosen, bounds[-1]))


def _won_and_lost(smaller: Sequence[bool], larger: Sequence[bool]) -> tuple[int, int]:
    pairs = list(zip(smaller, larger, strict=True))
    return sum(b and not a for a, b in pairs), sum(a and not b for a, b in pairs)


def _reason(right_by_bound: Mapping[int, Sequence[bool]], chosen: int, largest: int) -> str:
    right, total = sum(right_by_bound[chosen]), len(right_by_bound[chosen])
    found = f"{right} of {total} questions are answered rightly with {chosen} rewrites"
    if chosen == largest:
        return f"{found}, and no larger bound was measured: measure one more to see it stop rising"
    won, lost = _won_and_lost(right_by_bound[chosen], right_by_bound[largest])
    if lost:
        return f"{found}; going to {largest} wins {won} and loses {lost}, which is within the noise"
    return f"{found}, and going to {largest} answers nothing new"
