from __future__ import annotations

import logging
import warnings
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import Field

from agent.models.in_process import InProcessChat
from agent.models.structured import StructuredOutput


class Local(InProcessChat):
    model_name: str = "local"

    def reply(self, task: str, data: dict[str, Any]) -> dict[str, Any] | str:
        return ""


class WithSchemas(BaseChatModel):
    """Keeps what it was asked to bind."""

    bound: list[dict[str, Any]] = Field(default_factory=list)
    error: Exception | None = None

    @property
    def _llm_type(self) -> str:
        return "with-schemas"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(""))])

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[Any, Any]:
        if self.error is not None:
            raise self.error
        warnings.warn("another method would be better", stacklevel=2)
        self.bound.append({"title": schema["title"], **kwargs})
        return RunnableLambda(lambda _: None)


def test_a_model_with_schemas_gets_one_for_each_verdict_and_none_for_the_answer() -> None:
    model = WithSchemas()

    output = StructuredOutput(model)

    assert model.bound == [
        {"title": title, "include_raw": True}
        for title in (
            "standalone_question",
            "topic_verdict",
            "clarifying_question",
            "chunk_grade",
            "search_query",
            "draft_critique",
        )
    ]
    assert output.method == "auto"
    assert output.target("grade") is not model
    assert output.target("answer") is model


def test_a_chosen_method_is_passed_on() -> None:
    model = WithSchemas()

    StructuredOutput(model, "function_calling")

    assert {asked["method"] for asked in model.bound} == {"function_calling"}


def test_words_alone_bind_nothing() -> None:
    model = WithSchemas()

    output = StructuredOutput(model, "prompt")

    assert model.bound == []
    assert output.target("grade") is model


def test_a_model_of_our_own_is_asked_in_words_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    output = StructuredOutput(Local())

    assert output.method == "prompt"
    assert caplog.records == []


@pytest.mark.parametrize(
    ("model", "why"),
    [
        pytest.param(
            FakeListChatModel(responses=["x"]), "NotImplementedError", id="stock-fake-of-langchain"
        ),
        pytest.param(WithSchemas(error=ValueError("method")), "ValueError", id="unknown-method"),
        pytest.param(WithSchemas(error=TypeError("kw")), "TypeError", id="other-signature"),
    ],
)
def test_a_model_without_schemas_is_asked_in_words_and_the_log_says_so_once(
    model: BaseChatModel, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    output = StructuredOutput(model)
    output.give_up("asked again")

    assert output.method == "prompt"
    assert output.target("grade") is model
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            logging.WARNING,
            f"{type(model).__name__} gives no structured output ({why} when a schema was bound): "
            "its verdicts are asked for in words and read from its text. "
            "Pass structured_method='prompt' to ask so from the start.",
        )
    ]
