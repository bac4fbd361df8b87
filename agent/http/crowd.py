"""How many turns run at once; a bounded number of further ones waits, for a bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.http.errors import OverloadedError


class Crowd:
    """Places for turns, given in the order in which they are asked for. For one event loop.

    Args:
        places: Turns at once, 1 or more.
        max_waiting: Further ones that may wait, 0 or more.
        queue_seconds: How long one waits.
    """

    def __init__(self, places: int, max_waiting: int, queue_seconds: float) -> None:
        self._places = places
        self._free = asyncio.Semaphore(places)
        self._max_waiting = max_waiting
        self._queue_seconds = queue_seconds
        self._waiting = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold a place.

        Raises:
            OverloadedError: Too many wait, or none became free in time.
        """
        if self._free.locked():
            await self._wait()
        else:
            await self._free.acquire()  # at once
        try:
            yield
        finally:
            self._free.release()

    async def _wait(self) -> None:
        if self._waiting >= self._max_waiting:
            raise self._overloaded(f"{self._waiting:,} waiting")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._queue_seconds):
                await self._free.acquire()
        except TimeoutError:
            problem = f"none that ended within {self._queue_seconds:g} s"
            raise self._overloaded(problem) from None
        finally:
            self._waiting -= 1

    def _overloaded(self, problem: str) -> OverloadedError:
        return OverloadedError(self._places, problem, self._queue_seconds)
