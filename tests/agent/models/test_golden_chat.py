from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from agent.errors import ModelRequestError, UnknownGoldenQuestionError
from agent.golden import EarlierTurn, GoldenQuestion, GoldenSet
from agent.models.golden import GoldenChat

OUTAGE = "What happens if my server goes down?"
SLA = "Availability\n\nWe guarantee 99 % a month. Less gives a credit of 5.50 euros. Claim it soon."
QUESTIONS = (
    GoldenQuestion(
        question=OUTAGE,
        topic="on",
        answers=("sla", "credits"),
        rewrites=("server unavailable", "outage guarantee"),
    ),
    GoldenQuestion(question="Will it rain?", topic="off", answers=()),
    GoldenQuestion(
        question="And for annual plans?",
        standalone="Are annual plans refunded?",
        history=(EarlierTurn(question="Are plans refunded?", reply="Yes."),),
        topic="on",
        answers=("refunds",),
    ),
)


@pytest.fixture
def model() -> GoldenChat:
    return GoldenChat(golden=GoldenSet(Path("golden.yaml"), QUESTIONS))


def ask(model: GoldenChat, task: str, **data: Any) -> Any:
    """Send a task as the graph does and return the reply's JSON, or its text for an answer."""
    text = model.invoke([HumanMessage(json.dumps({"task": task, **data}))]).text
    return text if task in ("answer", "revise") else json.loads(text)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param(OUTAGE, OUTAGE, id="standalone-question-is-passed-through"),
        pytest.param(
            "And for annual plans?",
            "Are annual plans refunded?",
            id="follow-up-becomes-its-hand-written-form",
        ),
    ],
)
def test_enhance(model: GoldenChat, question: str, expected: str) -> None:
    history = [{"role": "user", "text": "Are plans refunded?"}]

    assert ask(model, "enhance", history=history, question=question) == {"question": expected}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param(OUTAGE, "RELEVANT", id="label-on"),
        pytest.param("Will it rain?", "IRRELEVANT", id="label-off"),
        pytest.param("Are annual plans refunded?", "RELEVANT", id="standalone-form-is-known"),
    ],
)
def test_guard_says_the_label(model: GoldenChat, question: str, expected: str) -> None:
    verdict = {"classification": expected, "confidence": "HIGH"}

    assert ask(model, "guard", question=question) == verdict


@pytest.mark.parametrize(
    ("question", "chunk_id", "expected"),
    [
        pytest.param(OUTAGE, "sla", "yes", id="answer-chunk-passes"),
        pytest.param(OUTAGE, "credits", "yes", id="another-answer-chunk-passes"),
        pytest.param(OUTAGE, "reboot", "no", id="other-chunk-fails"),
        pytest.param("Will it rain?", "sla", "no", id="nothing-passes-off-topic"),
    ],
)
def test_grade(model: GoldenChat, question: str, chunk_id: str, expected: str) -> None:
    chunk = {"id": chunk_id, "text": SLA}

    assert ask(model, "grade", question=question, chunk=chunk) == {"relevant": expected}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            {"question": OUTAGE, "query": OUTAGE, "attempts": [{"query": OUTAGE, "chunk_ids": []}]},
            "server unavailable",
            id="from-the-original-first-rewrite",
        ),
        pytest.param(
            {"question": OUTAGE, "query": "server unavailable", "attempts": []},
            "outage guarantee",
            id="from-the-original-next-rewrite",
        ),
        pytest.param(
            {"question": OUTAGE, "query": "words of somebody else", "attempts": []},
            "server unavailable",
            id="from-the-original-with-a-foreign-query",
        ),
        pytest.param({"query": OUTAGE}, "server unavailable", id="from-the-current-question"),
        pytest.param({"query": "server unavailable"}, "outage guarantee", id="from-a-rewrite"),
        pytest.param({"query": "outage guarantee"}, "outage guarantee", id="last-one-repeats"),
        pytest.param({"query": "Will it rain?"}, "Will it rain?", id="no-rewrites-at-all"),
        pytest.param(
            {"query": "Are annual plans refunded?"},
            "Are annual plans refunded?",
            id="follow-up-stays-standalone",
        ),
    ],
)
def test_rewrite(model: GoldenChat, data: dict[str, Any], expected: str) -> None:
    assert ask(model, "rewrite", **data) == {"query": expected}


def test_answer_quotes_the_first_sentences_of_answer_chunks_with_citations(
    model: GoldenChat,
) -> None:
    chunks = [
        {"id": "reboot", "text": "Reboot\n\nPress the button. Wait."},
        {"id": "sla", "text": SLA},
        {"id": "credits", "text": "Credits are\npaid in May."},
    ]

    assert ask(model, "answer", question=OUTAGE, chunks=chunks) == (
        "We guarantee 99 % a month. Less gives a credit of 5.50 euros. [sla] "
        "Credits are paid in May. [credits]"
    )


@pytest.mark.parametrize("task", ["enhance", "guard", "grade", "rewrite", "answer"])
def test_any_other_question_is_refused_in_every_role(model: GoldenChat, task: str) -> None:
    data = {"question": "Why?", "query": "Why?", "history": [], "chunks": [], "attempts": []}

    with pytest.raises(UnknownGoldenQuestionError, match="Use --model local for other questions"):
        ask(model, task, **data, chunk={"id": "sla", "text": SLA})


def test_an_unknown_task_is_refused(model: GoldenChat) -> None:
    with pytest.raises(ModelRequestError, match="got the unknown task 'sing'"):
        ask(model, "sing", question=OUTAGE)


async def test_async_gives_the_same_reply(model: GoldenChat) -> None:
    message = [HumanMessage(json.dumps({"task": "guard", "question": OUTAGE}))]

    assert (await model.ainvoke(message)).text == model.invoke(message).text


def test_tracing_sees_a_model_of_this_process_with_its_name(model: GoldenChat) -> None:
    message = model.invoke([HumanMessage(json.dumps({"task": "guard", "question": OUTAGE}))])

    assert message.response_metadata["model_name"] == "golden"
    assert message.response_metadata["model_provider"] == "loopscope"


def test_it_asks_back_with_the_question_and_takes_any_reply_for_it(model: GoldenChat) -> None:
    asked = ask(model, "clarify", question=OUTAGE)
    history = [
        {"role": "user", "text": OUTAGE},
        {"role": "assistant", "text": asked["question"]},
    ]

    assert asked == {"question": f"Do you mean: {OUTAGE}"}
    assert ask(model, "enhance", history=history, question="Yes, my server.", asked_back=True) == {
        "question": OUTAGE
    }


@pytest.mark.parametrize(
    ("draft", "answers", "note"),
    [
        pytest.param("We pay [sla].", "fully", "none", id="a-golden-chunk-is-cited"),
        pytest.param("We pay [plans].", "no", "Answer from sla, credits.", id="another-is-cited"),
    ],
)
def test_a_draft_passes_when_it_cites_a_golden_chunk(
    model: GoldenChat, draft: str, answers: str, note: str
) -> None:
    found = ask(model, "critique", question=OUTAGE, chunks=[], draft=draft)

    assert found == {"supported": "all", "answers": answers, "note": note}


def test_a_revision_is_the_golden_answer(model: GoldenChat) -> None:
    chunks = [{"id": "sla", "text": SLA}]
    answer = ask(model, "answer", question=OUTAGE, chunks=chunks)

    assert ask(model, "revise", question=OUTAGE, chunks=chunks, draft="x", critique="y") == answer
