"""The HTTP service: questions in, answers out, and what a probe and a scraper ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Protocol

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from langchain_core.messages import AnyMessage
from pydantic import BaseModel, ConfigDict, Field

from agent.answer import Answer
from agent.conversations import Conversations
from agent.errors import AgentError

MAX_THREAD_ID_CHARS = 128


class Answering(Protocol):
    """What answers: an agent, or one with a fault that can be switched on."""

    async def aanswer(
        self, question: str, *, history: Sequence[AnyMessage] = (), thread_id: str | None = None
    ) -> Answer:
        """Answer one question without blocking the event loop."""


Exposition = Callable[[str | None], tuple[bytes, str]]
"""Accept header -> metrics and their content type."""


class Question(BaseModel):
    """The body of `POST /ask`."""

    model_config = ConfigDict(extra="forbid")

    question: str
    thread_id: Annotated[str, Field(min_length=1, max_length=MAX_THREAD_ID_CHARS)] | None = None
    """The conversation that it belongs to; None for a question on its own."""


def create_app(agent: Answering, exposition: Exposition) -> FastAPI:
    """Return the service.

    Args:
        agent: Answers every question.
        exposition: Renders the metrics of the process.
    """
    app = FastAPI(title="Loopscope", redirect_slashes=False)
    conversations = Conversations()

    @app.post("/ask")
    async def ask(asked: Question) -> dict[str, Any]:
        """Answer a question. A turn that failed is an answer too: its `outcome` says so."""
        answer = await agent.aanswer(
            asked.question,
            history=conversations.history(asked.thread_id),
            thread_id=asked.thread_id,
        )
        conversations.add(asked.thread_id, answer)
        return answer.as_json()

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Say that the process answers; restart it when this fails."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        """Say that questions can be asked; the agent is put together before the port opens."""
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
    """Say what was wrong: with the question (422), or with how the service is set up (500)."""
    assert isinstance(error, AgentError)
    is_callers = error.exit_code == 2
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_callers else HTTPStatus.INTERNAL_SERVER_ERROR
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
