"""What a canary is judged by: shares of turns, in both of which more is worse, as data."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from telemetry.compare.measures import BY_NAME as COMPARED
from telemetry.compare.measures import Measure

REWROTE: Final = "rewrote"
SLOW: Final = "slow"
SLOW_SHARE: Final = 0.1
"""Share of the stable turns before the canary that are slow. Chosen by us: the tail is what people
notice, and a tenth needs few turns to be told apart."""


def _share(name: str, label: str, unit: str) -> Measure:
    return replace(COMPARED["no_results"], name=name, label=label, unit=unit)


MEASURES: Final = (
    COMPARED["no_results"],
    COMPARED["off_topic"],
    COMPARED["failed"],
    _share(REWROTE, "rewrote the search", "turns that searched"),
    _share(SLOW, "slow", "turns"),
)
"""In the order they are shown. Rewrites stand for cost: each is paid with several model calls."""
BY_NAME: Final = {measure.name: measure for measure in MEASURES}
