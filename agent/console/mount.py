"""The console in front of the API: its own paths are its pages, every other one is the API's."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from nicegui import ui
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.console import login
from agent.console.frame import PAGES
from agent.console.pages import (
    ask,
    changes,
    diagnosis,
    gaps,
    lab,
    order,
    review,
    turn,
    walk,
)
from agent.console.sessions import COOKIE, HOURS, Sessions
from agent.console.sources import Sources
from agent.http.errors import UnauthorizedError

UNWATCHED: Final[Any] = {
    "tracing": False, "metrics": False, "logs": False, "operation_spans": False,
}  # fmt: skip
"""As of the API: a page makes no spans."""
SESSION: Final = "/console/session"
LOGIN: Final = "/login"
MAX_KEY_BYTES: Final = 2_000
_OWN: Final = re.compile(
    rf"/(_nicegui.*|turns/[^/]+|favicon\.ico|{LOGIN[1:]}|console/.*|"
    + "|".join(path[1:] for path, _ in PAGES)
    + r")?"
)
BUILDERS: Final[Mapping[str, Callable[[Sources, str], None]]] = {
    "/": ask.build,
    "/lab": lab.build,
    "/walk": walk.build,
    "/order": order.build,
    "/diagnosis": diagnosis.build,
    "/review": review.build,
    "/gaps": gaps.build,
    "/changes": changes.build,
}
"""Path of a page -> what draws it."""


class Console:
    """The pages before an API. One a process: the pages' library keeps one set of routes.

    Args:
        api: Serves every path that is none of the console's.
        sources: What the pages show.
    """

    def __init__(self, api: ASGIApp, sources: Sources) -> None:
        self._api = api
        self._sources = sources
        self._sessions = Sessions(sources.callers)
        self._pages = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, telemetry=UNWATCHED)
        self._pages.add_api_route(SESSION, self._open_session, methods=["POST"])
        for path, build in BUILDERS.items():
            self._add(path, build)
        self._add_turn()
        ui.page(LOGIN, dark=None)(login.build)
        ui.run_with(self._pages, title="Loopscope", dark=None, tailwind=False,
                    show_welcome_message=False, reconnect_timeout=10.0)  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        is_ours = scope["type"] in ("http", "websocket") and _OWN.fullmatch(scope["path"])
        is_read = scope.get("method", "GET") in ("GET", "HEAD") or scope["path"] == SESSION
        polls = scope.get("path", "").startswith("/_nicegui")
        app = self._pages if is_ours and (is_read or polls) else self._api
        await app(scope, receive, send)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Run what the pages need, in the event loop that serves them."""
        async with self._pages.router.lifespan_context(self._pages):
            yield

    def _add(self, path: str, build: Callable[[Sources, str], None]) -> None:
        def page(request: Request) -> Response | None:
            caller = self._sessions.caller(request.headers.get("cookie", ""))
            if caller is None:
                return RedirectResponse(f"{LOGIN}?next={path}")
            build(self._sources, caller)
            return None

        ui.page(path, dark=None)(page)

    def _add_turn(self) -> None:
        def page(request: Request, record_id: str) -> Response | None:
            caller = self._sessions.caller(request.headers.get("cookie", ""))
            if caller is None:
                return RedirectResponse(f"{LOGIN}?next=/turns/{record_id}")
            turn.build(self._sources, caller, record_id)
            return None

        ui.page("/turns/{record_id}", dark=None)(page)

    async def _open_session(self, request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_KEY_BYTES:
                break
        try:
            key = json.loads(body)["key"]
            token = self._sessions.open(str(key))
        except (ValueError, KeyError, TypeError, UnauthorizedError):
            said = {"code": "unauthorized", "message": "This is none of the service's keys."}
            return JSONResponse(said, HTTPStatus.UNAUTHORIZED)
        reply = Response(status_code=HTTPStatus.NO_CONTENT)
        reply.set_cookie(COOKIE, token, max_age=HOURS * 3600, httponly=True, samesite="strict")
        return reply
