"""How many refusals are wrong, estimated from those that were judged, with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from agent.review.verdicts import Verdict

Z: Final = 1.96
"""Standard errors of a 95 % interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The silent-rejection rate. Shares are 0 to 1; None while nothing can be said."""

    judged: int
    wrong: int
    share_of_refusals: float | None
    low: float | None
    high: float | None
    share_of_turns: float | None
    """Of all turns: wrong refusals by turns."""
    turns_low: float | None
    turns_high: float | None


def estimate(verdicts: Iterable[Verdict], *, turns: int, unsure: int, sure: int) -> Estimate:
    """Return the share of refusals that are wrong, each kind weighted by how many there are.

    Unsure refusals are all shown and sure ones in part, so a plain share would count the unsure
    ones too much. The weighted share p has the variance of stratified sampling; the Wilson
    interval is taken at the effective size p(1 - p) / variance, at most the number judged.

    Args:
        verdicts: On turns of the records.
        turns: All turns.
        unsure: Refusals with LOW confidence.
        sure: The other refusals.

    Source:
        Wilson 1927; for weighted samples Korn and Graubard 1998 (effective sample size).
    """
    given = list(verdicts)
    strata = [
        _Stratum(
            judged=sum(v.is_sure is is_sure for v in given),
            wrong=sum(v.is_sure is is_sure and v.judgement == "wrong" for v in given),
            size=size,
        )
        for is_sure, size in ((False, unsure), (True, sure))
    ]
    counted = [stratum for stratum in strata if stratum.size]
    judged = sum(stratum.judged for stratum in counted)
    wrong = sum(stratum.wrong for stratum in counted)
    refused = unsure + sure
    if not judged or any(not stratum.judged for stratum in counted):
        return Estimate(judged=judged, wrong=wrong, share_of_refusals=None, low=None, high=None,
                        share_of_turns=None, turns_low=None, turns_high=None)  # fmt: skip
    share = sum(s.size / refused * s.wrong / s.judged for s in counted)
    low, high = wilson(share, _effective(counted, refused, share, judged))
    of_turns = refused / turns if turns else 0.0
    return Estimate(
        judged=judged, wrong=wrong, share_of_refusals=share, low=low, high=high,
        share_of_turns=share * of_turns, turns_low=low * of_turns, turns_high=high * of_turns,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stratum:
    judged: int
    wrong: int
    size: int

    @property
    def variance(self) -> float:
        """Of its share; a half added to each count keeps it above 0 where all agree."""
        smooth = (self.wrong + 0.5) / (self.judged + 1)
        return smooth * (1 - smooth) / self.judged


def _effective(strata: list[_Stratum], refused: int, share: float, judged: int) -> float:
    if len(strata) == 1:
        return float(judged)
    variance = sum((s.size / refused) ** 2 * s.variance for s in strata)
    smooth = (share * judged + 0.5) / (judged + 1)
    return min(smooth * (1 - smooth) / variance, float(judged))


def wilson(share: float, of: float, z: float = Z) -> tuple[float, float]:
    """Return the Wilson interval of a share.

    Args:
        share: 0 to 1.
        of: How many it was counted on, above 0; a fraction for an effective size.
        z: Standard errors.
    """
    centre = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return max(centre - half, 0.0), min(centre + half, 1.0)
