"""Durations as a user writes them, `90s` or `1h30m`, and the type of every option that is one."""

from __future__ import annotations

import re
from typing import Any, Final

import click

from telemetry.finite import FiniteRange

LONGEST_SECONDS: Final = 100 * 365 * 86_400.0
"""Chosen by us: no clock of the system is asked to wait for longer than it can count."""
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_WHOLE: Final = re.compile(f"(?:{_PART.pattern})+")


def seconds(text: str) -> float:
    """Return the seconds of a text such as `90s` or `1h30m`.

    Raises:
        ValueError: It is no duration; a number without a unit is none.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(
            f"got {text!r}, expected a duration with units ms, s, m, h, d or w, such as 30s, 5m or "
            "1h30m"
        )
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))


class Duration(FiniteRange):
    """An option's duration, in seconds once it is read; a number without a unit is seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds; what is no duration, or out of the range, is wrong usage."""
        try:
            found = float(value)
        except ValueError:
            try:
                found = seconds(value)
            except ValueError as error:
                self.fail(f"{error}, or a number of seconds.", param, ctx)
        found = super().convert(found, param, ctx)
        if found > LONGEST_SECONDS:
            self.fail(f"got {value!r}, expected at most 36500d.", param, ctx)
        return found
