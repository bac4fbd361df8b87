from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from fakes import ScriptedChat
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import tool

from agent.faults.chance import Chance
from agent.faults.chat import ChatFault, faulty_chat
from agent.models.in_process import InProcessChat


class Provider(BaseChatModel):
    """Stands for a provider's client: streams, takes tools, and counts real calls."""

    calls: list[str]

    @property
    def _llm_type(self) -> str:
        return "provider"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[t.name for t in tools], **kwargs)

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        assert run_manager is not None
        self.calls.append("whole")
        message = AIMessage(f"real {messages[-1].text} {kwargs.get('tools', '')}".strip())
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(self, messages: Any, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        self.calls.append("stream")
        for part in ("real ", messages[-1].text):
            yield ChatGenerationChunk(message=AIMessageChunk(content=part))

    async def _astream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        for chunk in self._stream(messages):
            yield chunk


@tool
def look_up(word: str) -> str:
    """Look a word up."""
    return word


def said(model: Runnable[Any, Any], text: str, way: str) -> str:
    """Ask in one of the ways LangChain has."""

    async def streamed() -> str:
        return "".join([chunk.text async for chunk in model.astream(text)])

    async def whole() -> str:
        return str((await model.ainvoke(text)).text)

    match way:
        case "invoke":
            return str(model.invoke(text).text)
        case "ainvoke":
            return asyncio.run(whole())
        case "stream":
            return "".join(chunk.text for chunk in model.stream(text))
    return asyncio.run(streamed())


WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])


@WAYS
def test_struck_calls_get_the_other_reply_and_the_rest_the_real_one(way: str) -> None:
    model = Provider(calls=[])
    fault = ChatFault(when=lambda m: "price" in m[-1].text, reply=lambda m: f"no {m[-1].text}")
    faulty = faulty_chat(model, fault)

    assert said(faulty, "price?", way) == "no price?"
    assert model.calls == []
    assert said(faulty, "hours?", way) == "real hours?"


@WAYS
def test_an_error_is_raised_from_every_way_of_calling(way: str) -> None:
    faulty = faulty_chat(Provider(calls=[]), ChatFault(error=lambda: ConnectionError("down")))

    with pytest.raises(ConnectionError, match="down"):
        said(faulty, "q?", way)


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_slow_call_waits_once_and_then_is_the_real_one(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def asleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(time, "sleep", waits.append)
    monkeypatch.setattr("agent.faults.chat.asyncio.sleep", asleep)
    faulty = faulty_chat(Provider(calls=[]), ChatFault(delay_seconds=2.5))

    assert said(faulty, "q?", way) == "real q?"
    assert [seconds for seconds in waits if seconds] == [2.5]


@WAYS
def test_the_given_model_stays_sound(way: str) -> None:
    model = Provider(calls=[])
    faulty_chat(model, ChatFault(error=lambda: ConnectionError("down")))

    assert said(model, "q?", way) == "real q?"


def test_bound_tools_and_settings_stay_on_the_copy() -> None:
    model = Provider(calls=[], tags=["ours"])
    faulty = faulty_chat(model, ChatFault(when=lambda _: False))
    bound = faulty.bind_tools([look_up])

    assert bound.invoke("q?").text == "real q? ['look_up']"
    assert (faulty.tags, type(faulty).__name__, faulty._llm_type) == (
        ["ours"],
        "Provider",
        "provider",
    )


def test_a_struck_call_of_a_model_with_tools_may_reply_with_a_tool_call() -> None:
    call = {"name": "look_up", "args": {"word": "nothing"}, "id": "1"}
    fault = ChatFault(reply=lambda _: AIMessage("", tool_calls=[call]))
    bound = faulty_chat(Provider(calls=[]), fault).bind_tools([look_up])

    assert bound.invoke("q?").tool_calls[0]["args"] == {"word": "nothing"}


def test_a_model_that_cannot_stream_does_not_learn_it() -> None:
    faulty = faulty_chat(ScriptedChat(), ChatFault(reply=lambda _: "no"))

    assert isinstance(faulty, InProcessChat)
    assert type(faulty)._stream is BaseChatModel._stream
    assert said(faulty, "q?", "stream") == "no"


def test_a_share_is_drawn_by_the_last_message() -> None:
    fault = ChatFault(chance=Chance(share=0.5))
    texts = [f"q{number}?" for number in range(200)]
    struck = [fault.strikes([HumanMessage("hello"), HumanMessage(text)]) for text in texts]

    assert struck == [Chance(share=0.5).strikes(text) for text in texts]
    assert fault.strikes([]) == Chance(share=0.5).strikes("")
