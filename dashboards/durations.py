"""Durations as Prometheus writes them: `15s`, `1h30m`, `7500ms`."""

from __future__ import annotations

import re
from typing import Final

from dashboards.errors import DurationError

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")


def seconds(text: str | float) -> float:
    """Return the seconds of a text such as `1h30m`; a number is taken as seconds.

    Raises:
        DurationError: The text is no duration, or it is not longer than 0.
    """
    if isinstance(text, (int, float)):
        total = float(text)
    else:
        if not re.fullmatch(f"(?:{_PART.pattern})+", text.strip()):
            raise DurationError(text)
        total = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    if not 0 < total < float("inf"):
        raise DurationError(text)
    return total


def text(duration: float) -> str:
    """Return seconds as the one number that states them exactly, rounded to milliseconds.

    Args:
        duration: Seconds, 0 or more.
    """
    milliseconds = round(duration * 1000)
    if milliseconds % 1000:
        return f"{milliseconds}ms"
    whole = milliseconds // 1000
    for unit in ("d", "h", "m"):
        size = int(_SECONDS[unit])
        if whole and whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def spoken(duration: float) -> str:
    """Return seconds as a person says them: `2 min`, `1.5 h`, `45 s`."""
    for unit, word in (("d", "days"), ("h", "h"), ("m", "min")):
        if duration >= 2 * _SECONDS[unit] or (unit != "d" and duration >= _SECONDS[unit]):
            return f"{duration / _SECONDS[unit]:.3g} {word}"
    return f"{duration:.3g} s"
