"""`POST /feedback`: what a person says of an answer."""

from __future__ import annotations

from typing import Protocol

from fastapi import APIRouter, Depends
from starlette.responses import Response

from agent.http.desk import Desk
from agent.http.errors import FeedbackError
from agent.http.replies import JsonReply
from agent.http.schemas import BODY, GivenFeedback, TakenFeedback, refusals
from agent.http.turns import Verdict


class TakesFeedback(Protocol):
    """What counts verdicts and attaches them to traces: `telemetry.feedback.Feedback`."""

    def give(
        self,
        verdict: Verdict,
        *,
        trace_id: str | None,
        span_id: str | None,
        comment: str | None = None,
    ) -> None:
        """Take a verdict on a turn."""


def feedback_routes(desk: Desk, feedback: TakesFeedback | None) -> APIRouter:
    """Return the path.

    Args:
        desk: Knows the turns.
        feedback: Takes the verdicts; None for a service that is not watched.
    """
    router = APIRouter(tags=["feedback"])
    admitted = Depends(desk.admitted)

    @router.post("/feedback", response_model=TakenFeedback, responses=refusals(*BODY, 404, 503))
    async def give(given: GivenFeedback, caller: str = admitted) -> Response:
        """Take a verdict on one of the caller's answers; the same one again changes nothing."""
        turn = await desk.turns.find(caller, _id(given))
        if feedback is not None and await desk.turns.is_news(caller, turn, given.verdict):
            feedback.give(
                given.verdict,
                trace_id=turn.trace_id,
                span_id=turn.span_id,
                comment=given.comment,
            )
        taken = {"turn_id": turn.id, "trace_id": turn.trace_id, "verdict": given.verdict}
        return JsonReply(taken)

    return router


def _id(given: GivenFeedback) -> str:
    ids = [id_ for id_ in (given.turn_id, given.trace_id) if id_ is not None]
    if len(ids) != 1:
        raise FeedbackError(len(ids))
    return ids[0]
