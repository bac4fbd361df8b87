"""The evidence of all measures together over time: what it would have said after each slot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from telemetry.canary.counts import Blocks, Counts, Rollout
from telemetry.canary.evidence import Claim, evidence
from telemetry.compare.measures import Measure
from telemetry.compare.sample import Floats
from telemetry.compare.verdict import ALPHA, FEWEST

Flags: TypeAlias = NDArray[np.bool_]

ENOUGH: Final = math.log(1 / ALPHA)
"""Logarithm of the evidence at which a claim is shown, with a chance of error of `ALPHA`."""
_LARGEST: Final = 300.0
"""Logarithm of evidence beyond which it makes no difference."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judged:
    """One measure and the evidence for two claims on it."""

    measure: Measure
    counts: Counts
    blocks: Blocks
    is_worse: Claim
    """It is worse by more than is negligible."""
    is_fine: Claim
    """It is worse by less than the margin."""
    worse: Floats
    """Logarithm of the evidence that it is worse after each slot, shape (n_slots,)."""
    fine: Floats
    """Logarithm of the evidence that it is fine after each slot, shape (n_slots,)."""


def judge(rollout: Rollout, margin: float, measures: Sequence[Measure]) -> tuple[Judged, ...]:
    """Return the evidence on every measure that was counted.

    Args:
        rollout: The counts.
        margin: Rise of a share that is too much, 0 to 1; above what is negligible.
        measures: What to judge by.
    """
    return tuple(
        _judged(measure, rollout.counts[measure.name], margin)
        for measure in measures
        if measure.name in rollout.counts
    )


def surely_worse(judged: Sequence[Judged], rollout: Rollout) -> Flags:
    """Return which measures had been shown to be worse after each slot, or before.

    With the evidence corrected for the number of measures, all of them together are wrong in at
    most `ALPHA` of all rollouts. Shape (n_measures, n_slots).
    """
    paths = np.stack([one.worse for one in judged])
    corrected = adjusted(np.exp(np.minimum(paths, _LARGEST)))
    are_enough = np.cumsum(rollout.turns, axis=0).min(axis=1) >= FEWEST
    return np.logical_or.accumulate((corrected >= 1 / ALPHA) & are_enough, axis=1)


def surely_fine(judged: Sequence[Judged]) -> Flags:
    """Return whether all measures were shown to be fine after each slot, shape (n_slots,).

    Each at `ALPHA`, without correction: a canary that is too bad in one measure would have to pass
    in that one.

    Source:
        Berger, Multiparameter hypothesis testing and acceptance sampling, Technometrics 24 (1982).
    """
    return np.asarray(np.stack([one.fine for one in judged]).min(axis=0) >= ENOUGH)


def adjusted(e_values: Floats) -> Floats:
    """Return e-values corrected for their number, so that the chance of any false one is kept.

    Each becomes its least mean with some of the smallest: the counterpart of Holm's correction.

    Args:
        e_values: Shape (n_measures, n_moments), at least 0.

    Returns:
        Of the same shape.

    Source:
        Vovk and Wang, E-values: calibration, combination and applications, Annals of Statistics 49
        (2021), algorithm 1.
    """
    corrected = e_values
    for number, smallest in enumerate(np.cumsum(np.sort(e_values, axis=0), axis=0)[:-1], 1):
        corrected = np.minimum(corrected, (e_values + smallest) / (number + 1))
    return corrected


def _judged(measure: Measure, counts: Counts, margin: float) -> Judged:
    blocks = counts.blocks()
    is_worse = Claim(direction="above", edge=measure.negligible, guess=margin)
    is_fine = Claim(direction="below", edge=margin, guess=0.0)
    slots = np.arange(1, len(counts.totals) + 1)
    ended = np.searchsorted(blocks.ends, slots, side="right")
    worse, fine = (
        np.concatenate([[0.0], evidence(blocks, claim)])[ended] for claim in (is_worse, is_fine)
    )
    return Judged(
        measure=measure, counts=counts, blocks=blocks, is_worse=is_worse, is_fine=is_fine,
        worse=worse, fine=fine,
    )  # fmt: skip
