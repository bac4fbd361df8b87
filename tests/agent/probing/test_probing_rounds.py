from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from agent.probing.asking import Result
from agent.probing.known import KnownQuestion
from agent.probing.rounds import Round, rounds

ONE, TWO = (
    KnownQuestion(id=id_, question=f"q{id_}", expected=expected)
    for id_, expected in (("1", "answered"), ("2", "off_topic"))
)


class Time:
    """A clock that a wait and a probe move."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


class Ledger:
    def __init__(self) -> None:
        self.lines: list[tuple[object, ...]] = []

    def asked(self, question_id: str, got: str, seconds: float, in_a_row: int) -> None:
        self.lines.append((question_id, got, in_a_row))

    def round_ended(self) -> None:
        self.lines.append(("end",))


async def made(
    got: Sequence[tuple[str, str]], *, takes: float = 1.0, problem: str | None = None
) -> tuple[list[Round], Ledger, Time]:
    """Make a round for each pair of what comes of the two questions."""
    time, ledger, done = Time(), Ledger(), []
    said = iter([each for pair in got for each in pair])

    async def ask(question: KnownQuestion) -> Result:
        time.now += takes
        came = next(said)
        why = problem if came == "error" else None
        return Result(question=question, got=came, seconds=takes, problem=why)

    async for each in rounds(
        (ONE, TWO), ask, ledger, every_seconds=10, wait=time.wait, clock=lambda: time.now
    ):
        done.append(each)
        if len(done) == len(got):
            break
    return done, ledger, time


async def test_every_question_is_asked_once_a_round_and_the_round_is_told() -> None:
    done, ledger, _ = await made([("answered", "off_topic"), ("answered", "off_topic")])

    assert [(r.number, r.unexpected, r.told()) for r in done] == [
        (1, (), "round 1: 2 of 2 as expected, 2.00 s"),
        (2, (), "round 2: 2 of 2 as expected, 2.00 s"),
    ]
    assert ledger.lines == [("1", "answered", 0), ("2", "off_topic", 0), ("end",)] * 2


@pytest.mark.parametrize(
    ("takes", "wait"),
    [
        pytest.param(1.0, 8.0, id="a-round-that-takes-part-of-its-time"),
        pytest.param(6.0, 0.0, id="a-round-that-takes-longer-is-followed-at-once"),
    ],
)
async def test_rounds_begin_on_schedule(takes: float, wait: float) -> None:
    _, _, time = await made([("answered", "off_topic")] * 3, takes=takes)

    assert time.waits == [wait, wait]


async def test_rounds_in_a_row_are_counted_and_end_with_a_right_answer() -> None:
    wrong, right = ("no_results", "off_topic"), ("answered", "off_topic")
    done, ledger, _ = await made([wrong, wrong, wrong, right, wrong])

    assert [r.in_a_row["1"] for r in done] == [1, 2, 3, 0, 1]
    assert {r.in_a_row["2"] for r in done} == {0}
    assert [line[2] for line in ledger.lines if line[0] == "1"] == [1, 2, 3, 0, 1]
    assert done[1].told() == (
        "round 2: 1 of 2 as expected, 2.00 s; "
        "question 1: no_results, not answered, 2 rounds in a row"
    )


async def test_another_wrong_outcome_goes_on_the_row() -> None:
    done, _, _ = await made([("no_results", "off_topic"), ("error", "off_topic")], problem="HTTP 5")

    assert done[1].in_a_row == {"1": 2, "2": 0}


async def test_what_kept_several_questions_from_an_answer_is_told_once() -> None:
    done, _, _ = await made([("error", "error")], problem="HTTP 503")

    assert done[0].told() == (
        "round 1: 0 of 2 as expected, 2.00 s; questions 1, 2: no answer, HTTP 503"
    )


async def test_a_round_as_json_has_every_question() -> None:
    done, _, _ = await made([("no_results", "off_topic")])
    told = json.loads(json.dumps(done[0].as_json()))

    assert (told["round"], told["expected"], told["seconds"]) == (1, False, 2.0)
    assert told["questions"][0] == {
        "question_id": "1", "question": "q1", "expected": "answered", "got": "no_results",
        "unexpected_in_a_row": 1, "seconds": 1.0, "problem": None, "trace_id": None,
    }  # fmt: skip
