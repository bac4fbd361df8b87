from __future__ import annotations

import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tracers.base import BaseTracer

from agent.errors import ModelRequestError
from agent.models.in_process import PROVIDER, InProcessChat


class Echo(InProcessChat):
    model_name: str = "echo"

    def reply(self, task: str, data: dict[str, Any]) -> dict[str, Any] | str:
        if task == "answer":
            return f"three words {data['question']}"
        return {"thread": threading.get_ident(), "task": task, **data}


class Seen(BaseTracer):
    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Any] = []

    def _persist_run(self, run: Any) -> None:
        self.runs.append(run)


def test_a_verdict_is_the_reply_as_json() -> None:
    said = Echo().invoke([HumanMessage('{"task": "guard", "question": "what is {x}? é"}')])

    assert isinstance(said, AIMessage)
    assert '"task": "guard", "question": "what is {x}? é"' in said.text
    assert said.response_metadata == {
        "model_name": "echo",
        "model_provider": "loopscope",
        "finish_reason": "stop",
    }


def test_an_answer_is_the_reply_as_text_and_tokens_are_counted_words() -> None:
    asked = [SystemMessage("You answer."), HumanMessage('{"task": "answer", "question": "a b"}')]

    said = Echo().invoke(asked)

    assert said.text == "three words a b"
    assert said.usage_metadata == {"input_tokens": 7, "output_tokens": 4, "total_tokens": 11}


async def test_an_async_call_stays_in_its_thread() -> None:
    said = await Echo().ainvoke([HumanMessage('{"task": "guard"}')])

    assert f'"thread": {threading.get_ident()}' in said.text


def test_the_last_human_message_is_the_request() -> None:
    asked = [HumanMessage("hello"), AIMessage("hi"), HumanMessage('{"task": "grade"}')]

    assert '"task": "grade"' in Echo().invoke(asked).text


def test_tracing_sees_the_provider_and_the_model() -> None:
    seen = Seen()

    Echo().invoke([HumanMessage('{"task": "guard"}')], {"callbacks": [seen]})

    metadata = seen.runs[0].extra["metadata"]
    assert metadata["ls_provider"] == PROVIDER == "loopscope"
    assert metadata["ls_model_name"] == "echo"


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        pytest.param([SystemMessage("x")], "got no human message", id="no-question"),
        pytest.param([HumanMessage("hello")], "got text that is not JSON", id="free-chat"),
        pytest.param([HumanMessage("[1]")], 'got JSON without a "task"', id="not-an-object"),
        pytest.param([HumanMessage('{"a": 1}')], 'got JSON without a "task"', id="no-task"),
    ],
)
def test_what_is_no_task_is_refused(messages: list[BaseMessage], problem: str) -> None:
    with pytest.raises(ModelRequestError) as refused:
        Echo().invoke(messages)

    assert str(refused.value) == (
        f"model 'echo' cannot read its request: {problem}; expected a last human message that is "
        'a JSON object with a "task". Call it through agent.models.support, or use a '
        "'PROVIDER:MODEL' for free chat."
    )
