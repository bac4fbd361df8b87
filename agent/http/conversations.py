"""`/conversations`: what was said, for the caller who said it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from agent.http.desk import Desk
from agent.http.errors import NotFoundError
from agent.http.replies import JsonReply
from agent.http.schemas import ANSWER, Conversation, Conversations, ThreadId, refusals
from agent.memory.thread import Thread

Id = Annotated[ThreadId, Path(examples=[ANSWER["thread_id"]])]


def conversation_routes(desk: Desk) -> APIRouter:
    """Return the three paths."""
    router = APIRouter(tags=["conversations"])
    admitted = Depends(desk.admitted)

    @router.get("/conversations", response_model=Conversations, responses=refusals(401, 503))
    async def listed(caller: str = admitted) -> Response:
        """List the ids of the caller's newest conversations."""
        threads = await desk.asking.threads(caller)
        return JsonReply({"conversations": [thread.id for thread in threads]})

    @router.get(
        "/conversations/{thread_id}",
        response_model=Conversation,
        responses=refusals(401, 404, 422, 503),
    )
    async def said(thread_id: Id, caller: str = admitted) -> Response:
        """Show what was said in a conversation: its newest messages, oldest first."""
        messages = await desk.asking.messages(Thread(id=thread_id, caller=caller))
        if not messages:
            raise NotFoundError("conversation", "the thread_id of one of your conversations")
        return JsonReply({"thread_id": thread_id, "messages": [asdict(m) for m in messages]})

    @router.delete("/conversations/{thread_id}", status_code=204, responses=refusals(401, 422, 503))
    async def forget(thread_id: Id, caller: str = admitted) -> Response:
        """Remove a conversation; it is gone also when it was never there."""
        await desk.asking.forget(Thread(id=thread_id, caller=caller))
        return Response(status_code=204)

    return router
