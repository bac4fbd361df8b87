"""`/healthz`, `/readyz` and `/metrics`: what orchestrators and scrapers ask for, without a key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

from fastapi import APIRouter, Request
from starlette.responses import Response

from agent.errors import AgentError
from agent.http.replies import JsonReply
from agent.http.schemas import Health, Readiness, Unready

Exposition = Callable[[str | None], tuple[bytes, str]]
"""Accept header -> metrics and their content type."""
Check = Callable[[], Awaitable[None]]
"""Raises an `AgentError` when something that questions need is not there."""


def probe_routes(exposition: Exposition, checks: Mapping[str, Check]) -> APIRouter:
    """Return the paths.

    Args:
        exposition: Renders the metrics of the process.
        checks: What has to be there for a question, by its name.
    """
    router = APIRouter(tags=["operation"])

    @router.get("/healthz", response_model=Health)
    @router.head("/healthz", include_in_schema=False)
    async def healthz() -> Response:
        """Say that the process answers; restart it when this fails."""
        return JsonReply({"status": "ok"})

    @router.get(
        "/readyz",
        response_model=Readiness,
        responses={503: {"model": Unready, "description": "Something is not there."}},
    )
    @router.head("/readyz", include_in_schema=False)
    async def readyz() -> Response:
        """Say whether questions can be asked; send none here while this fails."""
        found: dict[str, str] = {}
        errors: list[AgentError] = []
        for name, check in checks.items():
            try:
                await check()
                found[name] = "ok"
            except AgentError as error:
                errors.append(error)
                found[name] = str(error)
        if not errors:
            return JsonReply({"status": "ready", "checks": found})
        refused = {"code": errors[0].code, "message": str(errors[0]), "checks": found}
        return JsonReply(refused, HTTPStatus.SERVICE_UNAVAILABLE)

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    @router.get("/metrics/", include_in_schema=False)
    async def metrics(request: Request) -> Response:
        """Show the metrics, at both paths without a redirect, which some scrapers do not follow."""
        body, content_type = exposition(request.headers.get("accept"))
        return Response(body, headers={"Content-Type": content_type})

    return router
