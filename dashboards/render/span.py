"""The time range that is drawn, and how its ends are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from dashboards import durations
from dashboards.errors import RangeError

POINTS: Final = 240
"""Values that a line has at most; chosen by us: about one for each two pixels of a panel."""
_RELATIVE = re.compile(r"now(?:-(.+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From start to end, Unix seconds."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.start

    def step(self, at_least: float) -> float:
        """Return the step of a line, in seconds: a whole number where that is near enough."""
        step = max(self.seconds / POINTS, at_least)
        return float(round(step)) if step > 10 else step

    def told(self) -> str:
        """Return both ends as a person reads them, in UTC."""
        start, end = (datetime.fromtimestamp(at, UTC) for at in (self.start, self.end))
        same_day = start.date() == end.date()
        until = end.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S")
        return f"{start:%Y-%m-%d %H:%M:%S} to {until} UTC"


def make_span(*, start: str, end: str, now: float) -> Span:
    """Return the range between two moments.

    Args:
        start: ISO 8601 (UTC when it names no zone), Unix seconds, `now` or `now-6h`.
        end: The same.
        now: Unix seconds.

    Raises:
        RangeError: A moment is none of these, or the end is not after the start.
    """
    span = Span(start=moment(start, now), end=moment(end, now))
    if span.seconds <= 0:
        raise RangeError(f"{start} to {end}", "a start before the end")
    return span


def moment(text: str, now: float) -> float:
    """Return the Unix seconds of a moment.

    Raises:
        RangeError: The text is no moment.
    """
    relative = _RELATIVE.fullmatch(text.strip())
    if relative:
        return now - (durations.seconds(relative[1]) if relative[1] else 0.0)
    try:
        return float(text)
    except ValueError:
        pass
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise RangeError(text, "ISO 8601, Unix seconds, now, or now-6h") from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def iso(at: float) -> str:
    """Return a moment as charts take it: ISO 8601 in UTC, without the zone."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
