from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from made_turns import Loop, make_side

from telemetry.compare.blame import FEWEST_TURNS, Blame, blame
from telemetry.compare.observed import Observed
from telemetry.compare.side import Side

NUMBERS = itertools.count()
FAULTS = [
    pytest.param(Loop(lost=0.4), "retrieval", id="an-index-that-lost-chunks"),
    pytest.param(Loop(refused=0.5), "grading", id="a-stricter-grader"),
    pytest.param(Loop(unanswerable=0.5), "question mix", id="other-questions"),
    pytest.param(Loop(rewrites_help=False), "rewriting", id="rewrites-that-only-swap-words"),
]


def split(before: Side, after: Side, **options: int) -> Blame:
    found = blame(before.observed, after.observed, samples=100, **options)
    assert found is not None
    return found


@pytest.mark.parametrize(("loop", "expected"), FAULTS)
def test_the_injected_fault_is_the_first_cause_in_each_of_five_seeds(
    loop: Loop, expected: str
) -> None:
    found = [split(make_side(300, seed), make_side(300, 1_000 + seed, loop)) for seed in range(5)]

    assert [told.first_cause for told in found] == [expected] * 5
    assert all(told.is_clear for told in found)


@pytest.mark.parametrize(("loop", "expected"), FAULTS)
def test_parts_and_the_unexplained_rest_sum_to_the_jump(loop: Loop, expected: str) -> None:
    found = split(make_side(400, 1), make_side(400, 2, loop))

    assert sum(part.points for part in found.parts) + found.unexplained == pytest.approx(found.jump)
    assert abs(found.unexplained) < 0.1 * found.jump
    assert found.parts[0].points == pytest.approx(found.jump, abs=0.1)


def test_two_faults_at_once_share_the_jump() -> None:
    found = split(make_side(800, 1), make_side(800, 2, Loop(lost=0.3, unanswerable=0.4)))
    points = {part.cause: part.points for part in found.parts}

    assert points["retrieval"] > 0.1
    assert points["question mix"] > 0.1
    assert abs(points["grading"]) < 0.02


def test_without_a_change_there_is_no_first_cause() -> None:
    found = split(make_side(300, 1), make_side(300, 2))

    assert found.first_cause is None
    assert not found.is_clear


def unrepeated(side: Side) -> tuple[Observed, ...]:
    """Return the turns as if nobody had asked the same twice."""
    return tuple(
        replace(
            turn,
            steps=tuple(replace(step, query_hash=f"{next(NUMBERS)}") for step in turn.steps),
        )
        for turn in side.observed
    )


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        pytest.param(Loop(lost=0.5), None, id="moved-scores-may-be-the-index-or-the-questions"),
        pytest.param(Loop(unanswerable=0.6), None, id="other-questions-look-like-another-index"),
        pytest.param(Loop(refused=0.5), "grading", id="a-lower-pass-rate-at-unmoved-scores"),
    ],
)
def test_without_repeated_questions_only_what_can_be_told_is_told(
    loop: Loop, expected: str | None
) -> None:
    found = blame(unrepeated(make_side(300, 1)), unrepeated(make_side(300, 2, loop)), samples=100)

    assert found is not None
    assert found.first_cause == expected


@pytest.mark.parametrize(
    ("number", "is_split"),
    [(0, False), (1, False), (FEWEST_TURNS - 1, False), (FEWEST_TURNS, True)],
)
def test_a_side_with_too_few_turns_is_not_split(number: int, is_split: bool) -> None:
    few = make_side(number, 1, Loop(off_topic=0.0)).observed

    assert (blame(few, make_side(50, 2).observed, samples=20) is not None) == is_split


def bare(turn: Observed, score: float | None) -> Observed:
    steps = tuple(
        replace(step, score=score, passed=None, grades=(), query_hash=None, similarity=None)
        for step in turn.steps
    )
    return replace(turn, steps=steps)


@pytest.mark.parametrize("score", [None, 0.0], ids=["no-scores", "all-scores-zero"])
def test_records_that_hold_little_are_split_without_an_error(score: float | None) -> None:
    before = [bare(turn, score) for turn in make_side(60, 1).observed]
    after = [bare(turn, score) for turn in make_side(60, 2, Loop(lost=0.5)).observed]
    found = blame(before, after, samples=20)

    assert found is not None
    assert all(part.interval.low <= part.interval.high for part in found.parts)


def test_words_tell_questions_apart_when_content_was_captured() -> None:
    def asked(side: Side, words: str) -> list[Observed]:
        return [
            replace(turn, question=f"{words} {number % 7}")
            for number, turn in enumerate(unrepeated(side))
        ]

    before = asked(make_side(200, 1, Loop(unanswerable=0.0)), "how do I cancel my plan")
    new = asked(make_side(100, 2, Loop(unanswerable=1.0)), "have you servers with a GPU")
    old = asked(make_side(100, 3, Loop(unanswerable=0.0)), "how do I cancel my plan")
    found = blame(before, [*old, *new], samples=100)

    assert found is not None
    assert found.parts[0].cause == "question mix"


def test_of_very_many_turns_some_are_split_and_that_is_told() -> None:
    before, after = make_side(400, 1), make_side(300, 2, Loop(lost=0.4))
    whole, some = split(before, after), split(before, after, most=200)
    searched = [sum(turn.searched for turn in side.observed) for side in (before, after)]

    assert some.first_cause == whole.first_cause == "retrieval"
    assert abs(some.jump - whole.jump) < 0.1
    assert len(whole.notes) == len(some.notes) - 1
    assert some.notes[0] == (
        f"Of {searched[0]} turns before and {searched[1]} after, at most 200 each are split, drawn "
        "at random."
    )
