"""What a search brought is worth: whether those chunks pass for that question, on either side.

An index that lost the right chunk brings a wrong one, which may score well and rightly fails. By
scores alone that looks like a stricter grader. So for a question asked on both sides, a search is
sorted by how often its best chunk passes for that question, mean of the sides that saw the two
together: that is a matter of the search. Only when the same chunk passes less often for the same
question than it did is it the grader's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from telemetry.compare.observed import Observed, Step

_Pair: TypeAlias = tuple[str, str]

EDGES: Final = (0.05, 0.35, 0.65, 0.95)
"""Of the share that passed; chosen by us: never, seldom, half, often, always."""
CLASSES: Final = len(EDGES) + 1
FAMILIAR: Final = 0.5
"""Share of the chunk ids after that must be known from before; chosen by us: fewer and the chunks
were named anew, so that no pair can be told again."""


@dataclass(frozen=True, slots=True)
class Worth:
    """How often chunks pass for the questions that were asked on both sides."""

    shares: dict[_Pair, float]
    """(question, chunk) -> share that passed, mean of the sides that saw it."""
    seen_twice: int
    """Pairs graded on both sides."""
    flipped: int
    """Those of them that passed less often after, by more than half."""

    def of(self, turn: Observed, step: Step) -> int | None:
        """Return the class of a search, below `CLASSES`; None when it cannot be told."""
        key = turn.question_key
        known = [
            share
            for chunk, _ in step.grades
            if key is not None and (share := self.shares.get((key, chunk))) is not None
        ]
        return int(np.searchsorted(EDGES, max(known))) if known else None


def worth_of(before: Sequence[Observed], after: Sequence[Observed]) -> Worth:
    """Return what the searches of two sides are worth."""
    common = {t.question_key for t in before} & {t.question_key for t in after} - {None}
    first, second = _shares(before), _shares(after)
    chunks = [{chunk for _, chunk in found} for found in (first, second)]
    if len(chunks[0] & chunks[1]) < FAMILIAR * len(chunks[1]):
        return Worth({}, 0, 0)
    both = first.keys() & second.keys()
    shares = {
        pair: float(np.mean([side[pair] for side in (first, second) if pair in side]))
        for pair in first.keys() | second.keys()
        if pair[0] in common
    }
    return Worth(shares, len(both), sum(first[pair] - second[pair] > 0.5 for pair in both))


def _shares(turns: Sequence[Observed]) -> dict[_Pair, float]:
    graded: defaultdict[_Pair, list[bool]] = defaultdict(list)
    for turn in turns:
        if turn.question_key is not None:
            for step in turn.steps:
                for chunk, passed in step.grades:
                    graded[turn.question_key, chunk].append(passed)
    return {pair: sum(found) / len(found) for pair, found in graded.items()}
