"""Look again and again until there is a decision or no time is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from telemetry.canary.decision import Decision
from telemetry.canary.wording import EXIT_CODES
from telemetry.compare.options import readable
from telemetry.errors import NothingComparedError

_UNREADABLE: Final = NothingComparedError.exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often to look, for how long, and by which clock."""

    every_seconds: float
    at_most_seconds: float
    """0 looks once."""
    now: Callable[[], float] = time.time
    """Unix time, seconds."""
    wait: Callable[[float], None] = time.sleep


def watch(
    look: Callable[[float], Decision],
    tell: Callable[[float, Decision | str], None],
    pace: Pace,
) -> int:
    """Look until there is a decision; the last look is when time is up.

    A source that is away is waited for: nothing is lost, for it is read from where it was left.

    Args:
        look: Takes the time and decides.
        tell: Takes the time and a decision, or what is wrong with the source.
        pace: When to look.

    Returns:
        0 promote, 1 roll back, 3 undecided; 4 when the last look could not read its source.

    Raises:
        TelemetryError: What is asked for makes no sense; no look will change that.
    """
    end = pace.now() + pace.at_most_seconds
    while True:
        now = pace.now()
        found: Decision | str
        try:
            found = readable(lambda at=now: look(at))  # type: ignore[misc]  # mypy sees no default
            code = EXIT_CODES[found.verdict]
        except NothingComparedError as error:
            found, code = str(error), _UNREADABLE
        tell(now, found)
        if code in (0, 1) or now >= end:
            return code
        pace.wait(min(pace.every_seconds, end - now))
