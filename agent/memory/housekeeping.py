"""What is done for the memory beside the turns: measured each minute, forgotten by age."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from agent.memory.errors import MemoryUnavailableError
from agent.memory.memory import MAX_FORGOTTEN, Memory
from agent.memory.store import Size

MEASURE_SECONDS: Final = 60.0
"""Between two looks at the memory; chosen by us: a database counts a million rows in a second."""
FORGET_SECONDS: Final = 3_600.0
"""Between two searches for old conversations; chosen by us: their age is counted in days."""
DAY_SECONDS: Final = 86_400.0

_log = logging.getLogger(__name__)


class Housekeeping:
    """Measures a memory and forgets what is old in it. For one event loop.

    Processes that share a memory may all do so: what one has forgotten the next does not find.

    Args:
        memory: Which one.
        days: Age after which a conversation that did not go on is forgotten; 0 for never.
        measured: Told how much is kept.
        clock: Unix time, seconds.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        days: float,
        measured: Callable[[Size], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._memory = memory
        self._days = days
        self._measured = measured
        self._clock = clock
        self._next_search = 0.0

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Look after the memory meanwhile."""
        keeping = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait({keeping})

    async def look(self) -> None:
        """Forget what is old, when it is time to, and measure what is left.

        A memory that does not answer is looked at again the next time.
        """
        try:
            await self._forget_when_due()
            self._measured(await self._memory.size())
        except MemoryUnavailableError as error:
            _log.warning("the memory was not looked after: %s", error)

    async def _forget_when_due(self) -> None:
        now = self._clock()
        if now < self._next_search:
            return
        await self._memory.sweep_notes(now)
        forgotten = 0
        if self._days:
            forgotten = await self._memory.forget_silent(now - self._days * DAY_SECONDS)
        if forgotten < MAX_FORGOTTEN:  # else there may be more
            self._next_search = now + FORGET_SECONDS

    async def _keep(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(MEASURE_SECONDS)
