"""How often each caller may ask: a token bucket that holds the questions of one minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from agent.http.buckets import Buckets, LocalBuckets
from agent.http.errors import RateLimitedError


class Rate:
    """A bucket for each caller: a minute's questions at once, then one as each becomes due.

    Args:
        per_minute: Questions; None for no limit.
        buckets: When each caller's bucket is full again (the generic cell rate algorithm); in
            this process by default.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        per_minute: int | None,
        buckets: Buckets | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_minute = per_minute
        self._buckets = buckets or LocalBuckets()
        self._clock = clock

    def spend(self, caller: str) -> None:
        """Take one question of a caller.

        Raises:
            RateLimitedError: None is left.
        """
        if self._per_minute is not None:
            self._buckets.change(caller, partial(self._with_one_more, self._per_minute))

    def _with_one_more(self, per_minute: int, full_at: float) -> float:
        now = self._clock()
        full_at = max(full_at, now) + 60 / per_minute
        if full_at - now > 60 + 1e-6:  # seconds do not add up exactly
            raise RateLimitedError(per_minute, full_at - now - 60)
        return full_at
