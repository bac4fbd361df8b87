"""What LangChain's messages hold, as (role, text) pairs and plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

_ROLES: Final = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
"""LangChain's type of a message -> the convention's role."""


def asked(messages: Sequence[Sequence[BaseMessage]]) -> list[tuple[str, str]]:
    """Return what a model was given."""
    return [(_ROLES.get(m.type, m.type), text_of(m)) for batch in messages for m in batch]


def said(response: LLMResult) -> list[tuple[str, str]]:
    """Return what a model replied."""
    return [
        ("assistant", text_of(message) if message is not None else generation.text)
        for batch in response.generations
        for generation in batch
        for message in [getattr(generation, "message", None)]
    ]


def text_of(message: BaseMessage) -> str:
    """Return the text of a message; parts that are no text are left out."""
    return message.content if isinstance(message.content, str) else str(message.text)


def first_message(response: LLMResult) -> Any:
    """Return the first message of a reply, None when it holds none."""
    try:
        return response.generations[0][0].message  # type: ignore[union-attr]
    except (IndexError, AttributeError):  # nothing, or the reply of a model that completes text
        return None


def finish_reasons(response: LLMResult) -> tuple[str, ...]:
    """Return why the model stopped, one a generation that says it."""
    reasons: list[str] = []
    for generation in response.generations[0]:
        reason = None
        if info := generation.generation_info:
            reason = info.get("finish_reason")
        message = getattr(generation, "message", None)
        if message is not None and (metadata := message.response_metadata):
            reason = metadata.get("finish_reason") or metadata.get("stop_reason") or reason
        if reason is not None:
            reasons.append(str(reason))
    return tuple(reasons)
