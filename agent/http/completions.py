"""`/v1/chat/completions` and `/v1/models`: the same agent for front ends that speak OpenAI's form.

The last message is the question, earlier ones of user and assistant are its history; there is no
thread. What a prompt says (`system`, `developer`) and how to sample is left aside: both belong to
the service.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from starlette.responses import Response

from agent.answer import Answer
from agent.events import Event, Token, Withdrawn
from agent.http.chat_schemas import MODEL, ChatMessage, ChatRequest, Completion, Model, Models
from agent.http.desk import Answered, Desk
from agent.http.errors import MessagesError, NotFoundError
from agent.http.refusals import MAX_NAME_CHARS
from agent.http.replies import JsonReply, plain
from agent.http.schemas import ASKED, event_stream, refusals
from agent.http.sse import EventStream, sse
from agent.state import HISTORY_MESSAGES

STREAM: Final = """data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"We"}}]}

data: [DONE]

"""
DONE: Final = b"data: [DONE]\n\n"
WITHDRAWN: Final = "\n\n(The text above is withdrawn; the answer follows.)\n\n"
"""In this form a piece that was sent cannot be taken back."""
_FINISH: Final = "stop"


def completion_routes(desk: Desk, *, clock: Callable[[], float] = time.time) -> APIRouter:
    """Return the paths.

    Args:
        desk: Takes the questions.
        clock: Unix time, seconds.
    """
    router = APIRouter(prefix="/v1", tags=["chat completions"])
    admitted = Depends(desk.admitted)
    shown = {"id": MODEL, "object": "model", "created": int(clock()), "owned_by": MODEL}

    @router.get("/models", response_model=Models, responses=refusals(401))
    async def models(caller: str = admitted) -> Response:  # noqa: ARG001 - callers alone may ask
        """List the one model that there is."""
        return JsonReply({"object": "list", "data": [shown]})

    @router.get("/models/{model}", response_model=Model, responses=refusals(401, 404))
    async def find_model(model: str, caller: str = admitted) -> Response:  # noqa: ARG001 - as above
        """Show a model."""
        _check_model(model)
        return JsonReply(shown)

    streamed: dict[int | str, dict[str, Any]] = {
        200: {"content": event_stream(STREAM, ("message",))}
    }

    @router.post(
        "/chat/completions", response_model=Completion, responses=streamed | refusals(*ASKED, 404)
    )
    async def complete(asked: ChatRequest, request: Request, caller: str = admitted) -> Any:
        """Answer the last message; with `stream`, tell of it as OpenAI does."""
        _check_model(asked.model)
        question, history = _read(asked.messages)
        if not asked.stream:
            answered = await desk.ask(request, question, caller=caller, history=history)
            return JsonReply(_completion(answered, int(clock())))
        chunks = _Chunks(int(clock()), with_usage=asked.wants_usage)
        events = desk.stream(question, caller=caller, history=history)
        stream = EventStream(
            events, chunks.shown, chunks.failed, seconds=desk.stream_seconds, last=DONE
        )
        return await stream.opened()

    return router


def _check_model(name: str) -> None:
    if name != MODEL:
        raise NotFoundError("model", f"{MODEL!r}, the only one of this service")


def _read(messages: list[ChatMessage]) -> tuple[str, list[AnyMessage]]:
    """Return the question and its history, oldest first."""
    said = [m for m in messages if m.role in ("user", "assistant")]
    if not said or said[-1].role != "user":
        last = f"a last message of {said[-1].role!r}" if said else "no message of a user"
        raise MessagesError(last)
    if (kind := said[-1].other_kind) is not None:
        raise MessagesError(f"a part of the type {kind[:MAX_NAME_CHARS]!r}")
    earlier = [m for m in said[:-1] if m.text.strip()][-HISTORY_MESSAGES:]
    history: list[AnyMessage] = [
        (HumanMessage if m.role == "user" else AIMessage)(plain(m.text)) for m in earlier
    ]
    return said[-1].text, history


def _completion(answered: Answered, created: int) -> dict[str, Any]:
    answer = answered.answer
    message = {"role": "assistant", "content": answer.reply, "refusal": None}
    return {
        **_head(answered.turn_id, created, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": _FINISH, "logprobs": None}],
        "usage": _usage(answer),
        "loopscope": _told(answered),
    }


class _Chunks:
    """The chunks of one streamed completion."""

    def __init__(self, created: int, *, with_usage: bool) -> None:
        self._created = created
        self._with_usage = with_usage
        self._has_begun = False

    def shown(self, event: Event | Answered) -> Iterator[bytes]:
        """Show an event as OpenAI's clients read it; nodes are not told there."""
        match event:
            case Token():
                yield self._delta(event.text)
            case Withdrawn():
                yield self._delta(WITHDRAWN)
            case Answered():
                last = {"index": 0, "delta": {}, "finish_reason": _FINISH, "logprobs": None}
                told = {"choices": [last], "loopscope": _told(event)}
                yield sse({**self._head(), **told})
                if self._with_usage:
                    yield sse({**self._head(), "choices": [], "usage": _usage(event.answer)})

    def failed(self, code: str, message: str) -> bytes:
        """Show an error in the form that clients look for in a stream."""
        error = {"message": message, "type": "server_error", "param": None, "code": code}
        return sse({"code": code, "message": message, "error": error})

    def _delta(self, text: str) -> bytes:
        delta: dict[str, str] = {"content": text}
        if not self._has_begun:
            self._has_begun, delta = True, {"role": "assistant", **delta}
        choice = {"index": 0, "delta": delta, "finish_reason": None, "logprobs": None}
        return sse({**self._head(), "choices": [choice]})

    def _head(self) -> dict[str, Any]:
        return _head(f"{self._created:x}{id(self):x}", self._created, "chat.completion.chunk")


def _head(id_: str, created: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{id_}", "object": kind, "created": created, "model": MODEL}


def _told(answered: Answered) -> dict[str, Any]:
    """Return what OpenAI's form has no field for."""
    answer = answered.answer
    return {
        "outcome": answer.outcome,
        "reason": answer.reason,
        "citations": list(answer.citations),
        "trace_id": answer.trace_id,
        "turn_id": answered.turn_id,
    }


def _usage(answer: Answer) -> dict[str, int] | None:
    """Return the tokens of all model calls of the turn; None when no model told."""
    seen = answer.seen
    if seen is None or (seen.input_tokens is None and seen.output_tokens is None):
        return None
    sent, received = seen.input_tokens or 0, seen.output_tokens or 0
    return {
        "prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received,
    }  # fmt: skip
