"""`POST /ask` and `POST /ask/stream`: a question, its answer, and what is told meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Request
from starlette.responses import Response

from agent.events import Event, NodeStarted, Token, Withdrawn
from agent.http.desk import Answered, Desk
from agent.http.once import HEADER, MAX_KEY_CHARS, REPLAYED, REPLY_SECONDS, Once
from agent.http.replies import JsonReply, encoded
from agent.http.schemas import ASKED, STREAM, AskReply, Question, event_stream, refusals
from agent.http.sse import EventStream, sse
from agent.memory.thread import Thread

Key = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="A key of the client's for this question, best a random UUID. Sent again "
        f"within {REPLY_SECONDS / 3600:g} h with the same key and body, it is not asked again: "
        f"the reply is that of the first time, with the header `{REPLAYED}: true`.",
        json_schema_extra={"maxLength": MAX_KEY_CHARS, "minLength": 1, "pattern": "^[!#-~]+$"},
        examples=["8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ),
]
EVENTS: Final = ("node", "token", "withdrawn", "final", "error")
"""Names of the events of a stream."""


def asking_routes(desk: Desk, once: Once) -> APIRouter:
    """Return the two paths.

    Args:
        desk: Takes the questions.
        once: Knows the replies to questions that were sent with a key.
    """
    router = APIRouter(tags=["questions"])
    admitted = Depends(desk.admitted)

    @router.post("/ask", response_model=AskReply, responses=refusals(*ASKED, 409))
    async def ask(
        asked: Question, request: Request, key: Key = None, caller: str = admitted
    ) -> Response:
        """Answer a question. A turn that failed is an answer too: its `outcome` says so."""

        async def answer() -> dict[str, Any]:
            thread = _thread(asked, caller)
            answered = await desk.ask(request, asked.question, caller=caller, thread=thread)
            return _reply(answered, thread)

        if key is None:
            return JsonReply(await answer())

        async def work() -> str:
            return encoded(await answer()).decode()

        given = ", ".join(request.headers.getlist(HEADER))  # RFC 9110, 5.3
        reply, is_repeated = await once.reply(caller, given, json.dumps(asked.model_dump()), work)
        headers = {REPLAYED: "true"} if is_repeated else None
        return Response(reply, headers=headers, media_type="application/json")

    streamed: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "Server-sent events: `node` when a node begins, `token` for a further "
            "piece of the reply, `withdrawn` when the pieces so far are void, `final` with the "
            "answer of `/ask` or `error` with a refusal as the last one.",
            "content": event_stream(STREAM, EVENTS),
        }
    }

    @router.post("/ask/stream", response_class=Response, responses=streamed | refusals(*ASKED))
    async def ask_stream(asked: Question, caller: str = admitted) -> Any:
        """Answer a question and tell of it meanwhile; closing the connection cancels the turn."""
        thread = _thread(asked, caller)
        events = desk.stream(asked.question, caller=caller, thread=thread)
        stream = EventStream(
            events, lambda event: _shown(event, thread), _failed, seconds=desk.stream_seconds
        )
        return await stream.opened()

    return router


def _thread(asked: Question, caller: str) -> Thread:
    """Return the conversation of a question; one without an id begins a new one."""
    if asked.thread_id is None:
        return Thread.new(caller)
    return Thread(id=asked.thread_id, caller=caller)


def _reply(answered: Answered, thread: Thread) -> dict[str, Any]:
    answer = answered.answer.as_json()
    return {**answer, "turn_id": answered.turn_id, "thread_id": thread.id}


def _shown(event: Event | Answered, thread: Thread) -> Iterator[bytes]:
    match event:
        case NodeStarted():
            yield sse({"node": event.node, "attempt": event.attempt}, "node")
        case Token():
            yield sse({"text": event.text}, "token")
        case Withdrawn():
            yield sse({}, "withdrawn")
        case Answered():
            yield sse(_reply(event, thread), "final")


def _failed(code: str, message: str) -> bytes:
    return sse({"code": code, "message": message}, "error")
