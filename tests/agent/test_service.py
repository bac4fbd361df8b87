from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from fakes import DictRetriever, ScriptedChat, in_turn, make_context
from langchain_core.messages import AIMessage, HumanMessage

from agent.answer import Answer, AnswerChunk, Observation
from agent.context import AgentContext
from agent.errors import InvalidQuestionError, RecursionLimitTooLowError, UnknownGoldenQuestionError
from agent.graph import build_graph
from agent.service import MAX_QUESTION_CHARS, SupportAgent


def make_agent(
    replies: Mapping[str, Any] | None = None, *, context: AgentContext | None = None, **changes: Any
) -> SupportAgent:
    return SupportAgent(
        **{"graph": build_graph(), "context": context or make_context(replies or {}), **changes}
    )


def ask(agent: SupportAgent, mode: str, question: str = "q?") -> Answer:
    return agent.answer(question) if mode == "sync" else asyncio.run(agent.aanswer(question))


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_an_answer_holds_everything_of_the_turn(mode: str) -> None:
    answer = ask(make_agent({"grade": {"relevant": "yes"}}), mode, "  q? ")

    assert answer.duration_seconds > 0
    assert (answer.question, answer.outcome, answer.reason, answer.reply, answer.citations) == (
        "q?", "answered", "passing_chunk", "It is so [a].", ("a",),
    )  # fmt: skip
    assert (answer.llm_calls, answer.retrievals, answer.rewrites, answer.topic) == (
        4, 1, 0, {"classification": "RELEVANT", "confidence": "HIGH"},
    )  # fmt: skip
    assert answer.attempts[0].chunks == (
        AnswerChunk(id="a", score=0.5, passed=True),
        AnswerChunk(id="b", score=0.25, passed=True),
    )


def test_a_chunk_kept_ungraded_is_neither_passed_nor_failed(mode: str) -> None:
    answer = ask(make_agent({"grade": {"relevant": "perhaps"}}), mode)

    assert [chunk.passed for chunk in answer.attempts[0].chunks] == [None, None]


def test_a_citation_of_a_chunk_that_was_not_retrieved_is_none(mode: str) -> None:
    replies = {"grade": {"relevant": "yes"}, "answer": "So [b], says [refunds] and [b]."}

    assert ask(make_agent(replies), mode).citations == ("b",)


def test_a_retriever_that_fails_gives_a_polite_reply_and_its_code(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = DictRetriever(error=OSError("quotes the secret question"))
    answer = ask(make_agent(context=make_context(retriever=retriever)), mode, "secret question")

    assert (answer.outcome, answer.reason, answer.llm_calls, answer.rewrites) == (
        "error", "retriever_error", 1, 0,
    )  # fmt: skip
    assert "Please try again" in answer.reply
    assert "secret" not in answer.reply + caplog.text


def test_a_run_that_its_recursion_limit_ends_is_a_reply_with_what_it_had_spent(mode: str) -> None:
    graph = build_graph(route_after_grading=lambda _: "optimize_query")
    answer = ask(make_agent(graph=graph), mode)

    assert (answer.outcome, answer.reason, answer.retrievals) == (
        "recursion_limit", "recursion_limit", 4,
    )  # fmt: skip


def test_a_mistake_of_the_caller_is_raised_and_not_a_failed_turn(mode: str) -> None:
    mistake = UnknownGoldenQuestionError("q?", "golden.yaml")

    with pytest.raises(UnknownGoldenQuestionError):
        ask(make_agent({"guard": mistake}), mode)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        pytest.param("", "it is empty", id="empty"),
        pytest.param(" \n\t ", "it is empty", id="blank"),
        pytest.param("x" * 100_000, "it has 100,000 characters", id="a-hundred-thousand"),
        pytest.param("a\ud83d?", "half of a surrogate pair", id="lone-surrogate"),
        pytest.param("PNG\x00\x01", "control characters", id="binary"),
        pytest.param("\x7fELF\x02", "control characters", id="control-character-in-the-middle"),
    ],
)
def test_what_is_no_question_is_refused_before_anything_is_called(
    question: str, message: str
) -> None:
    chat = ScriptedChat()
    agent = make_agent(context=make_context(chat=chat))

    with pytest.raises(InvalidQuestionError, match=message):
        agent.answer(question)
    assert chat.asked == []


@pytest.mark.parametrize(
    "question",
    [
        pytest.param("x" * MAX_QUESTION_CHARS, id="the-longest"),
        pytest.param("Zwei Zeilen\r\nund\tein Tab: é 密码 👍", id="lines-tabs-and-any-script"),
    ],
)
def test_what_a_person_could_type_is_asked(question: str) -> None:
    assert make_agent({"grade": {"relevant": "yes"}}).answer(question).outcome == "answered"


def test_braces_reach_the_model_unchanged() -> None:
    question, said, document = "what does {x} mean, {{y}}?", "{y} {{z}}", '{"n": {n}} in {{config}}'
    chat = ScriptedChat(
        replies={
            "enhance": {"question": question},
            "grade": in_turn("no", "yes"),
            "rewrite": {"query": "{n} again"},
        }
    )
    retriever = DictRetriever(found={None: ((document, 0.5),)})

    make_agent(context=make_context(chat=chat, retriever=retriever)).answer(
        question, history=[HumanMessage(said), AIMessage(said)]
    )
    asked = dict(chat.asked)

    assert {line["text"] for line in asked["enhance"]["history"]} == {said}
    assert asked["guard"] == {"question": question}
    assert asked["rewrite"]["query"] == question
    assert asked["grade"]["chunk"]["text"] == f"text of {document}"
    assert asked["answer"]["chunks"][0]["text"] == f"text of {document}"


def test_a_limit_that_cannot_hold_the_bound_is_refused_at_start() -> None:
    with pytest.raises(RecursionLimitTooLowError):
        make_agent(limit=11)

    assert make_agent(limit=12).answer("q?").outcome == "no_results"


def test_what_telemetry_saw_is_put_on_the_attempts() -> None:
    seen = Observation(
        trace_id="a" * 32, similarities=(None, 0.5, 0.25), synonym_swaps=(False, True, False)
    )
    answer = make_agent(take_observation=lambda: seen).answer("q?")

    assert answer.trace_id == "a" * 32
    assert [(a.similarity, a.synonym_swap) for a in answer.attempts] == [
        (None, False),
        (0.5, True),
        (0.25, False),
    ]


def test_twenty_turns_at_once_do_not_mix() -> None:
    agent = make_agent({"answer": lambda data: f"about {data['question']}",
                        "grade": {"relevant": "yes"}})  # fmt: skip

    async def all_at_once() -> list[Answer]:
        return list(await asyncio.gather(*(agent.aanswer(f"q{n}") for n in range(20))))

    assert [a.reply for a in asyncio.run(all_at_once())] == [f"about q{n}" for n in range(20)]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_turn_whose_time_is_up_calls_nothing_more(mode: str) -> None:
    chat = ScriptedChat()
    context = replace(make_context(chat=chat), deadline=time.monotonic())
    agent = make_agent(context=context)
    if mode == "sync":
        answer = agent.answer("q?")
    else:
        answer = asyncio.run(agent.aanswer("q?", deadline=time.monotonic()))

    assert (answer.outcome, answer.reason, chat.asked) == ("error", "timeout", [])
