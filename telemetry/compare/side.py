"""One side of a comparison: what was measured in which turns, wherever it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from telemetry.compare.observed import Observed
from telemetry.compare.rates import Rate
from telemetry.compare.sample import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Counts and samples of one side; a measure that is absent was not measured there."""

    name: str
    """`before` or `after`."""
    about: str
    """Which turns, in words."""
    turns: int
    """Turns that ended by themselves."""
    first: float | None = None
    """When the first of them began, Unix time, seconds."""
    last: float | None = None
    measured: Mapping[str, Rate | Sample] = field(default_factory=dict)
    """Name of a measure -> what was counted."""
    observed: tuple[Observed, ...] = ()
    """The single turns, when the source knows them; blame needs them."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Label of the build -> values seen, sorted."""
