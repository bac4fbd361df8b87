"""Which turns a side means: labels of the build, a time range, or both, as a user writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from telemetry import durations, names
from telemetry.compare.change import Change
from telemetry.errors import CompareInputError

LABELS: Final = (
    names.LABEL_VERSION, names.LABEL_INDEX, names.LABEL_PROMPT, names.LABEL_GRADER,
    names.LABEL_MODEL,
)  # fmt: skip
"""Labels of the build by which a side can be chosen, those of `rag_build_info`."""
_EXAMPLES: Final = "Write for example version=1.4, 2h..1h or 2026-05-01T10:00..2026-05-01T12:00."
_TIMES: Final = "Write for example 2h or 2026-05-01T10:00."


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Turns of one side."""

    labels: Mapping[str, str] = field(default_factory=dict)
    since: float = -math.inf
    """Unix time, seconds; turns that began then or later."""
    until: float = math.inf
    """Unix time, seconds; turns that began before."""

    def told(self) -> str:
        """Say which turns are meant."""
        parts = [f"{name} {value}" for name, value in self.labels.items()]
        if math.isfinite(self.since) or math.isfinite(self.until):
            parts.append(f"{moment(self.since)} to {moment(self.until)}")
        return ", ".join(parts) or "all turns"


def read_window(side: str, terms: Sequence[str], now: float) -> Window:
    """Read the terms of one side.

    Args:
        side: `before` or `after`, for messages.
        terms: Each `LABEL=VALUE`, `since=TIME`, `until=TIME` or `TIME..TIME`. A time is a moment
            (ISO 8601, UTC unless it says otherwise) or a duration ago such as `2h`.
        now: Unix time, seconds.

    Raises:
        CompareInputError: A term makes no sense, or the range has no length.
    """
    labels: dict[str, str] = {}
    times = {"since": -math.inf, "until": math.inf}
    for term in terms:
        name, equals, value = term.partition("=")
        if equals and name in LABELS:
            labels[name] = value
        elif equals and name in times:
            times[name] = read_time(side, value, now)
        elif ".." in term:
            start, _, end = term.partition("..")
            times["since"] = read_time(side, start, now) if start else -math.inf
            times["until"] = read_time(side, end, now) if end else math.inf
        else:
            known = (*(f"{label}=VALUE" for label in LABELS), "since=TIME", "until=TIME")
            raise CompareInputError(
                f"--{side}", term, f"one of {', '.join(known)} or TIME..TIME", _EXAMPLES
            )
    if times["since"] >= times["until"]:
        raise CompareInputError(
            f"--{side}", " ".join(terms), "a range that begins before it ends", _EXAMPLES
        )
    return Window(labels=labels, since=times["since"], until=times["until"])


def read_time(side: str, text: str, now: float) -> float:
    """Return the Unix time of a moment, or of a duration ago.

    Raises:
        CompareInputError: It is neither.
    """
    with suppress(ValueError):
        return now - durations.seconds(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise CompareInputError(f"--{side}", text, "a moment or a duration ago", _TIMES) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def around(change: Change, guard: float, length: float, now: float) -> tuple[Window, Window]:
    """Return the sides of a change: the build before it and the one after; at a mark any builds.

    Args:
        change: The change.
        guard: Seconds left out on either side.
        length: Seconds of either side at most.
        now: Unix time, seconds; a side that reaches beyond it has no end.
    """
    first, second = (
        {} if change.mark is not None else dict(zip(LABELS, build, strict=True))
        for build in (change.before, change.after)
    )
    start, end = change.at - guard, change.at + guard
    last = end + length if end + length < now else math.inf
    return (
        Window(labels=first, since=start - length, until=start),
        Window(labels=second, since=end, until=last),
    )


def refuse_overlap(before: Window, after: Window) -> None:
    """Make sure that no turn is on both sides.

    Raises:
        CompareInputError: The sides share time, and no label tells them apart.
    """
    common = before.labels.keys() & after.labels.keys()
    if any(before.labels[name] != after.labels[name] for name in common):
        return
    if before.since < after.until and after.since < before.until:
        raise CompareInputError(
            "--before and --after",
            f"{before.told()} and {after.told()}",
            "sides that share no turn",
            "Choose ranges that do not overlap, or two values of one label.",
        )


def moment(seconds: float) -> str:
    """Return a Unix time as a person reads it, in UTC."""
    if not math.isfinite(seconds):
        return "the beginning" if seconds < 0 else "now"
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g}"
