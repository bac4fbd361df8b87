"""Gaps as values for JSON and as CSV."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from agent.gaps.report import Gap, Gaps
from agent.spreadsheet import as_table

_HEADS: Final = (
    "turns", "different", "last_7_days", "7_days_before", "questions", "nearest", "missing",
)  # fmt: skip


def as_json(gaps: Gaps) -> dict[str, Any]:
    """Return built-ins: `{turns, captured, gaps: [...]}`."""
    return asdict(gaps)


def as_csv(gaps: Gaps) -> str:
    """Return a row for each gap, with a head."""
    rows = [
        (
            gap.turns,
            gap.different,
            gap.last_days,
            gap.days_before,
            " | ".join(gap.questions),
            " ".join(f"{id_}:{score:.3f}" for id_, score in gap.nearest),
            " ".join(gap.missing_words),
        )
        for gap in gaps.gaps
    ]
    return as_table(_HEADS, rows)


def trend(gap: Gap) -> str:
    """Return how often it was asked lately, in words."""
    if gap.days_before == 0:
        return f"{gap.last_days} in 7 days, none in the 7 before"
    return f"{gap.last_days} in 7 days, {gap.days_before} in the 7 before"
