"""Numbers of a comparison as a person reads them: the same in the terminal, Markdown and HTML."""

from __future__ import annotations

import math
from typing import Final

from telemetry.compare.comparison import Comparison
from telemetry.compare.measures import Measure
from telemetry.compare.rates import Interval
from telemetry.compare.side import Side
from telemetry.compare.verdict import ALPHA, Estimate, Finding
from telemetry.compare.window import moment

COLUMNS = ("measure", "before", "after", "difference (95 %)", "p", "could show", "verdict")
_NOTHING: Final = 1e-9
"""What is smaller comes of rounding. Chosen by us."""


def cells(finding: Finding) -> tuple[str, ...]:
    """Return one row of the table, in the order of `COLUMNS`."""
    measure = finding.measure
    detectable = amount(measure, finding.detectable)
    return (
        f"{measure.label}\nof {measure.unit}",
        estimate(measure, finding.before),
        estimate(measure, finding.after),
        f"{signed(measure, finding.difference)}\n{spread(measure, finding.interval, signed)}",
        _p(finding.p_adjusted),
        "nothing" if detectable == "?" else detectable,
        verdict(finding),
    )


def verdict(finding: Finding) -> str:
    """Return the verdict, with the turns that are missing; a sure difference may be a small one."""
    if finding.verdict == "no difference shown" and finding.p_adjusted <= ALPHA:
        return "differs by too little to matter"
    if finding.verdict != "not enough data":
        return finding.verdict
    parts = [
        f"{count:,} more {side}"
        for count, side in ((finding.more_before, "before"), (finding.more_after, "after"))
        if count
    ]
    return f"{finding.verdict}: {', '.join(parts)}" if parts else finding.verdict


def estimate(measure: Measure, found: Estimate) -> str:
    """Return the value of a side, how many it is of, and its interval."""
    if not found.n:
        return "none"
    of = f"{found.hits:,} of {found.n:,}" if found.hits is not None else f"n = {found.n:,}"
    return f"{amount(measure, found.value)} ({of})\n{spread(measure, found.interval, amount)}"


def amount(measure: Measure, value: float) -> str:
    """Return a value in the measure's unit."""
    if not math.isfinite(value):
        return "?"
    if abs(value) < _NOTHING:
        value = 0.0
    if measure.kind == "rate":
        return f"{value:.1%}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def signed(measure: Measure, value: float) -> str:
    """Return a difference with its sign; of shares in points of a hundred."""
    if not math.isfinite(value):
        return "?"
    if measure.kind == "rate":
        return f"{100 * value:+.1f} points"
    return f"+{amount(measure, value)}" if value >= _NOTHING else amount(measure, value)


def spread(measure: Measure, interval: Interval, word: object) -> str:
    """Return an interval; `word` is `amount` or `signed`."""
    told = amount if word is amount else signed
    low, high = (
        told(measure, end).removesuffix(" points") for end in (interval.low, interval.high)
    )
    return "unknown" if "?" in (low, high) else f"{low} to {high}"


def side(told: Side) -> str:
    """Return which turns a side holds."""
    if told.first is None or told.last is None:
        return f"{told.name}: {told.about} ({told.turns:,} turns)"
    return (
        f"{told.name}: {told.about} ({told.turns:,} turns, {moment(told.first)} to "
        f"{moment(told.last)})"
    )


def empty(comparison: Comparison) -> str | None:
    """Return what to do when a side holds no turn, so that there is nothing to show; else None."""
    sides = [told.name for told in (comparison.before, comparison.after) if not told.turns]
    if not sides:
        return None
    return (
        f"nothing to compare: no turns {' and '.join(sides)}. Wait for some, since those within "
        "--guard of the change are left out, or name other sides with --before and --after."
    )


def headline(comparison: Comparison) -> str:
    """Return the verdict in a sentence: what, since when, and what is to blame."""
    parts: list[str] = [comparison.verdict]
    which = [f.measure.label for f in comparison.findings if f.verdict == comparison.verdict]
    if comparison.verdict in ("worse", "better"):
        parts[0] += f": {', '.join(which)}"
    if comparison.since is not None:
        parts.append(f"since {moment(comparison.since)}")
    if comparison.blame is not None:
        cause = comparison.blame.first_cause
        parts.append(f"first cause {cause}" if cause else "no single cause can be told")
    if comparison.change is not None and comparison.change.mark is not None:
        parts.append(f"around the mark {comparison.change.mark!r}")
    return "; ".join(parts)


def points(value: float) -> str:
    """Return points of a share."""
    return f"{100 * value:+.1f}"


def share_of(value: float, jump: float) -> str:
    """Return which share of the jump a part explains."""
    return f"{value / jump:.0%}" if jump else "0%"


def _p(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
