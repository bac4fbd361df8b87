"""One line a cause: what was counted that speaks for it or against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from telemetry import names
from telemetry.compare.chain import DRIFTED, SWAPPED, Shape, sort_of
from telemetry.compare.engine import Engine
from telemetry.compare.kinds import Kinds
from telemetry.compare.observed import Observed, found_nothing


def evidence(
    before: Sequence[Observed],
    after: Sequence[Observed],
    kinds: Kinds,
    shape: Shape,
    engine: Engine,
) -> dict[str, str]:
    """Return the line of each cause."""
    return {
        "question mix": _mix(before, after, kinds),
        "retrieval": _retrieval(before, after, engine),
        "grading": _grading(before, after, shape),
        "rewriting": _rewriting(before, after),
        "routing": _routing(before, after),
    }


def _mix(before: Sequence[Observed], after: Sequence[Observed], kinds: Kinds) -> str:
    first, second = (
        np.bincount(numbers, minlength=kinds.number) / len(numbers)
        for numbers in (kinds.before, kinds.after)
    )
    moved = float(np.abs(first - second).sum() / 2)
    new = {turn.question_key for turn in after} - {turn.question_key for turn in before}
    asked = _share(turn.question_key in new for turn in after)
    return (
        f"{moved:.0%} of the turns moved to other kinds of questions; {asked} were not asked before"
    )


def _retrieval(before: Sequence[Observed], after: Sequence[Observed], engine: Engine) -> str:
    nothing = _both(before, after, lambda turn: found_nothing(turn.steps[0]))
    scores = [
        [turn.steps[0].score for turn in turns if turn.steps[0].score is not None]
        for turns in (before, after)
    ]
    medians = " -> ".join(f"{np.median(found):.2f}" if found else "none" for found in scores)
    return (
        f"first search found nothing {nothing}; median best score {medians}; "
        f"{engine.moved} of {engine.shared} equal queries score otherwise"
    )


def _grading(before: Sequence[Observed], after: Sequence[Observed], shape: Shape) -> str:
    """Weigh the pass rate of each score bin by how common the bin is on both sides together."""
    passed, graded = (np.zeros((2, shape.bins)) for _ in range(2))
    for side, turns in enumerate((before, after)):
        for turn in turns:
            for step in turn.steps:
                if step.passed is not None:
                    graded[side, shape.bin(step)] += 1
                    passed[side, shape.bin(step)] += step.passed
    common = graded.min(axis=0) > 0
    if not common.any():
        return "no score was graded on both sides"
    weight = graded[:, common].sum(axis=0) / graded[:, common].sum()
    first, second = (passed[:, common] / graded[:, common]) @ weight
    worth = shape.worth
    return (
        f"pass rate at equal scores {first:.0%} -> {second:.0%}; {worth.flipped} of "
        f"{worth.seen_twice} chunks fail for a question for which they passed"
    )


def _rewriting(before: Sequence[Observed], after: Sequence[Observed]) -> str:
    rewritten = [[turn for turn in turns if len(turn.steps) > 1] for turns in (before, after)]
    sorts = [[sort_of(turn.steps[1]) for turn in turns] for turns in rewritten]
    swapped, drifted = (
        " -> ".join(_share(sort == which for sort in found) for found in sorts)
        for which in (SWAPPED, DRIFTED)
    )
    helped = _both(rewritten[0], rewritten[1], lambda turn: turn.outcome == names.ANSWERED)
    return (
        f"rewriting led to an answer {helped}; first rewrite changed nothing {swapped}, "
        f"drifted {drifted}"
    )


def _routing(before: Sequence[Observed], after: Sequence[Observed]) -> str:
    thrown = _both(
        before,
        after,
        lambda turn: turn.outcome == names.NO_RESULTS and bool(turn.steps[-1].passed),
    )
    return f"no results although the last search passed {thrown}"


def _both(
    before: Sequence[Observed], after: Sequence[Observed], is_so: Callable[[Observed], bool]
) -> str:
    return " -> ".join(_share(map(is_so, turns)) for turns in (before, after))


def _share(found: Iterable[bool]) -> str:
    seen = list(found)
    return f"{sum(seen) / len(seen):.0%}" if seen else "none"
