"""Verdicts as files: CSV, JSON lines of labelled data, and rows of a golden set."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

import yaml

from agent.review.verdicts import Verdict
from agent.spreadsheet import as_table

_HEADS: Final = ("turn_id", "judgement", "confidence", "question", "judged_at", "judged_by")


def as_csv(verdicts: Iterable[Verdict]) -> str:
    """Return a row for each verdict, with a head."""
    rows = [
        (
            verdict.turn_id,
            verdict.judgement,
            "high_or_medium" if verdict.is_sure else "low",
            verdict.question or "",
            round(verdict.judged_at),
            verdict.judged_by,
        )
        for verdict in verdicts
    ]
    return as_table(_HEADS, rows)


def as_labelled(verdicts: Iterable[Verdict]) -> str:
    """Return a line of JSON for each verdict whose question is known: `{question, topic}`."""
    return "".join(
        json.dumps({"question": v.question, "topic": topic_of(v)}) + "\n"
        for v in verdicts
        if v.question
    )


def as_golden(verdicts: Iterable[Verdict]) -> str:
    """Return rows of a golden set (YAML) for the verdicts whose questions are known.

    The answers of on-topic ones are left empty: which chunks answer them nobody said yet.
    """
    rows = {
        v.question: {"question": v.question, "topic": topic_of(v), "answers": []}
        for v in verdicts
        if v.question
    }
    return yaml.safe_dump(list(rows.values()), sort_keys=False, allow_unicode=True)


def topic_of(verdict: Verdict) -> str:
    """Return the right topic of a refused question."""
    return "on" if verdict.judgement == "wrong" else "off"
