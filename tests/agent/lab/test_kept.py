from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kept_runs import make_question, make_run
from measured_lab import FOLLOW_UP, composed, measure

from agent.errors import KeptRunError
from agent.lab.kept import KeptRun, keep, read_run

NOW = datetime(2026, 12, 1, 3, 0, 0, 999, tzinfo=UTC)


def kept_of(golden: Path, **changes: Any) -> KeptRun:
    composition = composed(golden, **changes)
    build = composition.build(composition.parts(composition.settings))
    return keep(measure(composition), composition.settings, build, now=NOW)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> KeptRun:
    golden = tmp_path_factory.mktemp("golden") / "mine.yaml"
    golden.write_text(FOLLOW_UP)
    return kept_of(golden, version="1.4", base_url="http://me:secret@host")


def test_a_run_keeps_what_ran_and_how_each_question_ended(run: KeptRun) -> None:
    kept = [(q.question, q.expected, q.outcome, q.is_expected, q.llm_calls) for q in run.questions]

    assert kept == [
        ("And for students?", "no_results", "no_results", True, 4),
        ("Refund?", "answered", "answered", True, 4),
        ("Tell me a joke", "off_topic", "off_topic", True, 1),
    ]
    assert (run.at, run.golden_name, run.bound) == (NOW.replace(microsecond=0), "mine.yaml", 0)
    assert (run.build.version, run.build.model, run.build.grader) == ("1.4", "golden", "golden")
    assert (run.right, run.llm_calls, run.is_repeatable) == (3, 9, True)
    assert [q.history is None for q in run.questions] == [False, True, True]
    assert run.questions[1].citations == ("refunds",)


def test_an_address_that_may_hold_a_password_is_not_kept(run: KeptRun) -> None:
    assert "secret" not in run.model_dump_json()


@pytest.mark.parametrize(
    ("old", "new", "is_equal"),
    [
        pytest.param(
            "Tell me a joke, topic", "Tell me a joke, note: new, topic", True, id="a-note"
        ),
        pytest.param("[student price]", "[pupils]", False, id="a-rewrite"),
        pytest.param("answers: [refunds]", "answers: [cancel]", False, id="an-answer"),
        pytest.param("5 euros", "6 euros", False, id="a-history"),
    ],
)
def test_the_digest_is_that_of_what_the_set_says(
    run: KeptRun, old: str, new: str, is_equal: bool, tmp_path: Path
) -> None:
    golden = tmp_path / "other.yaml"
    golden.write_text(FOLLOW_UP.replace(old, new))
    other = kept_of(golden)

    assert (other.golden_digest == run.golden_digest) is is_equal


def test_a_run_is_read_back_alone_and_out_of_a_report(run: KeptRun) -> None:
    report = {"table3_golden_set_by_bound": [], "more": {"run": run.as_json()}}

    assert read_run(run.model_dump_json(), "it") == run
    assert read_run(json.dumps(report).encode(), "it") == run


def damaged(**changes: Any) -> str:
    return json.dumps({**make_run().as_json(), **changes})


MAKE = "Make it with `loopscope lab --json > FILE`."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", f"text that is no JSON, {{}}. {MAKE}", id="empty"),
        pytest.param("[" * 100_000, f"text that is no JSON, {{}}. {MAKE}", id="too-deep"),
        pytest.param("\0\1", f"text that is no JSON, {{}}. {MAKE}", id="a-binary-file"),
        pytest.param("[1]", f"JSON of [1], {{}}. {MAKE}", id="a-list"),
        pytest.param(
            "{}", f"format: Field required, got {{{{}}}}, {{}}. {MAKE}", id="another-object"
        ),
        pytest.param(
            '{"table3_golden_set_by_bound": [], "more": {}}',
            f"a report without the run in it, {{}}. It is old. {MAKE}",
            id="a-report-of-before",
        ),
        pytest.param(
            '{"more": 3}', f"a report without the run in it, {{}}. It is old. {MAKE}", id="more"
        ),
        pytest.param(
            damaged(format=2), f"format: Input should be 1, got 2, {{}}. {MAKE}", id="a-later-form"
        ),
        pytest.param(
            damaged(questions=[]),
            "questions: Tuple should have at least 1 item after validation, not 0, got [], {}. "
            + MAKE,
            id="no-question",
        ),
        pytest.param(
            damaged(at="2026-12-01T03:00:00"),
            f"at: Input should have timezone info, got '2026-12-01T03:00:00', {{}}. {MAKE}",
            id="a-time-without-zone",
        ),
        pytest.param(
            damaged(mood="good"),
            f"mood: Extra inputs are not permitted, got 'good', {{}}. {MAKE}",
            id="an-unknown-key",
        ),
    ],
)
def test_what_is_no_kept_run_is_refused(text: str, told: str) -> None:
    with pytest.raises(KeptRunError) as caught:
        read_run(text, "base.json")

    assert str(caught.value) == "run base.json: got " + told.format(
        "expected a run of the lab that was kept"
    )
    assert caught.value.exit_code == 4


def test_a_question_that_occurs_twice_is_refused() -> None:
    twice = [question.model_dump() for question in (make_question("Q"), make_question(" q"))]
    with pytest.raises(KeptRunError, match="a question occurs twice"):
        read_run(damaged(questions=twice), "base.json")
