"""A look at a canary as one line, and as plain values."""

from __future__ import annotations

import math
from typing import Any, Final

from telemetry.canary.counts import CANARY, STABLE, Versions
from telemetry.canary.decision import Decision, Finding, Verdict
from telemetry.compare import wording
from telemetry.compare.rates import Rate
from telemetry.compare.window import moment
from telemetry.facts import finite

EXIT_CODES: Final[dict[Verdict, int]] = {"promote": 0, "roll back": 1, "keep waiting": 3}


def line(decision: Decision, versions: Versions, at: float) -> str:
    """Return a look in one line: the verdict, the turns, each difference, and what is missing."""
    start = f"{moment(at)} {decision.verdict}"
    stable, canary = decision.rollout.total
    if not canary:
        return f"{start}: no turns of version {versions[CANARY]} yet"
    if not stable:
        return (
            f"{start}: {canary:,} turns of version {versions[CANARY]}, none of version "
            f"{versions[STABLE]} beside them: both must be asked at the same time"
        )
    parts = [
        f"{start}: {canary:,} turns of version {versions[CANARY]} "
        f"({canary / (stable + canary):.1%} of both)",
        "points: " + ", ".join(_difference(finding) for finding in decision.findings),
    ]
    return "; ".join([*parts, _outlook(decision)])


def as_json(decision: Decision, versions: Versions, at: float) -> dict[str, Any]:
    """Return a look as plain values; what is unknown is null."""
    stable, canary = decision.rollout.total
    return {
        "at": at,
        "verdict": decision.verdict,
        "exit_code": EXIT_CODES[decision.verdict],
        "since": decision.rollout.since,
        "stable": {"version": versions[0], "turns": stable},
        "canary": {"version": versions[CANARY], "turns": canary},
        "margin": decision.margin,
        "slow_seconds": decision.rollout.slow_seconds,
        "more_turns": decision.more_turns,
        "likely": decision.likely,
        "measures": [_finding(finding) for finding in decision.findings],
    }


def _difference(finding: Finding) -> str:
    if math.isnan(finding.difference):
        return f"{_name(finding)} unknown"
    low, high = (wording.points(end) for end in (finding.interval.low, finding.interval.high))
    return f"{_name(finding)} {wording.points(finding.difference)} ({low} to {high})"


def _name(finding: Finding) -> str:
    return finding.measure.name.replace("_", " ")


def _outlook(decision: Decision) -> str:
    """Say why, or what is still missing."""
    if decision.verdict == "promote":
        return f"none is worse by {100 * decision.margin:g} points"
    if decision.verdict == "roll back":
        return "worse: " + ", ".join(_shares(finding) for finding in decision.worse)
    if decision.more_turns is None:
        return "at these shares no decision is in sight"
    return f"at these shares about {decision.more_turns:,} more until {decision.likely}"


def _shares(finding: Finding) -> str:
    canary, stable = (wording.amount(finding.measure, rate.share) for rate in
                      (finding.canary, finding.stable))  # fmt: skip
    return f"{_name(finding)} {canary} against {stable}"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.measure.name,
        "unit": finding.measure.unit,
        "stable": _rate(finding.stable),
        "canary": _rate(finding.canary),
        "difference": finite(finding.difference),
        "interval": [finding.interval.low, finding.interval.high],
        "log_evidence": {"worse": finding.log_worse, "fine": finding.log_fine},
        "is_worse": finding.is_worse,
        "is_fine": finding.is_fine,
    }


def _rate(rate: Rate) -> dict[str, Any]:
    return {"n": rate.total, "hits": rate.hits, "value": rate.share if rate.total else None}
