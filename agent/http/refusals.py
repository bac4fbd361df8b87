"""Every refusal in one form, `{code, message}`: what was wrong, got, expected, and what to do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from agent.errors import AgentError
from agent.http.errors import RequestError
from agent.http.leaving import CallerGoneError
from agent.http.replies import JsonReply
from agent.memory.errors import ConversationBusyError, MemoryUnavailableError

OPENAI_PATHS: Final = "/v1/"
"""Where clients read a refusal in the form of OpenAI; it is added to ours there."""
RETRY_SECONDS: Final = 1
CALLER_GONE: Final = 499
"""As nginx calls it; nobody reads it, and the standard has no number for that."""
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MAX_NAME_CHARS: Final = 60
MAX_PROBLEMS: Final = 5
"""Of one body in one message."""

_log = logging.getLogger(__name__)


def refusal(error: AgentError, path: str) -> JsonReply:
    """Return the reply that an error of ours is."""
    status = status_of(error)
    headers: Mapping[str, str] = error.headers if isinstance(error, RequestError) else {}
    if status == HTTPStatus.SERVICE_UNAVAILABLE and not headers:
        headers = {"Retry-After": str(RETRY_SECONDS)}
    return told(path, status, error.code, str(error), headers)


def status_of(error: AgentError) -> int:
    """Return the HTTP status of an error: the caller's (4xx), for now (503), or ours (500)."""
    if isinstance(error, RequestError):
        return error.status
    if isinstance(error, ConversationBusyError | MemoryUnavailableError):
        return HTTPStatus.SERVICE_UNAVAILABLE
    if error.exit_code == 2:
        return HTTPStatus.UNPROCESSABLE_ENTITY
    return HTTPStatus.INTERNAL_SERVER_ERROR


def told(
    path: str, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> JsonReply:
    """Return a refusal as JSON, with OpenAI's form added on its paths."""
    body: dict[str, Any] = {"code": code, "message": message}
    if path.startswith(OPENAI_PATHS):
        kind = "invalid_request_error" if status < 500 else "server_error"
        body["error"] = {"message": message, "type": kind, "param": None, "code": code}
    return JsonReply(body, status, headers)


def install(app: FastAPI) -> None:
    """Let an application refuse in this form alone."""
    app.add_exception_handler(AgentError, _ours)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _by_framework)
    app.add_exception_handler(CallerGoneError, _gone)
    app.add_exception_handler(Exception, _unforeseen)


async def _ours(request: Request, error: Exception) -> JsonReply:
    assert isinstance(error, AgentError)
    return refusal(error, request.url.path)


async def _malformed(request: Request, error: Exception) -> JsonReply:
    """Say which field was wrong; never its value, which may be anything."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    problems = [
        f"{'.'.join(str(part)[:MAX_NAME_CHARS] for part in problem['loc'])}: {problem['msg']}"
        for problem in found[:MAX_PROBLEMS]
    ]
    if len(found) > MAX_PROBLEMS:
        problems.append(f"and {len(found) - MAX_PROBLEMS} more")
    message = (
        f"the request cannot be read: got {'; '.join(problems)}; expected what /openapi.json "
        "says of this path. Correct it and send it again."
    )
    return told(request.url.path, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_request", message)


async def _by_framework(request: Request, error: Exception) -> JsonReply:
    """Say in our form what Starlette and FastAPI refuse by themselves."""
    assert isinstance(error, HTTPException)
    got = f"{request.method[:20]} {request.url.path[:MAX_NAME_CHARS]}"
    if error.status_code == HTTPStatus.NOT_FOUND:
        code = "not_found"
        message = (
            f"no such path: got {got}, expected one of /openapi.json. Correct it and try again."
        )
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        code, allowed = "method_not_allowed", _allowed(request)
        error.headers = {**(error.headers or {}), "Allow": allowed}
        message = f"no such method: got {got}, expected {allowed}. Use that and try again."
    else:
        code = "invalid_request"
        message = (
            f"the request cannot be read: got {error.detail}; expected what /openapi.json says "
            "of this path. Correct it and send it again."
        )
    return told(request.url.path, error.status_code, code, message, error.headers)


def _allowed(request: Request) -> str:
    """Return the methods that a path takes: Starlette names those of its first route alone."""
    routes: list[BaseRoute] = request.app.router.routes
    asked = [(method, {**request.scope, "method": method}) for method in _METHODS]
    taken = [
        method
        for method, scope in asked
        if any(route.matches(scope)[0] is Match.FULL for route in routes)
    ]
    return ", ".join(taken)


async def _gone(request: Request, error: Exception) -> Response:  # noqa: ARG001 - a handler's form
    """End a request that nobody waits for any more; it is no failure of ours."""
    return Response(status_code=CALLER_GONE)


async def _unforeseen(request: Request, error: Exception) -> JsonReply:
    """Say that it is our fault; the exception's text may quote the question, so it stays here."""
    _log.error("request failed: %s", type(error).__name__)
    message = (
        "the service failed: got an error of its own, expected a reply. Try again; if it stays, "
        "tell its operator when it was."
    )
    return told(request.url.path, HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", message)
