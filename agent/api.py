"""The HTTP service: questions in, answers out, and what a probe and a scraper ask for."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Protocol

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict

from agent.answer import Answer
from agent.errors import AgentError
from agent.memory.errors import ConversationBusyError, MemoryUnavailableError
from agent.memory.thread import Thread


class Asked(Protocol):
    """What answers questions: `Conversing`."""

    async def ask(self, question: str, *, thread: Thread | None = None) -> Answer:
        """Answer one question without blocking the event loop."""

    async def ping(self) -> None:
        """Make sure that conversations can be reached."""


Exposition = Callable[[str | None], tuple[bytes, str]]
"""Accept header -> metrics and their content type."""


class Question(BaseModel):
    """The body of `POST /ask`."""

    model_config = ConfigDict(extra="forbid")

    question: str
    thread_id: str | None = None
    """The conversation that it belongs to; None for a question on its own."""


def create_app(asked: Asked, exposition: Exposition) -> FastAPI:
    """Return the service.

    Args:
        asked: Answers every question.
        exposition: Renders the metrics of the process.
    """
    app = FastAPI(title="Loopscope", redirect_slashes=False)

    @app.post("/ask")
    async def ask(body: Question) -> dict[str, Any]:
        """Answer a question. A turn that failed is an answer too: its `outcome` says so."""
        thread = Thread(id=body.thread_id) if body.thread_id is not None else None
        return (await asked.ask(body.question, thread=thread)).as_json()

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Say that the process answers; restart it when this fails."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        """Say that questions can be asked: the agent is put together, the memory answers."""
        await asked.ping()
        return {"status": "ready"}

    @app.get("/metrics")
    @app.get("/metrics/", include_in_schema=False)
    async def metrics(request: Request) -> Response:
        """Show the metrics, at both paths without a redirect, which some scrapers do not follow."""
        body, content_type = exposition(request.headers.get("accept"))
        return Response(body, headers={"Content-Type": content_type})

    app.add_exception_handler(AgentError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    return app


async def _refused(_: Request, error: Exception) -> JSONResponse:
    """Say what was wrong: with the request (422), for now (503), or with the service (500)."""
    assert isinstance(error, AgentError)
    if isinstance(error, ConversationBusyError | MemoryUnavailableError):
        status = HTTPStatus.SERVICE_UNAVAILABLE
    elif error.exit_code == 2:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    else:
        status = HTTPStatus.INTERNAL_SERVER_ERROR
    return JSONResponse({"code": error.code, "message": str(error)}, status_code=status)


async def _malformed(_: Request, error: Exception) -> JSONResponse:
    """Say which field of the body was wrong, in the form of all our errors; never its value."""
    assert isinstance(error, RequestValidationError)
    problems = "; ".join(
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()
    )
    message = (
        f"the request cannot be read: {problems}; expected a JSON object with question and "
        "optionally thread_id. Correct the body and send it again."
    )
    return JSONResponse(
        {"code": "invalid_request", "message": message},
        status_code=HTTPStatus.UNPROCESSABLE_ENTITY,
    )
