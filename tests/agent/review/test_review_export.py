from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from agent.golden import load_golden
from agent.review.export import as_csv, as_golden, as_labelled
from agent.review.verdicts import verdict_on

WRONG = verdict_on("t1", "wrong", is_sure=False, question="why was I charged twice", by="me")
RIGHT = verdict_on("t2", "right", is_sure=True, question="=HYPERLINK(1)", by="me")
UNKNOWN = verdict_on("t3", "right", is_sure=True, question=None, by="me")


def test_csv_runs_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv([WRONG, RIGHT, UNKNOWN]))))

    assert [row["question"] for row in rows] == [WRONG.question, "'=HYPERLINK(1)", ""]
    assert [row["confidence"] for row in rows] == ["low", "high_or_medium", "high_or_medium"]


def test_labelled_data_holds_what_was_captured() -> None:
    lines = [json.loads(line) for line in as_labelled([WRONG, RIGHT, UNKNOWN]).splitlines()]

    assert [line["topic"] for line in lines] == ["on", "off"]


def test_golden_rows_are_a_golden_set(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text(as_golden([WRONG, RIGHT, UNKNOWN]))

    golden = load_golden(path, {"refunds"})

    assert [(q.question, q.topic) for q in golden] == [
        ("why was I charged twice", "on"),
        ("=HYPERLINK(1)", "off"),
    ]
