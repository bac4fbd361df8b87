"""The HTTP service: its paths in `agent/http/`, put together behind its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import FastAPI
from starlette.types import ASGIApp

from agent.http.asking import asking_routes
from agent.http.body import WholeBody
from agent.http.buckets import Buckets
from agent.http.callers import EVERYONE, Callers
from agent.http.completions import completion_routes
from agent.http.conversations import conversation_routes
from agent.http.crowd import Crowd
from agent.http.desk import Asking, Desk
from agent.http.feedback import TakesFeedback, feedback_routes
from agent.http.limits import DEFAULTS, Limits
from agent.http.once import KIND as REPLY
from agent.http.once import REPLY_SECONDS, Once
from agent.http.probes import Check, Exposition, probe_routes
from agent.http.probing import Apart, ProbesApart
from agent.http.rate import Rate
from agent.http.refusals import install
from agent.http.turns import KEPT_SECONDS, KINDS, AnsweredTurns
from agent.memory.local import LocalStore
from agent.memory.memory import Memory
from agent.memory.notes import Notes

UNWATCHED: Final[Any] = {
    "tracing": False, "metrics": False, "logs": False, "operation_spans": False,
}  # fmt: skip
"""FastAPI's own telemetry, off: its logs would send refused bodies and exceptions' texts to our
log of events, and its spans are none of the four that a turn's trace holds."""
OpenNotes = Callable[[str, float], Notes]
ABOUT: Final = (
    "A support agent that answers from a company's documents, says why, and stays bounded."
)


def create_app(
    asking: Asking,
    exposition: Exposition,
    *,
    limits: Limits = DEFAULTS,
    callers: Callers = EVERYONE,
    feedback: TakesFeedback | None = None,
    notes: OpenNotes | None = None,
    buckets: Buckets | None = None,
    checks: Mapping[str, Check] | None = None,
    apart: Apart | None = None,
    around: Callable[[ASGIApp], ASGIApp] | None = None,
) -> FastAPI:
    """Return the service; its desk is `app.state.desk`, for what asks beside the API.

    Args:
        asking: Answers every question and keeps the conversations.
        exposition: Renders the metrics of the process.
        limits: How much is taken on.
        callers: Who may ask; everyone, as one anonymous caller, by default.
        feedback: Takes what people say of answers; None for a service that is not watched.
        notes: Gives the notes of a kind that are kept for some seconds, beside the conversations;
            by default they are kept in this process.
        buckets: Keep how often each caller asked; by default in this process.
        checks: What `/readyz` asks beside the memory, by its name.
        apart: Keeps the turns of probes apart; None for a service that takes no probes.
        around: Wraps the whole service, to see each request first.
    """
    app = FastAPI(
        title="Loopscope",
        description=ABOUT,
        redirect_slashes=False,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        telemetry=UNWATCHED,
    )
    notes = notes or Memory(LocalStore()).notes
    desk = Desk(
        asking=asking,
        callers=callers,
        rate=Rate(limits.rate_per_minute, buckets),
        crowd=Crowd(limits.max_turns, limits.max_waiting, limits.queue_seconds),
        turns=AnsweredTurns(*(notes(kind, KEPT_SECONDS) for kind in KINDS)),
        turn_seconds=limits.turn_timeout_seconds,
    )
    app.state.desk = desk
    for routes in (
        asking_routes(desk, Once(notes(REPLY, REPLY_SECONDS), limits.turn_timeout_seconds)),
        conversation_routes(desk),
        feedback_routes(desk, feedback),
        completion_routes(desk),
        probe_routes(exposition, {"memory": asking.ping, **(checks or {})}),
    ):
        app.include_router(routes)
    install(app)
    app.add_middleware(WholeBody, limits=limits)
    app.add_middleware(ProbesApart, callers=callers, apart=apart)
    if around is not None:
        app.add_middleware(around)
    return app
