"""Tokens of a call: numbers that a model reports, and what else it may report in their place."""

from __future__ import annotations

import math
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from loop_graphs import line_graph

from telemetry.testing import Kit
from telemetry.usage import usage_of


class Reporting(BaseChatModel):
    """A chat model that reports its usage as it likes; LangChain checks it only in `AIMessage`."""

    usage: Any = None

    @property
    def _llm_type(self) -> str:
        return "reporting"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=reply(self.usage))])


def reply(usage: Any) -> AIMessage:
    message = AIMessage("hello")
    message.__dict__["usage_metadata"] = usage
    return message


STRANGE = [
    pytest.param("7", None, id="a text"),
    pytest.param(None, None, id="nothing"),
    pytest.param([7], None, id="a list"),
    pytest.param(math.nan, None, id="not a number"),
    pytest.param(math.inf, None, id="endless"),
    pytest.param(-7, None, id="below nothing"),
    pytest.param(10**400, None, id="beyond a float"),
    pytest.param(True, None, id="a flag"),
    pytest.param(7.0, 7, id="a whole number as a float"),
    pytest.param(0, 0, id="none at all"),
]


@pytest.mark.parametrize(("reported", "expected"), STRANGE)
def test_only_a_number_of_tokens_is_one(reported: Any, expected: int | None) -> None:
    usage = usage_of(LLMResult(generations=[]), reply({"input_tokens": reported}))
    older = usage_of(
        LLMResult(generations=[], llm_output={"usage": {"prompt_tokens": reported}}), None
    )

    assert (usage and usage.input_tokens) == (older and older.input_tokens) == expected


@pytest.mark.parametrize(("reported", "expected"), STRANGE)
def test_a_turn_is_counted_and_scraped_whatever_its_model_reports(
    reported: Any, expected: int | None
) -> None:
    kit = Kit()
    model = Reporting(usage={"input_tokens": reported, "output_tokens": 3})

    def ask(_: dict[str, Any]) -> dict[str, Any]:
        model.invoke("hi")
        return {}

    kit.watch(line_graph(ask), {"ask": "answer"}).invoke({})

    assert kit.outcomes() == {"answered": 1}
    assert kit.value("gen_ai_client_token_usage_sum") == (expected or 0) + 3
    assert kit.value("rag_telemetry_errors_total") == 0
    assert (kit.turn.input_tokens, kit.turn.output_tokens) == (expected or 0, 3)
