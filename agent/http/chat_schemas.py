"""OpenAI's form of a chat, as far as this service reads and writes it; data only."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from agent.state import Outcome

MODEL: Final = "loopscope"
"""The one model of the service, as chat front ends see it."""


class Part(BaseModel):
    """A piece of a message; pictures and sound have no meaning here, and fields of theirs neither.

    Front ends send them again with every later question, so in the history they are passed over.
    """

    type: str = Field(description="`text`, or another kind, which only the history may hold.")
    text: str | None = None

    @property
    def is_text(self) -> bool:
        """Whether it is text."""
        return self.type == "text"


class ChatMessage(BaseModel):
    """One message; fields that are not read are passed over."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """The message in one piece."""
        if isinstance(self.content, list):
            return "\n".join(part.text or "" for part in self.content if part.is_text)
        return self.content or ""

    @property
    def other_kind(self) -> str | None:
        """The first kind of its parts that is not text; None when all are."""
        parts = self.content if isinstance(self.content, list) else ()
        return next((part.type for part in parts if not part.is_text), None)


class ChatRequest(BaseModel):
    """A chat; fields that are not read, such as `temperature`, are passed over."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model": MODEL,
                    "messages": [{"role": "user", "content": "Which payment methods do you take?"}],
                }
            ]
        }
    )

    model: str = Field(default=MODEL, description=f"`{MODEL}`.")
    messages: list[ChatMessage] = Field(
        min_length=1,
        description="The last one, of the user, is the question; earlier ones are its history.",
    )
    stream: StrictBool | None = None
    stream_options: dict[str, Any] | None = None

    @property
    def wants_usage(self) -> bool:
        """Whether a stream tells the tokens at its end."""
        return bool((self.stream_options or {}).get("include_usage"))


class Usage(BaseModel):
    """Tokens of all model calls of the turn, as the models told them."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Reply(BaseModel):
    """The message of the assistant."""

    role: Literal["assistant"]
    content: str
    refusal: None


class Choice(BaseModel):
    """The one choice."""

    index: int
    message: Reply
    finish_reason: Literal["stop"]
    logprobs: None


class Told(BaseModel):
    """What OpenAI's form has no field for."""

    outcome: Outcome
    reason: str | None
    citations: list[str]
    trace_id: str | None
    turn_id: str


class Completion(BaseModel):
    """An answer in OpenAI's form; with `stream`, it comes in `chat.completion.chunk` events."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: Usage | None
    loopscope: Told


class Model(BaseModel):
    """A model."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class Models(BaseModel):
    """All models."""

    object: Literal["list"]
    data: list[Model]
