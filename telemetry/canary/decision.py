"""Promote, roll back or keep waiting: what the evidence of all measures together says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from telemetry.canary.counts import CANARY, STABLE, Rollout
from telemetry.canary.course import ENOUGH, Judged, judge, surely_fine, surely_worse
from telemetry.canary.evidence import Claim, bound, difference, growth
from telemetry.canary.measures import MEASURES
from telemetry.compare.measures import Measure
from telemetry.compare.rates import Interval, Rate
from telemetry.compare.verdict import ALPHA, FEWEST

Verdict: TypeAlias = Literal["promote", "roll back", "keep waiting"]

MOST_TURNS: Final = 1_000_000
"""More turns than this are not waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One measure on both sides."""

    measure: Measure
    stable: Rate
    canary: Rate
    difference: float
    """The canary's share minus the stable one's at the same time; NaN when a side has none."""
    interval: Interval
    """Of the difference; each end holds at all looks together with 95 %."""
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

    Roll back when a measure is, or once was, surely worse; promote when all are surely fine now.

    Args:
        rollout: The counts.
        margin: Rise of a share that is too much, 0 to 1; above what is negligible.
        measures: What to judge by; those without counts are left out.
    """
    judged = judge(rollout, margin, measures)
    if not judged or not len(rollout.turns):
        return Decision(verdict="keep waiting", rollout=rollout, margin=margin, findings=())
    worse = surely_worse(judged, rollout)[:, -1]
    verdict: Verdict = "keep waiting"
    if worse.any():
        verdict = "roll back"
    elif surely_fine(judged)[-1]:
        verdict = "promote"
    more_turns, likely = None, verdict
    if verdict == "keep waiting":
        more_turns, likely = _more_turns(judged, rollout)
    return Decision(
        verdict=verdict,
        rollout=rollout,
        margin=margin,
        findings=tuple(
            _finding(one, is_worse=bool(shown)) for one, shown in zip(judged, worse, strict=True)
        ),
        more_turns=more_turns,
        likely=likely,
    )


def _finding(one: Judged, *, is_worse: bool) -> Finding:
    low, high = (
        bound(one.blocks, claim.direction, claim.guess, ALPHA)
        for claim in (one.is_worse, one.is_fine)
    )
    return Finding(
        measure=one.measure,
        stable=one.counts.rate(STABLE),
        canary=one.counts.rate(CANARY),
        difference=difference(one.blocks),
        interval=Interval(low, high),
        log_worse=float(one.worse[-1]),
        log_fine=float(one.fine[-1]),
        is_worse=is_worse,
    )


def _more_turns(judged: Sequence[Judged], rollout: Rollout) -> tuple[int | None, Verdict]:
    """Return how many more turns of the canary lead to a decision, and to which."""
    canary = rollout.total[CANARY]
    if not canary:
        return None, "keep waiting"
    # The evidence of one measure among others must be as many times larger.
    of_all = ENOUGH + math.log(len(judged))
    to_promote = max(_turns(one, one.is_fine, ENOUGH - one.fine[-1], canary) for one in judged)
    to_roll_back = min(_turns(one, one.is_worse, of_all - one.worse[-1], canary) for one in judged)
    fewest = max(min(to_promote, to_roll_back), FEWEST - canary, 1)
    if fewest > MOST_TURNS:
        return None, "keep waiting"
    return math.ceil(fewest), "promote" if to_promote <= to_roll_back else "roll back"


def _turns(one: Judged, claim: Claim, missing: float, canary_turns: int) -> float:
    """Return how many turns of the canary bring the missing evidence; infinite when none would."""
    if missing <= 0:
        return 0.0
    a_turn = growth(one.blocks, claim) * one.counts.rate(CANARY).total / canary_turns
    return missing / a_turn if a_turn > 0 else math.inf
