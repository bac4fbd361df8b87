"""Promote, roll back or keep waiting: what the evidence of all measures together says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from telemetry.canary.counts import CANARY, STABLE, Blocks, Counts, Rollout
from telemetry.canary.evidence import Claim, bound, evidence, growth
from telemetry.canary.measures import MEASURES
from telemetry.compare.measures import Measure
from telemetry.compare.rates import Interval, Rate
from telemetry.compare.sample import Floats
from telemetry.compare.verdict import ALPHA, FEWEST

Verdict: TypeAlias = Literal["promote", "roll back", "keep waiting"]

ENOUGH: Final = math.log(1 / ALPHA)
"""Logarithm of the evidence at which a claim is shown, with a chance of error of `ALPHA`."""
MOST_TURNS: Final = 1_000_000
"""More turns than this are not waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One measure on both sides."""

    measure: Measure
    stable: Rate
    canary: Rate
    interval: Interval
    """Of the canary's share minus the stable one's; each end holds at all looks with 95 %."""
    log_worse: float
    """Logarithm of the evidence that it is worse by more than is negligible."""
    log_fine: float
    """Logarithm of the evidence that it is worse by less than the margin."""
    is_worse: bool
    """Surely, corrected for the number of measures."""

    @property
    def is_fine(self) -> bool:
        """Whether the rise is surely below the margin."""
        return self.log_fine >= ENOUGH

    @property
    def difference(self) -> float:
        """The canary's share minus the stable one's; NaN when a side has none."""
        return self.canary.share - self.stable.share


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is to be done with the canary."""

    verdict: Verdict
    rollout: Rollout
    margin: float
    """Rise of a share that would be too much, 0 to 1."""
    findings: tuple[Finding, ...]
    more_turns: int | None = None
    """Turns of the canary until a decision, when the shares stay as they are; None when they would
    not do."""
    likely: Verdict = "keep waiting"
    """What that decision would be."""

    @property
    def worse(self) -> tuple[Finding, ...]:
        """Findings that are surely worse."""
        return tuple(finding for finding in self.findings if finding.is_worse)


def decide(rollout: Rollout, margin: float, measures: Sequence[Measure] = MEASURES) -> Decision:
    """Decide from everything counted so far.

    Roll back as soon as the evidence that a measure is worse, corrected for their number, has once
    reached 1 / alpha. Promote when every measure's rise is below the margin, each shown at alpha:
    a canary that is too bad in one would have to pass there.

    Args:
        rollout: The counts.
        margin: Rise of a share that is too much, 0 to 1; above what is negligible.
        measures: What to judge by; those without counts are left out.

    Source:
        Vovk and Wang, E-values: calibration, combination and applications, Annals of Statistics 49
        (2021): the correction. Berger, Multiparameter hypothesis testing and acceptance sampling,
        Technometrics 24 (1982): why claims that must all be shown need none.
    """
    judged = [_Judged.of(m, rollout.counts[m.name], margin) for m in measures
              if m.name in rollout.counts]  # fmt: skip
    worse = _surely_worse(judged, rollout)
    findings = tuple(one.finding(is_worse=one.measure.name in worse) for one in judged)
    verdict: Verdict = "keep waiting"
    if worse:
        verdict = "roll back"
    elif findings and all(finding.is_fine for finding in findings):
        verdict = "promote"
    more_turns, likely = None, verdict
    if verdict == "keep waiting":
        more_turns, likely = _more_turns(judged, rollout)
    return Decision(
        verdict=verdict, rollout=rollout, margin=margin, findings=findings,
        more_turns=more_turns, likely=likely,
    )  # fmt: skip


def adjusted(e_values: Floats) -> Floats:
    """Return e-values corrected for their number, so that the chance of any false one is kept.

    Each becomes its least mean with some of the smallest: the counterpart of Holm's correction.

    Args:
        e_values: Shape (n_measures, n_moments), at least 0.

    Returns:
        Of the same shape.

    Source:
        Vovk and Wang (2021), algorithm 1.
    """
    corrected = e_values
    for number, smallest in enumerate(np.cumsum(np.sort(e_values, axis=0), axis=0)[:-1], 1):
        corrected = np.minimum(corrected, (e_values + smallest) / (number + 1))
    return corrected


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Judged:
    """One measure with its claims."""

    measure: Measure
    counts: Counts
    blocks: Blocks
    is_worse: Claim
    is_fine: Claim

    @classmethod
    def of(cls, measure: Measure, counts: Counts, margin: float) -> _Judged:
        return cls(
            measure=measure,
            counts=counts,
            blocks=counts.blocks(),
            is_worse=Claim(direction="above", edge=measure.negligible, guess=margin),
            is_fine=Claim(direction="below", edge=margin, guess=0.0),
        )

    def path(self, claim: Claim) -> Floats:
        """Return the logarithm of the evidence after each slot; 0 before the first block."""
        after = np.concatenate([[0.0], evidence(self.blocks, claim)])
        slots = np.arange(1, len(self.counts.totals) + 1)
        return np.asarray(after[np.searchsorted(self.blocks.ends, slots, side="right")])

    def finding(self, *, is_worse: bool) -> Finding:
        low, high = (
            bound(self.blocks, claim.direction, claim.guess, ALPHA)
            for claim in (self.is_worse, self.is_fine)
        )
        return Finding(
            measure=self.measure,
            stable=self.counts.rate(STABLE),
            canary=self.counts.rate(CANARY),
            interval=Interval(low, high),
            log_worse=self._now(self.is_worse),
            log_fine=self._now(self.is_fine),
            is_worse=is_worse,
        )

    def turns_until(self, claim: Claim, enough: float, canary_turns: int) -> float:
        """Return how many more turns of the canary show a claim; infinite when none would."""
        missing = enough - self._now(claim)
        seen = self.blocks.totals[:, CANARY].sum()
        a_turn = growth(self.blocks, claim) * seen / canary_turns if canary_turns else 0.0
        return max(missing, 0.0) / a_turn if a_turn > 0 else math.inf

    def _now(self, claim: Claim) -> float:
        path = evidence(self.blocks, claim)
        return float(path[-1]) if len(path) else 0.0


def _surely_worse(judged: Sequence[_Judged], rollout: Rollout) -> set[str]:
    """Return the measures that were surely worse at any moment."""
    if not judged or not len(rollout.turns):
        return set()
    paths = np.stack([one.path(one.is_worse) for one in judged])
    corrected = adjusted(np.exp(np.minimum(paths, _LARGEST)))
    are_enough = np.cumsum(rollout.turns, axis=0).min(axis=1) >= FEWEST
    was_shown = ((corrected >= 1 / ALPHA) & are_enough).any(axis=1)
    return {one.measure.name for one, shown in zip(judged, was_shown, strict=True) if shown}


_LARGEST: Final = 300.0
"""Logarithm of evidence beyond which it makes no difference."""


def _more_turns(judged: Sequence[_Judged], rollout: Rollout) -> tuple[int | None, Verdict]:
    """Return how many more turns of the canary lead to a decision, and to which."""
    canary = rollout.total[CANARY]
    of_all = ENOUGH + math.log(max(len(judged), 1))
    fine = [one.turns_until(one.is_fine, ENOUGH, canary) for one in judged]
    worse = [one.turns_until(one.is_worse, of_all, canary) for one in judged]
    to_promote, to_roll_back = max(fine, default=math.inf), min(worse, default=math.inf)
    fewest = max(min(to_promote, to_roll_back), FEWEST - canary, 1)
    if fewest > MOST_TURNS:
        return None, "keep waiting"
    return math.ceil(fewest), "promote" if to_promote <= to_roll_back else "roll back"
