"""The lab on golden sets of a user's own."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from measured_lab import FOLLOW_UP, composed, lab_of, measure
from rich.console import Console

from agent.lab.render import print_report
from agent.lab.report import LabReport


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> LabReport:
    golden = tmp_path_factory.mktemp("golden") / "mine.yaml"
    golden.write_text(FOLLOW_UP, encoding="utf-8")
    return measure(composed(golden))


def test_the_walk_of_a_follow_up_pays_for_its_enhancement(report: LabReport) -> None:
    checked, graded, *_ = report.unanswerable_walk

    assert checked == {"after": "topic check", "rewrites": 0, "llm_calls": 2}
    assert graded["after"] == "first retrieval graded, both scores 0.000"


def test_the_formulas_count_the_enhancement_of_a_follow_up(report: LabReport) -> None:
    rows = report.as_json()["more"]["formulas_against_counts"]

    follow_up = [row["expected"] for row in rows if row["question"] == "And for students?"]
    assert follow_up == [4, 7, 10, 3, 6, 9]
    assert [row for row in rows if row["expected"] != row["counted"]] == []


def test_calls_that_a_min_score_saves_are_those_on_chunks_of_score_0(
    report: LabReport, tmp_path: Path
) -> None:
    golden = tmp_path / "mine.yaml"
    golden.write_text(FOLLOW_UP, encoding="utf-8")
    kept = report.as_json()["more"]["zero_score_grades"]
    dropped = measure(composed(golden, min_score=1e-9)).as_json()

    costs = zip(
        report.as_json()["table3_golden_set_by_bound"],
        dropped["table3_golden_set_by_bound"],
        strict=True,
    )
    saved = [before["llm_calls"] - after["llm_calls"] for before, after in costs]
    assert saved == [row["with_score_0"] for row in kept]
    assert min(saved) > 0
    assert {row["of_them_passed"] for row in kept} == {0}
    assert {row["with_score_0"] for row in dropped["more"]["zero_score_grades"]} == {0}


def test_a_narrow_terminal_shows_every_word_whole(report: LabReport) -> None:
    shown = io.StringIO()

    print_report(report, Console(file=shown, width=80))

    assert "\u2026" not in shown.getvalue()
    assert max(map(len, shown.getvalue().splitlines())) <= 80


DOUBTFUL = """
- {question: "How do I cancel my plan?", topic: on, answers: [cancel]}
- {question: "Which versions of Node.js are installed?", topic: on, answers: []}
- {question: "Tell me a joke", topic: off, answers: []}
"""


def test_the_clarifying_branch_turns_doubtful_silent_rejections_into_questions(
    tmp_path: Path,
) -> None:
    golden = tmp_path / "mine.yaml"
    golden.write_text(DOUBTFUL, encoding="utf-8")
    lab = lab_of(composed(golden, model="local"), clarify=True)
    asked: list[None] = []
    report = lab.run(lambda: asked.append(None))
    rows = report.as_json()["more"]["clarifying_branch"]

    assert [(r["questions"], r["branch"], r["refused"], r["asked_back"]) for r in rows] == [
        ("on-topic", "off", 1, 0),
        ("on-topic", "on", 0, 1),
        ("off-topic", "off", 1, 0),
        ("off-topic", "on", 1, 0),
    ]
    assert len(asked) <= lab.questions_to_ask


def test_without_the_branch_nothing_is_said_of_it(report: LabReport) -> None:
    assert report.as_json()["more"]["clarifying_branch"] == []
