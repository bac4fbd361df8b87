"""A turn as a chain of draws: which question, what the search brings, whether it passes, and then.

    kind -> what the first search brings -> passed? -> sort of rewrite -> what that brings -> ...

Each arrow is a mechanism, a table of shares that is counted on each side. With tables of one side
in place of the other's, the chain says how many turns would have stayed without results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from telemetry import names
from telemetry.compare.observed import Observed, Step, found_nothing
from telemetry.compare.worth import CLASSES, Worth, worth_of
from telemetry.detectors import DRIFT_THRESHOLD

Floats: TypeAlias = NDArray[np.float64]
Tables: TypeAlias = Mapping[str, Floats]
"""Mechanism -> shares, shape (n_samples, ...), the last axis sums to 1."""

STOP, MOVED, SWAPPED, DRIFTED = range(4)
FIRST: Final = STOP
"""How a search came about: the first one, or by a rewrite of one of three sorts."""
MOST_STEPS: Final = 8
"""Searches of a turn looked at; chosen by us, the default bound makes four."""
SCORE_BINS: Final = 6
_WEIGHT: Final = 1.0
"""Turns that the tables of both sides together count for in those of one; chosen by us: what a side
has not shown is taken as unchanged."""

MECHANISMS: Final = ("kind", "first_search", "passed", "rewrite", "next_search", "ending")


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Sizes of the tables."""

    kinds: int
    worth: Worth
    edges: Floats
    """Upper bounds of the score bins but the last."""
    steps: int

    @property
    def bins(self) -> int:
        """Score bins; 0 is "nothing matched", the last one "no score known"."""
        return len(self.edges) + 3

    def bin(self, step: Step) -> int:
        """Return the score bin of a search."""
        if found_nothing(step):
            return 0
        if step.score is None:
            return self.bins - 1
        return 1 + int(np.searchsorted(self.edges, step.score))

    @property
    def states(self) -> int:
        """What a search can have brought: a score bin, or chunks whose worth is known."""
        return self.bins + CLASSES

    def state(self, turn: Observed, step: Step) -> int:
        """Return what a search brought."""
        worth = None if found_nothing(step) else self.worth.of(turn, step)
        return self.bin(step) if worth is None else self.bins + worth

    @property
    def tables(self) -> dict[str, tuple[int, ...]]:
        """Shape of each mechanism's table without the samples; the last axis is what is drawn."""
        return {
            "kind": (1, self.kinds),
            "first_search": (self.kinds, self.states),
            "passed": (self.kinds, self.states, 4, 2),
            "rewrite": (self.steps, self.states, 4),
            "next_search": (self.kinds, 4, self.states),
            "ending": (self.steps, 2, 2),
        }


def shape_of(before: Sequence[Observed], after: Sequence[Observed], kinds: int) -> Shape:
    """Return the shape that fits all turns of both sides: bins hold about as many searches each."""
    turns = [*before, *after]
    scores = [
        step.score
        for turn in turns
        for step in turn.steps
        if step.score is not None and not found_nothing(step)
    ]
    cuts = np.linspace(0, 1, SCORE_BINS + 1)[1:-1]
    edges = np.unique(np.quantile(scores, cuts)) if scores else np.zeros(0)
    steps = max((len(turn.steps) for turn in turns), default=1)
    return Shape(
        kinds=kinds,
        worth=worth_of(before, after),
        edges=edges,
        steps=min(steps, MOST_STEPS),
    )


def draws(
    turns: Sequence[Observed], kinds: NDArray[np.int64], shape: Shape
) -> dict[str, csr_matrix]:
    """Return for each mechanism which cells of its table each turn drew, (n_turns, n_cells)."""
    cells: dict[str, list[tuple[int, int]]] = {name: [] for name in MECHANISMS}

    def note(turn: int, mechanism: str, *cell: int) -> None:
        flat = np.ravel_multi_index(cell, shape.tables[mechanism])
        cells[mechanism].append((turn, int(flat)))

    for number, (turn, kind) in enumerate(zip(turns, kinds, strict=True)):
        _note_turn(turn, int(kind), shape, lambda *cell, at=number: note(at, *cell))
    return {
        name: csr_matrix(
            (np.ones(len(found)), tuple(zip(*found, strict=True)) or ([], [])),
            shape=(len(turns), int(np.prod(shape.tables[name]))),
        )
        for name, found in cells.items()
    }


def _note_turn(turn: Observed, kind: int, shape: Shape, note: Callable[..., None]) -> None:
    note("kind", 0, kind)
    steps = turn.steps[: shape.steps]
    how = FIRST
    for at, step in enumerate(steps):
        brought = shape.state(turn, step)
        if at == 0:
            note("first_search", kind, brought)
        elif how != SWAPPED:
            note("next_search", kind, how, brought)
        is_last = at == len(steps) - 1
        passed = step.passed
        if passed is None:
            passed = is_last and turn.outcome == names.ANSWERED
        note("passed", kind, brought, how, int(passed))
        if not passed:
            how = STOP if is_last else sort_of(steps[at + 1])
            note("rewrite", at, brought, how)
        if passed or is_last:
            note("ending", at, int(passed), int(turn.outcome == names.NO_RESULTS))
            return


def sort_of(step: Step) -> int:
    """Return the sort of the rewrite that led to a search."""
    if step.effect == names.SAME_CHUNKS_AND_SCORES:
        return SWAPPED
    if step.similarity is not None and step.similarity < DRIFT_THRESHOLD:
        return DRIFTED
    return MOVED


def tables(
    drawn: Mapping[str, csr_matrix], both: Mapping[str, Floats], weights: Floats, shape: Shape
) -> Tables:
    """Return the tables of one side for each sample.

    Args:
        drawn: What `draws` returned.
        both: Counts of both sides together, each of its table's shape.
        weights: How often each turn counts, shape (n_samples, n_turns).
        shape: Sizes of the tables.
    """
    made = {}
    for name, cells in drawn.items():
        counts = (cells.T @ weights.T).T.reshape(len(weights), *shape.tables[name])
        coarse = both[name].sum(axis=0, keepdims=True) + 1e-3
        coarse = coarse / coarse.sum(axis=-1, keepdims=True)
        made[name] = _shares(counts, _shares(both[name], coarse))
    return made


def _shares(counts: Floats, prior: Floats) -> Floats:
    total = counts.sum(axis=-1, keepdims=True) + _WEIGHT
    shares: Floats = (counts + _WEIGHT * prior) / total
    return shares


def without_results(tables: Tables, shape: Shape) -> Floats:
    """Return the share of turns that end without results, shape (n_samples,)."""
    passes, rewrite, ending = tables["passed"][..., 1], tables["rewrite"], tables["ending"][..., 1]
    first = tables["kind"][:, 0, :, None] * tables["first_search"]
    mass = np.zeros((*first.shape, 4))
    mass[..., FIRST] = first
    ended: Floats = np.zeros(len(mass))
    for at in range(shape.steps):
        passed = (mass * passes).sum(axis=(1, 2, 3))
        failed = (mass * (1 - passes)).sum(axis=3)
        ended += passed * ending[:, at, 1]
        chosen = failed[..., None] * rewrite[:, at, None]  # samples, kinds, states, sorts
        if at == shape.steps - 1:
            return np.asarray(ended + chosen.sum(axis=(1, 2, 3)) * ending[:, at, 0])
        ended += chosen[..., STOP].sum(axis=(1, 2)) * ending[:, at, 0]
        arrived = (
            chosen.sum(axis=2)[..., None] * tables["next_search"]
        )  # samples, kinds, sorts, bins
        mass = np.moveaxis(arrived, 2, 3)
        mass[..., STOP] = 0.0
        mass[..., SWAPPED] = chosen[..., SWAPPED]
    return ended
