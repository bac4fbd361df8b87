"""What Prometheus says: which alerts fire, which fired when, and whether its rules work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from types import TracebackType
from typing import Any, Final, Self

import httpx

from agent.errors import DemoError

READY_SECONDS: Final = 60.0
_FIRING: Final = 'ALERTS{alertstate="firing"}'


class Prometheus:
    """A running Prometheus, from `async with` to the end of its block.

    Args:
        url: Its base address.
        transport: Another way to reach it than a connection.
    """

    def __init__(self, url: str, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._client = httpx.AsyncClient(
            base_url=url, timeout=20.0, transport=transport, trust_env=False
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def scrapes(self, jobs: Collection[str]) -> None:
        """Wait until every job was scraped and nothing is told to be missing any more.

        Raises:
            DemoError: That takes more than a minute.
        """
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            found = await self._get("query", {"query": "up == 1"})
            scraped = {series["metric"]["job"] for series in found["result"]}
            if scraped >= set(jobs) and not await self.firing():
                return
            await asyncio.sleep(0.2)
        raise DemoError(f"Prometheus scrapes {len(scraped)} of {len(jobs)} services")

    async def firing(self) -> set[tuple[str, str]]:
        """Return (job, alert) of everything that fires now."""
        found = await self._get("query", {"query": _FIRING})
        return {_told(series) for series in found["result"]}

    async def fired(self, start: float, end: float, step: float) -> list[tuple[str, str, float]]:
        """Return (job, alert, first Unix time) of everything that fired in a stretch of time.

        Args:
            start: Unix time in seconds.
            end: Unix time in seconds.
            step: Seconds between the moments looked at: an evaluation, so that none is missed.
        """
        query = {"query": _FIRING, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step}"}
        found = await self._get("query_range", query)
        return [(*_told(series), float(series["values"][0][0])) for series in found["result"]]

    async def rule_problems(self) -> list[str]:
        """Return a sentence for each rule that cannot be evaluated."""
        found = await self._get("rules", {})
        return [
            f"rule {rule['name']}: {rule.get('lastError') or rule['health']}"
            for group in found["groups"]
            for rule in group["rules"]
            if rule["health"] != "ok"
        ]

    async def _get(self, what: str, query: dict[str, str]) -> Any:
        reply = await self._client.get(f"/api/v1/{what}", params=query)
        reply.raise_for_status()
        return reply.json()["data"]


async def ready(url: str) -> None:
    """Wait until a server answers 200.

    Raises:
        DemoError: It does not within a minute.
    """
    deadline = time.monotonic() + READY_SECONDS
    async with httpx.AsyncClient(timeout=2.0, trust_env=False) as client:
        while time.monotonic() < deadline:
            try:
                if (await client.get(url)).status_code == httpx.codes.OK:
                    return
            except httpx.HTTPError:
                pass
            await asyncio.sleep(0.1)
    raise DemoError(f"{url} does not answer after {READY_SECONDS:.0f} s")


def _told(series: dict[str, Any]) -> tuple[str, str]:
    labels = series["metric"]
    return labels.get("job", ""), labels["alertname"]
