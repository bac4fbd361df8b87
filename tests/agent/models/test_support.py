from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from agent.errors import ModelRequestError
from agent.models.in_process import InProcessChat
from agent.models.support import Judgement, SupportModel, maximum_model_calls
from agent.state import Attempt, Chunk
from agent.steps import Steps, together

Run = Callable[[Steps[Any]], tuple[Any, int]]
CHUNK: Chunk = {"id": "sla", "text": "Set {n} in {{config}}.", "score": 0.47}


class Scripted(BaseChatModel):
    """Plays its script, message or exception, in order; the last one repeats."""

    script: list[Any]
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(messages[-1].text) for messages in self._seen]

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self._seen.append(messages)
        said = self.script[min(len(self._seen), len(self.script)) - 1]
        if isinstance(said, Exception):
            raise said
        message = said if isinstance(said, AIMessage) else AIMessage(said)
        return ChatResult(generations=[ChatGeneration(message=message)])


class CallsNoTool(Scripted):
    """Accepts tools, as most providers' models do, and plays its script all the same."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


class Strict(InProcessChat):
    model_name: str = "strict"

    def reply(self, task: str, data: dict[str, Any]) -> dict[str, Any] | str:
        raise ModelRequestError(self.model_name, f"got the unknown task {task!r}")


def support(model: BaseChatModel, **kwargs: Any) -> SupportModel:
    return SupportModel(model, structured_method="prompt", **kwargs)


def test_each_job_gets_its_data_and_gives_its_value(run: Run) -> None:
    attempts: list[Attempt] = [
        {"query": "q {1}", "chunks": [{"id": "sla", "score": 0.4, "grade": "fail"}]}
    ]
    history = [HumanMessage("What of {y}?"), AIMessage("14 days.")]
    model = Scripted(
        script=[
            '{"question": "standalone"}',
            '{"classification": "IRRELEVANT", "confidence": "HIGH"}',
            '{"relevant": "no"}',
            '{"query": "outage"}',
            '{"query": "outage credit"}',
            "In 14 days [sla].",
        ]
    )
    jobs = support(model)

    judged = [
        run(steps)
        for steps in (
            jobs.enhance(history, "And {x}?"),
            jobs.check_topic("And {x}?"),
            jobs.grade("And {x}?", CHUNK),
            jobs.rewrite("q {1}", question="And {x}?", attempts=attempts),
            jobs.rewrite("q {1}"),
            jobs.answer("And {x}?", [CHUNK]),
        )
    ]

    assert judged == [
        (Judgement(value="standalone"), 1),
        (Judgement(value={"classification": "IRRELEVANT", "confidence": "HIGH"}), 1),
        (Judgement(value="fail"), 1),
        (Judgement(value="outage"), 1),
        (Judgement(value="outage credit"), 1),
        (Judgement(value="In 14 days [sla]."), 1),
    ]
    seen = {"id": "sla", "text": "Set {n} in {{config}}."}
    said = [{"role": "user", "text": "What of {y}?"}, {"role": "assistant", "text": "14 days."}]
    tried = [{"query": "q {1}", "chunk_ids": ["sla"]}]
    assert model.asked == [
        {"task": "enhance", "history": said, "question": "And {x}?"},
        {"task": "guard", "question": "And {x}?"},
        {"task": "grade", "question": "And {x}?", "chunk": seen},
        {"task": "rewrite", "question": "And {x}?", "query": "q {1}", "attempts": tried},
        {"task": "rewrite", "query": "q {1}"},
        {"task": "answer", "question": "And {x}?", "chunks": [seen]},
    ]


@pytest.mark.parametrize(
    ("job", "fallback"),
    [
        pytest.param(lambda m: m.enhance([HumanMessage("a")], "q?"), "q?", id="enhance"),
        pytest.param(
            lambda m: m.check_topic("q?"),
            {"classification": "RELEVANT", "confidence": "LOW"},
            id="guard-lets-through",
        ),
        pytest.param(lambda m: m.grade("q?", CHUNK), "ungraded", id="grade-keeps-the-chunk"),
        pytest.param(lambda m: m.rewrite("words"), "words", id="rewrite-keeps-the-query"),
        pytest.param(lambda m: m.answer("q?", [CHUNK]), None, id="answer-is-none"),
    ],
)
@pytest.mark.parametrize(
    ("said", "reason", "calls"),
    [
        pytest.param("", "none", 2, id="empty"),
        pytest.param(TimeoutError(), "timeout", 2, id="timeout"),
        pytest.param(
            AIMessage("x", response_metadata={"finish_reason": "length"}), "truncated", 2, id="cut"
        ),
        pytest.param(
            AIMessage("", additional_kwargs={"refusal": "no"}), "refused", 1, id="refused"
        ),
    ],
)
def test_a_failed_job_ends_in_the_role_s_fallback(
    run: Run, job: Callable[[SupportModel], Steps[Any]], fallback: Any, said: Any, reason: Any,
    calls: int,
) -> None:  # fmt: skip
    judged, made = run(job(support(Scripted(script=[said]))))

    assert judged == Judgement(value=fallback, failure=reason)
    assert made == calls


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(AIMessage("This is on topic."), id="prose"),
        pytest.param(
            AIMessage(
                "",
                invalid_tool_calls=[
                    {"type": "invalid_tool_call", "name": "g", "args": "{", "id": "1", "error": ""}
                ],
            ),
            id="only-an-invalid-tool-call",
        ),
    ],
)
def test_a_tool_that_is_not_called_rejects_nothing(run: Run, reply: AIMessage) -> None:
    jobs = SupportModel(CallsNoTool(script=[reply]))

    (topic, _), (grade, calls) = run(jobs.check_topic("q?")), run(jobs.grade("q?", CHUNK))

    assert topic.value == {"classification": "RELEVANT", "confidence": "LOW"}
    assert (topic.failure, grade.value, grade.failure, calls) == ("none", "ungraded", "none", 2)


def test_a_stock_fake_works_and_is_warned_of_once(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = SupportModel(FakeListChatModel(responses=['{"relevant": "yes"}']))

    values = [run(jobs.grade("q?", CHUNK))[0].value for _ in range(3)]

    assert values == ["pass"] * 3
    assert jobs.structured_method("grade") == "prompt"
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_fallback_is_logged_without_any_text(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    run(support(Scripted(script=[ValueError("q?"), "q? again"])).grade("q?", CHUNK))

    assert [record.getMessage() for record in caplog.records] == [
        "no usable grade reply, the role's fallback is used: unparsed: no chunk_grade in the reply"
    ]


def test_our_own_errors_pass_through(run: Run) -> None:
    with pytest.raises(ModelRequestError, match="unknown task 'grade'"):
        run(support(Strict()).grade("q?", CHUNK))


def test_a_role_can_have_a_model_of_its_own(run: Run) -> None:
    usual = Scripted(script=['{"query": "x"}'])
    grader = Scripted(script=['{"relevant": "yes"}'])
    jobs = support(usual, by_role={"grade": grader})

    run(jobs.grade("q?", CHUNK))
    run(jobs.rewrite("q"))

    assert [asked["task"] for asked in grader.asked] == ["grade"]
    assert [asked["task"] for asked in usual.asked] == ["rewrite"]


def test_the_subjects_reach_the_topic_check(run: Run) -> None:
    model = Scripted(script=['{"classification": "RELEVANT", "confidence": "HIGH"}'])

    run(support(model, subjects="tea").check_topic("q?"))

    assert "documents about tea." in model._seen[0][0].text


def test_grades_made_together_fail_each_for_itself(run: Run) -> None:
    model = Scripted(script=[ValueError(), '{"relevant": "yes"}'])
    jobs = support(model)

    judged, calls = run(together(jobs.grade("q?", CHUNK) for _ in range(3)))

    assert [j.value for j in judged] == ["pass"] * 3
    assert calls == 4


@pytest.mark.parametrize(
    ("max_rewrites", "k", "changes", "expected"),
    [
        pytest.param(0, 2, {}, 2 * (1 + 1 + 2 + 0 + 1), id="no-rewrites"),
        pytest.param(2, 2, {}, 2 * (1 + 1 + 6 + 2 + 1), id="two-rewrites"),
        pytest.param(2, 2, {"has_history": False}, 2 * (1 + 6 + 2 + 1), id="first-turn"),
        pytest.param(2, 2, {"has_topic_check": False}, 2 * (1 + 6 + 2 + 1), id="no-topic-check"),
        pytest.param(5, 4, {}, 2 * (1 + 1 + 24 + 5 + 1), id="wider-and-longer"),
        pytest.param(1, 0, {}, 2 * (1 + 1 + 0 + 1 + 1), id="nothing-retrieved"),
        pytest.param(2, 2, {"has_fallback": True}, 2 * (1 + 1 + 8 + 2 + 1), id="a-second-source"),
        pytest.param(2, 2, {"max_drafts": 3}, 2 * (1 + 1 + 6 + 2 + 6), id="three-drafts"),
    ],
)
def test_maximum_model_calls(
    max_rewrites: int, k: int, changes: dict[str, Any], expected: int
) -> None:
    assert maximum_model_calls(max_rewrites, k, **changes) == expected
