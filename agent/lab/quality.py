"""How often the agent is right on a golden set: four shares, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scipy.stats import binomtest

from agent.lab.runs import Row


def quality(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return the shares by name; a share of nothing has `of` 0 and no value.

    Each is `{count, of, share, low, high}`: `low` and `high` are the 95 % Wilson interval, 0 to 1.
    """
    on = [row for row in rows if row.golden.topic == "on"]
    checked = [row for row in rows if row.answer.topic is not None]
    answerable = [row for row in on if row.golden.answers]
    unanswerable = [row for row in on if not row.golden.answers]
    return {
        "topic_check_right": _share(checked, is_topic_right),
        "on_topic_refused": _share(on, is_falsely_rejected),
        "answerable_answered_rightly": _share(answerable, lambda row: row.is_right),
        "unanswerable_answered": _share(unanswerable, lambda r: r.answer.outcome == "answered"),
    }


def is_topic_right(row: Row) -> bool:
    """Whether the topic check said what the golden label says."""
    topic = row.answer.topic
    said_on = topic is not None and topic["classification"] == "RELEVANT"
    return said_on == (row.golden.topic == "on")


def is_falsely_rejected(row: Row) -> bool:
    """Whether an on-topic question was refused: a silent rejection."""
    return row.golden.topic == "on" and row.answer.outcome == "off_topic"


def _share(rows: Sequence[Row], holds: Callable[[Row], bool]) -> dict[str, Any]:
    count, total = sum(holds(row) for row in rows), len(rows)
    if total == 0:
        return {"count": 0, "of": 0, "share": None, "low": None, "high": None}
    interval = binomtest(count, total).proportion_ci(method="wilson")
    return {
        "count": count,
        "of": total,
        "share": count / total,
        "low": float(interval.low),
        "high": float(interval.high),
    }
