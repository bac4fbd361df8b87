"""What was sent and what came back, in memory that does not grow with the number of questions."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

_GROWTH: Final = math.log(1.02)
_SHORTEST: Final = 1e-4


class Durations:
    """Durations counted in bins 2 % wide, from which quantiles are read to within 1 %."""

    def __init__(self) -> None:
        self._bins: Counter[int] = Counter()
        self.count = 0

    def add(self, seconds: float) -> None:
        """Count one."""
        self._bins[round(math.log(max(seconds, _SHORTEST) / _SHORTEST) / _GROWTH)] += 1
        self.count += 1

    def quantile(self, share: float) -> float | None:
        """Return the duration in seconds below which a share of them lies; None for no durations.

        Args:
            share: 0 to 1.
        """
        wanted, seen = math.ceil(share * self.count), 0
        for place in sorted(self._bins):
            seen += self._bins[place]
            if seen >= wanted:
                return _SHORTEST * math.exp(place * _GROWTH)
        return None


@dataclass(slots=True, kw_only=True)
class KindTally:
    """The questions of one kind."""

    sent: int = 0
    unsent: int = 0
    """Came due while as many were under way as are allowed, and were not asked."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Outcome of the turn -> replies."""
    errors: Counter[str] = field(default_factory=Counter)
    """Why there was no reply -> questions."""
    durations: Durations = field(default_factory=Durations)
    """From the time a question was due to its reply."""

    def as_json(self) -> dict[str, Any]:
        """Return built-ins only."""
        return {
            "sent": self.sent,
            "unsent": self.unsent,
            "outcomes": dict(sorted(self.outcomes.items())),
            "errors": dict(sorted(self.errors.items())),
            "p50_seconds": _rounded(self.durations.quantile(0.5)),
            "p99_seconds": _rounded(self.durations.quantile(0.99)),
        }


@dataclass(slots=True, kw_only=True)
class Tally:
    """All kinds, and how well the sender kept its own time."""

    seconds: float = 0.0
    """How long questions arrived."""
    latest_start_seconds: float = 0.0
    """Longest time between a question being due and being sent: large when this machine is the
    bottleneck."""
    total: KindTally = field(default_factory=KindTally)
    kinds: dict[str, KindTally] = field(default_factory=dict)

    def of(self, kind: str) -> tuple[KindTally, KindTally]:
        """Return the two places at which a question of a kind counts."""
        return self.total, self.kinds.setdefault(kind, KindTally())

    @property
    def is_answered(self) -> bool:
        """Whether every question was sent and got a reply."""
        return self.total.sent > 0 and not self.total.errors and not self.total.unsent

    def as_json(self) -> dict[str, Any]:
        """Return the object of `traffic --json`."""
        return {
            "seconds": round(self.seconds, 3),
            "latest_start_seconds": round(self.latest_start_seconds, 4),
            "total": self.total.as_json(),
            "kinds": {name: kind.as_json() for name, kind in sorted(self.kinds.items())},
        }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
