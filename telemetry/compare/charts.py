"""Three small charts of a comparison as SVG text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from telemetry import names
from telemetry.compare import wording
from telemetry.compare.blame import Blame
from telemetry.compare.comparison import Comparison
from telemetry.compare.rates import Interval, Rate, wilson
from telemetry.compare.verdict import Finding

WIDTH: Final = 860
_LEFT: Final = 250
_ROW: Final = 26
_COLORS: Final = {"worse": "var(--worse)", "better": "var(--better)"}
_BINS: Final = 40


def differences(findings: Sequence[Finding]) -> str:
    """Draw each difference with its interval, in units of what matters for the measure."""
    shown = [finding for finding in findings if math.isfinite(finding.difference)]
    axis = _Axis(2.0)
    marks = [axis.zero(len(shown))]
    for place, finding in enumerate(shown):
        matters, _ = finding.measure.sizes(finding.before.value)
        color = _COLORS.get(finding.verdict, "var(--plain)")
        unit = matters or 1.0
        span = Interval(finding.interval.low / unit, finding.interval.high / unit)
        label = f"{finding.measure.label}: {wording.signed(finding.measure, finding.difference)}"
        marks += [_label(place, label), axis.bar(place, finding.difference / unit, span, color)]
    caption = "change with its 95 % interval; the ends are twice what matters for the measure"
    return _svg(marks, _ROW * len(shown) + 24, caption)


def parts(blame: Blame) -> str:
    """Draw what each cause explains, in points."""
    rows: list[tuple[str, float, Interval]] = [
        (part.cause, part.points, part.interval) for part in blame.parts
    ]
    rows.append(("unexplained", blame.unexplained, blame.unexplained_interval))
    reach = max(0.05, *(max(abs(span.low), abs(span.high)) for _, _, span in rows))
    axis = _Axis(reach)
    marks = [axis.zero(len(rows))]
    for place, (cause, points, span) in enumerate(rows):
        color = "var(--worse)" if cause == blame.first_cause else "var(--plain)"
        label = f"{cause}: {wording.points(points)} points"
        marks += [_label(place, label), axis.bar(place, points, span, color)]
    return _svg(marks, _ROW * len(rows) + 24, "points of no-results explained, 95 % intervals")


def over_time(comparison: Comparison) -> str:
    """Draw the share without results over time, with Wilson intervals and the change."""
    turns = [
        turn
        for side in (comparison.before, comparison.after)
        for turn in side.observed
        if turn.searched
    ]
    if not turns:
        return "<p>No turn searched.</p>"
    start = min(turn.started_at for turn in turns)
    end = max(turn.started_at for turn in turns)
    width = max((end - start) / _BINS, 1e-9)
    binned: dict[int, list[bool]] = {}
    for turn in turns:
        place = min(int((turn.started_at - start) / width), _BINS - 1)
        binned.setdefault(place, []).append(turn.outcome == names.NO_RESULTS)
    marks = []
    for place, found in sorted(binned.items()):
        rate = Rate(sum(found), len(found))
        x = 50 + (WIDTH - 70) * (place + 0.5) / _BINS
        span = wilson(rate)
        marks += [
            _line(x, _height(span.low), x, _height(span.high), "var(--plain)"),
            f'<circle cx="{x:.1f}" cy="{_height(rate.share):.1f}" r="3.5" fill="var(--plain)">'
            f"<title>{rate.hits} of {rate.total}</title></circle>",
        ]
    if comparison.since is not None:
        at = min(max((comparison.since - start) / (end - start or 1.0), 0.0), 1.0)
        x = 50 + (WIDTH - 70) * at
        marks.append(_line(x, 0, x, 160, "var(--worse)"))
    marks += [_text(4, _height(share) + 4, f"{share:.0%}") for share in (0.0, 0.5, 1.0)]
    return _svg(marks, 190, "share of the turns that searched; the line is the change")


def _height(share: float) -> float:
    return 160 - 150 * share


@dataclass(frozen=True, slots=True)
class _Axis:
    """From `-reach` to `reach`, right of the labels; what lies outside is drawn at the end."""

    reach: float

    def x(self, value: float) -> float:
        kept = min(max(value, -self.reach), self.reach)
        return _LEFT + (WIDTH - _LEFT - 10) * (kept + self.reach) / (2 * self.reach)

    def zero(self, rows: int) -> str:
        return _line(self.x(0), 0, self.x(0), _ROW * rows, "var(--ink)")

    def bar(self, place: int, value: float, span: Interval, color: str) -> str:
        y = _ROW * (place + 0.5)
        return _line(self.x(span.low), y, self.x(span.high), y, color) + (
            f'<circle cx="{self.x(value):.1f}" cy="{y:.1f}" r="4.5" fill="{color}"/>'
        )


def _label(place: int, label: str) -> str:
    return _text(4, _ROW * (place + 0.5) + 4, label)


def _line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
        'stroke-width="2"/>'
    )


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _svg(marks: Sequence[str], height: float, caption: str) -> str:
    return (
        f'<div class="scroll"><svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(caption)}">{"".join(marks)}'
        f"{_text(4, height - 6, caption)}</svg></div>"
    )
