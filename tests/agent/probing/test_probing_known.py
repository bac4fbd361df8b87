from __future__ import annotations

from pathlib import Path

import pytest

from agent.golden import GOLDEN_FILE, load_golden
from agent.probing.known import KnownQuestion, known_questions
from telemetry import names

KNOWN = known_questions(load_golden(GOLDEN_FILE, None))


def test_the_golden_questions_are_numbered_in_the_files_order() -> None:
    assert [(q.id, q.expected, sorted(q.chunks)) for q in KNOWN] == [
        ("1", "answered", ["cancel", "export"]),
        ("2", "no_results", []),
        ("3", "answered", ["sla"]),
        ("4", "off_topic", []),
        ("5", "answered", ["refunds"]),
    ]


@pytest.mark.parametrize(
    ("outcome", "citations", "got"),
    [
        pytest.param("answered", ["sla"], "answered", id="from-the-right-chunk"),
        pytest.param("answered", ["plans", "sla"], "answered", id="from-the-right-one-and-another"),
        pytest.param("answered", ["plans"], "wrong_chunk", id="from-a-wrong-chunk"),
        pytest.param("answered", [], "wrong_chunk", id="from-none"),
        pytest.param("no_results", [], "no_results", id="not-found"),
    ],
)
def test_an_answer_is_right_when_it_cites_a_chunk_that_holds_it(
    outcome: str, citations: list[str], got: str
) -> None:
    assert KNOWN[2].got(outcome, citations) == got


def test_an_unanswerable_question_that_is_answered_has_no_right_chunk() -> None:
    assert KNOWN[1].got("answered", ["plans"]) == "answered"
    assert "wrong_chunk" not in KNOWN[1].reachable


def test_what_may_come_of_a_question_is_a_closed_set_without_repetition() -> None:
    allowed = {*names.OUTCOMES, "wrong_chunk"} - {names.INTERRUPTED}
    for question in KNOWN:
        assert len(set(question.reachable)) == len(question.reachable)
        assert set(question.reachable) | {"wrong_chunk"} == allowed
        assert question.expected in question.reachable


def test_a_follow_up_keeps_its_history(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text(
        "- question: And for annual plans?\n  topic: 'on'\n  answers: [anything]\n"
        "  standalone: Are annual plans refunded?\n"
        "  history: [{question: 'Refunds?', reply: Within 30 days.}]\n"
    )
    (question,) = known_questions(load_golden(path, None))

    assert isinstance(question, KnownQuestion)
    assert question.history == (("Refunds?", "Within 30 days."),)
    assert question.chunks == {"anything"}
