from __future__ import annotations

import pytest
from kept_runs import make_question, make_run, make_runs, make_wrong

from agent.lab.comparison import LabComparison

SAMPLED = "openai:gpt-4.1-mini"


@pytest.mark.parametrize(
    ("model", "went", "allowed", "expected"),
    [
        pytest.param("local", {"right": 5}, None, ("no difference shown", 0), id="nothing-moved"),
        pytest.param("local", {"right": 9, "lost": 1}, None, ("worse", 1), id="one-lost-of-ours"),
        pytest.param(
            "local", {"lost": 1, "won": 3}, None, ("worse", 1), id="what-was-won-pays-for-nothing"
        ),
        pytest.param("local", {"right": 1, "won": 1}, None, ("better", 0), id="one-won-of-ours"),
        pytest.param(
            "local", {"right": 9, "lost": 1}, 1, ("no difference shown", 0), id="one-lost-allowed"
        ),
        pytest.param("local", {"right": 9, "lost": 2}, 1, ("worse", 1), id="two-lost-one-allowed"),
        pytest.param(
            SAMPLED, {"right": 54, "lost": 5}, None, ("not enough data", 3),
            id="five-lost-of-59-may-be-noise",
        ),
        pytest.param(SAMPLED, {"right": 54, "lost": 6}, None, ("worse", 1), id="six-lost-are-not"),
        pytest.param(SAMPLED, {"right": 54, "won": 6}, None, ("better", 0), id="six-won"),
        pytest.param(
            SAMPLED, {"right": 60}, None, ("no difference shown", 0), id="sixty-could-have-shown-it"
        ),
        pytest.param(
            SAMPLED, {"right": 59}, None, ("not enough data", 3), id="fifty-nine-could-not"
        ),
        pytest.param(SAMPLED, {"right": 9, "lost": 1}, 0, ("worse", 1), id="none-allowed-by-hand"),
        pytest.param(
            SAMPLED, {"right": 9, "lost": 1}, 1, ("no difference shown", 0),
            id="one-allowed-by-hand",
        ),
    ],
)  # fmt: skip
def test_verdict_and_exit_code(
    model: str, went: dict[str, int], allowed: int | None, expected: tuple[str, int]
) -> None:
    before, after = make_runs(model=model, **went)
    found = LabComparison(before=before, after=after, allow_flips=allowed)

    assert (found.verdict, found.exit_code) == expected


@pytest.mark.parametrize(
    ("setting", "repeatable"),
    [
        pytest.param({}, True, id="ours-alone"),
        pytest.param({"second_model": SAMPLED}, False, id="a-second-model-of-a-provider"),
        pytest.param({"revise_model": SAMPLED}, False, id="a-reviser-of-a-provider"),
        pytest.param({"fallback": "mine:search"}, False, id="a-second-source"),
    ],
)
def test_one_run_that_draws_lots_needs_the_test(setting: dict[str, str], repeatable: bool) -> None:
    found = LabComparison(before=make_run(), after=make_run(settings=setting))

    assert found.is_repeatable is repeatable
    assert found.flips_allowed == (0 if repeatable else None)


def test_questions_are_paired_by_their_text_and_their_conversation() -> None:
    before = make_run(
        make_question("Refund?"), make_wrong("And then?", history="1" * 12), make_question("Gone?")
    )
    after = make_run(
        make_question("New?"), make_wrong("  refund? "), make_wrong("And then?", history="2" * 12)
    )
    found = LabComparison(before=before, after=after)

    assert [(p.before.question, p.after.question, p.is_lost) for p in found.pairs] == [
        ("Refund?", "  refund? ", True)
    ]
    assert (found.only_before, found.only_after) == (["And then?", "Gone?"], ["New?", "And then?"])


def test_a_question_with_another_label_is_left_out_and_told() -> None:
    before = make_run(make_question("Q1"), make_question("Q2", answers=("a", "b")))
    after = make_run(make_wrong("Q1", answers=("c",)), make_question("Q2", answers=("b", "a")))
    found = LabComparison(before=before, after=after)

    assert [pair.after.question for pair in found.pairs] == ["Q2"]
    assert found.relabelled == ["Q1"]
    assert found.verdict == "no difference shown"


def test_runs_without_a_question_in_common_are_not_enough() -> None:
    found = LabComparison(before=make_run(make_question("Q1")), after=make_run(make_question("Q2")))

    assert (found.verdict, found.exit_code, found.needed) == ("not enough data", 3, 60)


def test_a_question_that_ends_otherwise_is_neither_lost_nor_won() -> None:
    found = LabComparison(
        before=make_run(make_wrong()), after=make_run(make_wrong(outcome="error"))
    )

    assert [pair.has_moved for pair in found.pairs] == [True]
    assert found.verdict == "no difference shown"


def test_what_else_differs_is_named() -> None:
    after = make_run(
        build={"version": "2", "index": "i", "prompt": "p", "grader": "local", "model": "local"},
        bound=1, golden_digest="f" * 12, settings={"k": 3, "second_model": None},
    )  # fmt: skip
    found = LabComparison(before=make_run(), after=after)

    assert found.differences == {
        "version": ("1", "2"), "bound": (2, 1), "k": (2, 3), "golden set": ("0" * 12, "f" * 12),
    }  # fmt: skip


def test_model_calls_are_compared_question_by_question() -> None:
    before, after = make_runs(right=2, lost=1)
    found = LabComparison(before=before, after=after)

    assert found.more_calls == [0, 0, 5]
    assert found.more_calls_interval.low < 5 / 3 < found.more_calls_interval.high
