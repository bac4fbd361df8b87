"""What the clarifying branch does to silent rejections, and whom it asks for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.lab.runs import Row, count_outcome


def clarify_effect(without: Sequence[Row], with_branch: Sequence[Row]) -> list[dict[str, Any]]:
    """Return, for on-topic and off-topic questions, how many are refused and how many asked back.

    An on-topic refusal is a silent rejection; an off-topic question that is asked back costs the
    customer one more turn for the same end.

    Args:
        without: The golden set without the branch.
        with_branch: The same questions with it.
    """
    return [
        {
            "questions": f"{topic}-topic",
            "branch": branch,
            "of": len(rows),
            "refused": count_outcome(rows, "off_topic"),
            "asked_back": count_outcome(rows, "clarify"),
            "llm_calls": sum(row.answer.llm_calls for row in rows),
        }
        for topic in ("on", "off")
        for branch, all_rows in (("off", without), ("on", with_branch))
        for rows in [[row for row in all_rows if row.golden.topic == topic]]
    ]
