"""The clarifying branch through the whole graph, in both ways of keeping a conversation."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import ScriptedChat, make_context
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.answer import Answer
from agent.compose import Composition
from agent.graph import build_graph
from agent.service import SupportAgent
from agent.settings import Branches, Settings
from agent.state import exchange, was_asked_back

DOUBT = {"classification": "IRRELEVANT", "confidence": "LOW"}
ASKING = Branches(clarify=True)


def agent(replies: dict[str, Any], *, chat: ScriptedChat | None = None) -> SupportAgent:
    chat = chat or ScriptedChat(replies=replies)
    return SupportAgent(graph=build_graph(branches=ASKING), context=make_context(chat=chat))


def said(answer: Answer) -> list[AnyMessage]:
    return exchange(answer.question, answer.reply, answer.outcome)


def test_a_doubtful_question_is_asked_back_and_nothing_is_searched() -> None:
    answer = agent({"guard": DOUBT}).answer("Is it warm?")

    assert (answer.outcome, answer.reason, answer.reply, answer.llm_calls, answer.retrievals) == (
        "clarify", "low_confidence", "Do you mean servers?", 2, 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        pytest.param({"guard": "no verdict"}, "no_results", id="a-failed-check-never-asks"),
        pytest.param(
            {"guard": {"classification": "RELEVANT", "confidence": "LOW"}}, "no_results",
            id="a-doubtful-yes-is-searched",
        ),
        pytest.param(
            {"guard": {"classification": "IRRELEVANT", "confidence": "HIGH"}}, "off_topic",
            id="a-sure-no-is-refused",
        ),
    ],
)  # fmt: skip
def test_nothing_else_is_asked_back(replies: dict[str, Any], outcome: str) -> None:
    assert agent(replies).answer("Is it warm?").outcome == outcome


def test_a_question_that_cannot_be_worded_is_a_fixed_one_and_counted() -> None:
    asking = agent({"guard": DOUBT, "clarify": "no JSON"})
    end = asking.graph.invoke({"question": "Is it warm?"}, context=asking.context)

    assert end["outcome"] == "clarify"
    assert end["reply"].startswith("I am not sure that I understand. I can help with ")
    assert end["judgement_failures"] == [{"role": "clarify", "reason": "unparsed"}]


@pytest.mark.parametrize("way", ["history", "checkpointer"])
def test_the_reply_is_read_with_its_question_and_asked_back_no_second_time(way: str) -> None:
    chat = ScriptedChat(replies={"guard": DOUBT, "enhance": {"question": "both in one"}})
    context = make_context(chat=chat)
    if way == "history":
        asking = SupportAgent(graph=build_graph(branches=ASKING), context=context)
        second = asking.answer("In the rack", history=said(asking.answer("Is it warm?")))
        outcome = second.outcome
    else:
        graph = build_graph(branches=ASKING, checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "t"}}
        graph.invoke({"question": "Is it warm?"}, config, context=context)
        outcome = graph.invoke({"question": "In the rack"}, config, context=context)["outcome"]
    (enhanced,) = [data for task, data in chat.asked if task == "enhance"]
    judged = [data["question"] for task, data in chat.asked if task == "guard"]

    assert outcome == "off_topic"
    assert judged == ["Is it warm?", "both in one"]
    assert enhanced == {
        "history": [
            {"role": "user", "text": "Is it warm?"},
            {"role": "assistant", "text": "Do you mean servers?"},
        ],
        "question": "In the rack",
        "asked_back": True,
    }


def test_a_reply_that_cannot_be_joined_by_the_model_follows_its_question_in_words() -> None:
    history = exchange("Is it warm?", "Do you mean servers?", "clarify")
    asking = agent({"enhance": "no JSON"})
    end = asking.graph.invoke(
        {"question": "In the rack", "messages": history}, context=asking.context
    )

    assert end["standalone"] == "Is it warm? In the rack"


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param([], False, id="nothing-was-said"),
        pytest.param(exchange("q", "r", "answered"), False, id="an-answer-is-no-question-back"),
        pytest.param(exchange("q", "r", "clarify"), True, id="a-clarifying-question-is"),
        pytest.param(
            [*exchange("q", "r", "clarify"), *exchange("q", "r", "off_topic")], False,
            id="an-older-one-counts-no-more",
        ),
        pytest.param([HumanMessage("q"), AIMessage("r")], False, id="messages-of-others"),
    ],
)  # fmt: skip
def test_was_asked_back(history: list[Any], expected: bool) -> None:
    assert was_asked_back(history) is expected


@pytest.fixture(scope="module")
def local() -> Composition:
    return Composition(Settings(clarify=True))


def ask_twice(composition: Composition, question: str, reply: str) -> tuple[Answer, Answer]:
    first = composition.default_agent.answer(question)
    return first, composition.default_agent.answer(reply, history=said(first))


def test_the_local_model_asks_about_the_nearest_subject_and_takes_the_reply(
    local: Composition,
) -> None:
    first, second = ask_twice(
        local, "Which versions of Node.js are installed?", "Which operating systems I can choose"
    )

    assert (first.outcome, first.topic) == ("clarify", DOUBT)
    assert "Is it about \u201cPlans and prices\u201d?" in first.reply
    assert second.outcome in ("answered", "no_results")


def test_a_turn_that_asks_back_has_its_own_row_in_the_accounting(local: Composition) -> None:
    before = local.registry.get_sample_value("rag_turns_total", ROW)
    calls = {"graph": "support_agent", "model": "local", "role": "clarify"}
    calls_before = local.registry.get_sample_value("rag_llm_calls_total", calls)
    local.default_agent.answer("Which versions of Node.js are installed?")

    assert before is not None
    assert calls_before is not None, "its calls are counted from 0 on"
    assert local.registry.get_sample_value("rag_turns_total", ROW) == before + 1
    assert local.registry.get_sample_value("rag_llm_calls_total", calls) == calls_before + 1


ROW = {
    "graph": "support_agent", "version": "dev",
    "outcome": "clarify", "retrieved": "no", "last_grade": "none",
}  # fmt: skip
