"""Which part of the loop a jump of no-results comes from, and how much of it each part explains.

The jump is split by exchanging the mechanisms of the chain one after another, in every order, and
taking the mean of what each exchange brings: its Shapley value, the only split that is the same in
whatever order, gives nothing to what did not change and sums to the whole. A sequential exchange
gives the joint part of two changes to whichever comes first.

Sources:
    Budhathoki, Janzing, Bloebaum and Ng, Why did the distribution change?, AISTATS 2021.
    Shorrocks, Decomposition procedures for distributional analysis, Journal of Economic Inequality
    11 (2013).
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from telemetry import names
from telemetry.compare import chain
from telemetry.compare.engine import Engine, engine_of
from telemetry.compare.evidence import evidence
from telemetry.compare.kinds import Kinds, kinds_of
from telemetry.compare.observed import Observed
from telemetry.compare.rates import CONFIDENCE, Interval

Cause: TypeAlias = Literal["question mix", "retrieval", "grading", "rewriting", "routing"]
CAUSES: Final[tuple[Cause, ...]] = (
    "question mix", "retrieval", "grading", "rewriting", "routing",
)  # fmt: skip

SAMPLES: Final = 400
"""Bootstrap samples; chosen by us: the ends of a 95 % interval are then known to about 1 %."""
FEWEST_TURNS: Final = 20
"""Turns a side that searched, below which nothing is split; chosen by us."""
MOST_TURNS: Final = 10_000
"""Turns a side that are split; of more, so many are drawn. Chosen by us: they take 3 s and 200 MB,
and intervals are then about a point wide."""
FEW_REPEATED: Final = 0.3
"""Share of repeated questions below which traffic and agent are hard to tell apart."""
_SEED: Final = 20_261


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one cause explains of the jump."""

    cause: Cause
    points: float
    """Of the share without results, 0 to 1; negative when it worked against the jump."""
    interval: Interval
    """95 % bootstrap interval of the points."""
    evidence: str
    """What was seen of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """A jump of no-results and its parts."""

    jump: float
    """Share without results after, minus before."""
    parts: tuple[Part, ...]
    """Largest first."""
    unexplained: float
    """Points that the chain does not reproduce."""
    unexplained_interval: Interval
    is_clear: bool
    """Whether the first part is surely above 0 and surely above the second."""
    first_cause: Cause | None
    """The first part, when it is surely above 0 and the data can tell it from the others."""
    notes: tuple[str, ...]


def blame(
    before: Sequence[Observed],
    after: Sequence[Observed],
    *,
    is_reindexed: bool = False,
    samples: int = SAMPLES,
    most: int = MOST_TURNS,
) -> Blame | None:
    """Split the jump of no-results.

    Args:
        before: Turns before; those that searched count.
        after: Turns after.
        is_reindexed: Whether the index is known to be another one.
        samples: Bootstrap samples for the intervals.
        most: Turns a side that are looked at.

    Returns:
        The parts; None when a side has too few turns that searched.
    """
    searched = [[turn for turn in turns if turn.searched] for turns in (before, after)]
    first, second = (_drawn(turns, most) for turns in searched)
    sides = (first, second)
    if min(len(first), len(second)) < FEWEST_TURNS:
        return None
    kinds = kinds_of(first, second)
    shape = chain.shape_of(first, second, kinds.number)
    engine = engine_of(first, second, shape)
    weights = [_weights(len(turns), samples, side) for side, turns in enumerate(sides)]
    tables = _tables(sides, kinds, shape, weights)
    causes = _mechanisms(engine)
    points = _shapley(tables, causes, shape)
    ends = [np.array([turn.outcome == names.NO_RESULTS for turn in turns]) for turns in sides]
    jumps = weights[1] @ ends[1] / len(ends[1]) - weights[0] @ ends[0] / len(ends[0])
    told = evidence(first, second, kinds, shape, engine)
    parts = [_part(cause, points[cause], told[cause]) for cause in CAUSES]
    can_tell = min(kinds.repeated) >= FEW_REPEATED or kinds.by_words or not engine.scores_moved
    order = sorted(parts, key=lambda part: -part.points)
    lead = points[order[0].cause] - points[order[1].cause]
    rest = jumps - sum(points.values())
    return Blame(
        jump=float(jumps[0]),
        parts=tuple(order),
        unexplained=float(rest[0]),
        unexplained_interval=_interval(rest),
        is_clear=order[0].interval.low > 0 and _interval(lead).low > 0,
        first_cause=_first_cause(order[0], can_tell=can_tell, is_reindexed=is_reindexed),
        notes=(*_left_out(searched, most), *_notes(kinds, engine, can_tell=can_tell)),
    )


def _drawn(turns: Sequence[Observed], most: int) -> Sequence[Observed]:
    return turns if len(turns) <= most else random.Random(_SEED).sample(turns, most)


def _left_out(searched: Sequence[Sequence[Observed]], most: int) -> tuple[str, ...]:
    if max(map(len, searched)) <= most:
        return ()
    before, after = map(len, searched)
    return (
        f"Of {before:,} turns before and {after:,} after, at most {most:,} each are split, drawn "
        "at random.",
    )


def _weights(turns: int, samples: int, side: int) -> NDArray[np.float64]:
    """Return how often each turn counts; the first sample is the data itself."""
    chance = np.random.default_rng(_SEED + side)
    drawn = chance.multinomial(turns, np.full(turns, 1 / turns), size=samples)
    return np.vstack([np.ones((1, turns)), drawn.astype(np.float64)])


def _tables(
    sides: Sequence[Sequence[Observed]],
    kinds: Kinds,
    shape: chain.Shape,
    weights: Sequence[NDArray[np.float64]],
) -> tuple[chain.Tables, chain.Tables]:
    drawn = [
        chain.draws(turns, numbers, shape)
        for turns, numbers in zip(sides, (kinds.before, kinds.after), strict=True)
    ]
    both = {
        name: np.asarray(sum(side[name].sum(axis=0) for side in drawn)).reshape(size)
        for name, size in shape.tables.items()
    }
    first, second = (
        chain.tables(side, both, weight, shape) for side, weight in zip(drawn, weights, strict=True)
    )
    return first, second


def _mechanisms(engine: Engine) -> dict[Cause, tuple[str, ...]]:
    """Return which tables each cause changes.

    Where the same query brings what it brought before, the index is out of it: other scores then
    come from other questions and other rewrites.
    """
    changed = engine.is_changed
    return {
        "question mix": ("kind",) if changed else ("kind", "first_search"),
        "retrieval": ("first_search", "next_search") if changed else (),
        "grading": ("passed",),
        "rewriting": ("rewrite",) if changed else ("rewrite", "next_search"),
        "routing": ("ending",),
    }


def _shapley(
    tables: tuple[chain.Tables, chain.Tables],
    causes: Mapping[Cause, tuple[str, ...]],
    shape: chain.Shape,
) -> dict[Cause, NDArray[np.float64]]:
    before, after = tables
    active = [cause for cause in CAUSES if causes[cause]]
    values = {}
    for size in range(len(active) + 1):
        for changed in itertools.combinations(active, size):
            taken = {name for cause in changed for name in causes[cause]}
            mixed = {name: (after if name in taken else before)[name] for name in before}
            values[frozenset(changed)] = chain.without_results(mixed, shape)
    return {
        cause: _shapley_value(cause, active, values)
        if cause in active
        else np.zeros_like(values[frozenset()])
        for cause in CAUSES
    }


def _shapley_value(
    cause: Cause,
    active: Sequence[Cause],
    values: Mapping[frozenset[Cause], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return the mean of what the cause adds, over all orders."""
    others = [other for other in active if other != cause]
    total = np.zeros_like(values[frozenset()])
    for size in range(len(others) + 1):
        share = 1 / (len(active) * math.comb(len(others), size))
        for earlier in itertools.combinations(others, size):
            total += share * (values[frozenset((*earlier, cause))] - values[frozenset(earlier)])
    return total


def _part(cause: Cause, points: NDArray[np.float64], told: str) -> Part:
    return Part(cause=cause, points=float(points[0]), interval=_interval(points), evidence=told)


def _interval(samples: NDArray[np.float64]) -> Interval:
    low, high = np.quantile(samples[1:], [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2])
    return Interval(float(low), float(high))


def _first_cause(first: Part, *, can_tell: bool, is_reindexed: bool) -> Cause | None:
    if first.interval.low <= 0:
        return None
    if not can_tell and first.cause in ("question mix", "retrieval", "grading"):
        return first.cause if first.cause == "retrieval" and is_reindexed else None
    return first.cause


def _notes(kinds: Kinds, engine: Engine, *, can_tell: bool) -> tuple[str, ...]:
    notes = [f"{kinds.repeated[1]:.0%} of the turns after ask what was also asked before."]
    if not can_tell:
        notes.append(
            "Few questions repeat and first scores moved: other questions, another index and a "
            "stricter grader cannot be told apart. With content capture on, questions are told by "
            "their words."
        )
    if engine.shared < engine.FEWEST:
        notes.append(
            "Too few equal queries on both sides to check the index by them: retrieval is blamed "
            "when first scores moved."
        )
    return tuple(notes)
