from __future__ import annotations

from dataclasses import replace

import pytest
from filled_store import turns

from agent.answer import Answer, AnswerAttempt, AnswerChunk, Observation
from agent.console.steps import ShownTurn, of_answer, of_record, path_of, steps_of
from telemetry.records import Attempt, TurnRecord
from telemetry.turn import NodeRun

CHUNKS = (AnswerChunk(id="a", score=0.4, passed=False), AnswerChunk(id="b", score=0.1, passed=True))
ANSWER = Answer(
    question="why?",
    outcome="answered",
    reason="passing_chunk",
    reply="So.",
    topic={"classification": "RELEVANT", "confidence": "HIGH"},
    rewrites=1,
    retrievals=2,
    llm_calls=7,
    attempts=(
        AnswerAttempt(query="why?", chunks=CHUNKS),
        AnswerAttempt(query="how?", chunks=CHUNKS, similarity=0.5, synonym_swap=True),
    ),
    seen=Observation(trace_id=None, similarities=(), synonym_swaps=(), record_id="r1"),
)


def nodes(turn: ShownTurn) -> list[str]:
    return [visit.node for visit in path_of(turn)]


def test_a_turn_with_a_rewrite_goes_round_the_loop_once() -> None:
    assert nodes(of_answer(ANSWER)) == [
        "enhance_query", "validate_topic", "fetch_content", "assess_relevance",
        "optimize_query", "fetch_content", "assess_relevance", "generate_response",
    ]  # fmt: skip


def test_the_calls_of_the_steps_are_those_of_the_turn() -> None:
    turn = of_answer(ANSWER)

    assert sum(step.calls for step in steps_of(turn, path_of(turn))) == turn.llm_calls


def test_a_rewrite_shows_the_search_that_it_led_to() -> None:
    turn = of_answer(ANSWER)
    rewrite = next(s for s in steps_of(turn, path_of(turn)) if s.visit.node == "optimize_query")

    assert rewrite.attempt is not None
    assert (rewrite.attempt.query, rewrite.attempt.is_swap) == ("how?", True)


@pytest.mark.parametrize(
    ("outcome", "last"),
    [
        pytest.param("off_topic", "handle_off_topic", id="refused"),
        pytest.param("no_results", "handle_no_results", id="nothing-found"),
        pytest.param("clarify", "ask_clarification", id="asked-back"),
        pytest.param("recursion_limit", "validate_topic", id="cut-off-has-no-last-node"),
    ],
)
def test_the_end_follows_the_outcome(outcome: str, last: str) -> None:
    turn = replace(of_answer(ANSWER), outcome=outcome, attempts=())

    assert nodes(turn)[-1] == last


def test_a_record_and_its_answer_show_the_same_path() -> None:
    attempts = tuple(
        Attempt(attempt=n, chunk_ids=("a", "b"), scores=(0.4, 0.1), grades=(False, True))
        for n in range(2)
    )
    record = TurnRecord(
        id="r1", started_at=0.0, graph="g", version="1", outcome="answered",
        classification="relevant", confidence="high", rewrites=1, llm_calls=7, attempts=attempts,
    )  # fmt: skip
    shown = of_record(record)

    assert nodes(shown) == nodes(of_answer(ANSWER))
    assert (shown.question, shown.topic) == (None, ("relevant", "high"))


def test_a_record_and_its_answer_show_the_same_times() -> None:
    times = (("enhance_query", 0, 0.0, 0.5), ("generate_response/write_draft", 1, 0.5, 1.0))
    seen = Observation(trace_id=None, similarities=(), synonym_swaps=(), nodes=times)
    record = TurnRecord(
        id="r1", started_at=0.0, graph="g", version="1", outcome="answered",
        nodes=tuple(NodeRun(node=n, role="none", attempt=a, began=b, seconds=s)
                    for n, a, b, s in times),
    )  # fmt: skip
    shown = of_record(record)

    assert path_of(shown) == path_of(of_answer(replace(ANSWER, seen=seen)))
    assert [(visit.began, visit.ended) for visit in path_of(shown)] == [(0.0, 0.5), (0.5, 1.5)]


def test_every_kind_of_turn_has_a_path() -> None:
    for record in turns(200, 1e9, days=1):
        turn = of_record(record)

        assert len(steps_of(turn, path_of(turn))) >= 2
