"""Open-loop load: each question goes out when it is due, whether or not earlier ones came back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from agent.traffic.arrivals import Arrival
from agent.traffic.tally import Tally

MAX_IN_FLIGHT: Final = 256
"""Chosen by us: at 10 a second, 25 s of replies that do not come."""

Ask = Callable[[str, str | None], Awaitable[str]]
"""(question, thread id) -> outcome of the turn. Raises `NoReplyError` when there is none."""


class NoReplyError(Exception):
    """A question that got no reply.

    Args:
        kind: Why, in a word, for the tally.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(kind)


class Load:
    """Sends arrivals to one service until they end, the time is up, or it is stopped.

    Args:
        ask: Asks one question.
        max_in_flight: Questions under way at most; what comes due beyond is counted as unsent.
        is_held_back: While it returns True nothing is sent and nothing counted: traffic stopped.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        max_in_flight: int = MAX_IN_FLIGHT,
        is_held_back: Callable[[], bool] = lambda: False,
    ) -> None:
        self.tally = Tally()
        self._ask = ask
        self._max_in_flight = max_in_flight
        self._is_held_back = is_held_back
        self._under_way: set[asyncio.Task[None]] = set()
        self._stopped = asyncio.Event()

    async def run(self, arriving: Iterable[Arrival], *, seconds: float | None = None) -> Tally:
        """Send, then wait for the replies to what was sent.

        Args:
            arriving: Questions in the order of their times.
            seconds: How long questions arrive; None for as long as there are any.
        """
        began = time.perf_counter()
        for arrival in arriving:
            if seconds is not None and arrival.at >= seconds:
                await self._wait_until(began + seconds)
                break
            await self._wait_until(began + arrival.at)
            if self._stopped.is_set():
                break
            if not self._is_held_back():
                self._send(arrival, began + arrival.at)
        self.tally.seconds = time.perf_counter() - began
        await asyncio.gather(*self._under_way)
        return self.tally

    def stop(self) -> None:
        """Send nothing any more."""
        self._stopped.set()

    async def _wait_until(self, moment: float) -> None:
        left = moment - time.perf_counter()
        if left > 0:
            try:
                await asyncio.wait_for(self._stopped.wait(), left)
            except TimeoutError:
                return
        else:
            await asyncio.sleep(0)  # others run too when this process is late

    def _send(self, arrival: Arrival, due: float) -> None:
        late = time.perf_counter() - due
        self.tally.latest_start_seconds = max(self.tally.latest_start_seconds, late)
        if len(self._under_way) >= self._max_in_flight:
            for tally in self.tally.of(arrival.kind):
                tally.unsent += 1
            return
        for tally in self.tally.of(arrival.kind):
            tally.sent += 1
        task = asyncio.create_task(self._take_reply(arrival, due))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _take_reply(self, arrival: Arrival, due: float) -> None:
        try:
            outcome = await self._ask(arrival.question, arrival.thread_id)
        except NoReplyError as error:
            for tally in self.tally.of(arrival.kind):
                tally.errors[error.kind] += 1
        else:
            # From the time it was due: a sender that is late must not hide how long people wait.
            took = time.perf_counter() - due
            for tally in self.tally.of(arrival.kind):
                tally.outcomes[outcome] += 1
                tally.durations.add(took)
