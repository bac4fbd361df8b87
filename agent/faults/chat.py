"""A chat model that fails, waits or says something else, for a share of its calls.

Works on any LangChain chat model: `faulty_chat(model, ChatFault(...))`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from agent.faults.chance import Chance
from agent.faults.copies import copy_with

ChatT = TypeVar("ChatT", bound=BaseChatModel)
Messages = Sequence[BaseMessage]


def _any(messages: Messages) -> bool:  # noqa: ARG001 - the form of a condition
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFault:
    """What happens to struck calls: a wait, then an error, another reply, or the real call."""

    when: Callable[[Messages], bool] = _any
    """Which calls it is about, by their messages; all by default."""
    chance: Chance = field(default_factory=Chance)
    """Which of those are struck, by the text of their last message."""
    delay_seconds: float = 0.0
    error: Callable[[], Exception] | None = None
    """Makes the exception that the call raises."""
    reply: Callable[[Messages], str | AIMessage] | None = None
    """Says what comes back instead; a model bound to tools may need a message with tool calls."""

    def strikes(self, messages: Messages) -> bool:
        """Return whether this call goes wrong."""
        return self.when(messages) and self.chance.strikes(messages[-1].text if messages else "")

    def struck(self, messages: Messages) -> ChatResult | None:
        """Wait, fail or reply in place of a struck call; None when the real model shall reply.

        Raises:
            Exception: What `error` makes.
        """
        if not self.strikes(messages):
            return None
        time.sleep(self.delay_seconds)
        return self._instead(messages)

    async def astruck(self, messages: Messages) -> ChatResult | None:
        """Do what `struck` does without blocking the event loop."""
        if not self.strikes(messages):
            return None
        await asyncio.sleep(self.delay_seconds)
        return self._instead(messages)

    def _instead(self, messages: Messages) -> ChatResult | None:
        if self.error is not None:
            raise self.error()
        if self.reply is None:
            return None
        said = self.reply(messages)
        message = said if isinstance(said, AIMessage) else AIMessage(said)
        return ChatResult(generations=[ChatGeneration(message=message)])


def faulty_chat(model: ChatT, fault: ChatFault) -> ChatT:
    """Return a copy of a chat model that the fault strikes; the given one stays sound."""
    return copy_with(model, {**_whole(model, fault), **_streamed(model, fault)})


def _whole(model: BaseChatModel, fault: ChatFault) -> dict[str, Callable[..., Any]]:
    """Return the methods that reply in one piece.

    The real call is one of the sound model, since many models make an async call by a sync one,
    which would be struck again.
    """

    def _generate(_: Any, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return fault.struck(messages) or model._generate(messages, *args, **kwargs)

    async def _agenerate(
        _: Any, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        result = await fault.astruck(messages)
        return result or await model._agenerate(messages, *args, **kwargs)

    return {"_generate": _generate, "_agenerate": _agenerate}


def _streamed(model: BaseChatModel, fault: ChatFault) -> dict[str, Callable[..., Any]]:
    """Return the methods that stream, those that the model has: LangChain asks whether it has."""

    def _stream(
        _: Any, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        result = fault.struck(messages)
        if result is None:
            yield from model._stream(messages, *args, **kwargs)
        else:
            yield _as_chunk(result)

    async def _astream(
        _: Any, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        result = await fault.astruck(messages)
        if result is None:
            async for chunk in model._astream(messages, *args, **kwargs):
                yield chunk
        else:
            yield _as_chunk(result)

    methods: dict[str, Callable[..., Any]] = {"_stream": _stream, "_astream": _astream}
    return {
        name: method
        for name, method in methods.items()
        if getattr(type(model), name) is not getattr(BaseChatModel, name)
    }


def _as_chunk(result: ChatResult) -> ChatGenerationChunk:
    message = result.generations[0].message
    return ChatGenerationChunk(
        message=AIMessageChunk(
            content=message.content,
            tool_calls=getattr(message, "tool_calls", []),
        )
    )
