"""The whole of a comparison: the sides, the findings, the blame, one verdict and one exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from telemetry.compare.blame import Blame, blame
from telemetry.compare.change import Change
from telemetry.compare.measures import MEASURES, NO_RESULTS, Measure
from telemetry.compare.side import Side
from telemetry.compare.verdict import Finding, Verdict, findings

EXIT_CODES: Final[dict[Verdict, int]] = {
    "worse": 1, "better": 0, "no difference shown": 0, "not enough data": 3,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two sides and what is to be said of them."""

    before: Side
    after: Side
    findings: tuple[Finding, ...]
    missing: tuple[Measure, ...]
    """Measures that the source does not hold."""
    blame: Blame | None
    """Parts of a jump of no-results; None when there is none, or no single turns to look at."""
    change: Change | None = None
    """The change around which was compared."""

    @property
    def verdict(self) -> Verdict:
        """The worst that is said of any measure; too few data count for the headline ones alone.

        Where no headline measure was asked for, they count for all that were.
        """
        said = {finding.verdict for finding in self.findings}
        if "worse" in said:
            return "worse"
        headline = [finding for finding in self.findings if finding.measure.is_headline]
        decisive = headline or self.findings
        short = any(finding.verdict == "not enough data" for finding in decisive)
        if short or not decisive:
            return "not enough data"
        return "better" if "better" in said else "no difference shown"

    @property
    def exit_code(self) -> int:
        """0 fine, 1 worse, 3 not enough data."""
        return EXIT_CODES[self.verdict]

    @property
    def since(self) -> float | None:
        """When the side after began, Unix time, seconds."""
        return self.change.at if self.change is not None else self.after.first


def compare(
    before: Side,
    after: Side,
    *,
    change: Change | None = None,
    measures: Sequence[Measure] = MEASURES,
) -> Comparison:
    """Compare two sides, and say what is to blame when no-results are worse."""
    found = findings(before, after, measures)
    told = {finding.measure.name for finding in found}
    is_worse = any(f.measure.name == NO_RESULTS and f.verdict == "worse" for f in found)
    split = None
    if is_worse and before.observed and after.observed:
        indexes = [side.labels.get("index", ()) for side in (before, after)]
        split = blame(before.observed, after.observed, is_reindexed=indexes[0] != indexes[1])
    return Comparison(
        before=before,
        after=after,
        findings=found,
        missing=tuple(measure for measure in measures if measure.name not in told),
        blame=split,
        change=change,
    )
