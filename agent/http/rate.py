"""How often each caller may ask: a token bucket that holds the questions of one minute."""

from __future__ import annotations

import time
from collections.abc import Callable

from agent.http.errors import RateLimitedError


class Rate:
    """A bucket for each caller: a minute's questions at once, then one as each becomes due.

    Callers are known by their keys, so there are few of them and none is ever forgotten.

    Args:
        per_minute: Questions; None for no limit.
        clock: Seconds, monotonic.
    """

    def __init__(
        self, per_minute: int | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._full_at: dict[str, float] = {}
        """When each caller's bucket is full again (the generic cell rate algorithm)."""

    def spend(self, caller: str) -> None:
        """Take one question of a caller.

        Raises:
            RateLimitedError: None is left.
        """
        if self._per_minute is None:
            return
        now, each = self._clock(), 60 / self._per_minute
        full_at = max(self._full_at.get(caller, now), now) + each
        if full_at - now > 60 + 1e-6:  # seconds do not add up exactly
            raise RateLimitedError(self._per_minute, full_at - now - 60)
        self._full_at[caller] = full_at
