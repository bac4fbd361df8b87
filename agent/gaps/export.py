"""Gaps as values for JSON and as CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import Any

from agent.gaps.report import Gap, Gaps


def as_json(gaps: Gaps) -> dict[str, Any]:
    """Return built-ins: `{turns, captured, gaps: [...]}`."""
    return asdict(gaps)


def as_csv(gaps: Gaps) -> str:
    """Return a row for each gap, with a head."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(
        ["turns", "different", "last_7_days", "7_days_before", "questions", "nearest", "missing"]
    )
    for gap in gaps.gaps:
        writer.writerow(
            [
                gap.turns,
                gap.different,
                gap.last_days,
                gap.days_before,
                safe(" | ".join(gap.questions)),
                " ".join(f"{id_}:{score:.3f}" for id_, score in gap.nearest),
                safe(" ".join(gap.missing_words)),
            ]
        )
    return out.getvalue()


def safe(text: str) -> str:
    """Return a cell that no spreadsheet runs: an apostrophe before what begins a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def trend(gap: Gap) -> str:
    """Return how often it was asked lately, in words."""
    if gap.days_before == 0:
        return f"{gap.last_days} in 7 days, none in the 7 before"
    return f"{gap.last_days} in 7 days, {gap.days_before} in the 7 before"
