"""The diagnosis guide as the pages read it: the generated catalogue, never its Python source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

CATALOGUE: Final = Path(__file__).parents[2] / "dashboards" / "generated" / "failures.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of time up to now."""

    seconds: float
    limit: float | None
    """Share, 0 to 1; None where it follows from the past."""
    burst_seconds: float | None
    """A shorter stretch in which the share must be above the limit too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rise:
    """How a limit follows from the usual share."""

    add: float
    odds: float
    expected: float
    weight: float
    baseline_seconds: float
    delay_seconds: float

    def limit(self, events: int, total: int) -> float:
        """Return the limit for what the past held."""
        usual = (events + self.weight * self.expected) / (total + self.weight)
        return max(usual + self.add, self.odds * usual / (1 - usual + self.odds * usual))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareCriterion:
    """A share is above a limit in one of the windows."""

    measure: str
    z: float
    """Standard errors by which it must be sure; 0 for the share as it is."""
    min_events: int
    min_total: int
    windows: tuple[Window, ...]
    rise: Rise | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceCriterion:
    """A window is empty that was full a period ago."""

    measure: str
    windows: tuple[float, ...]
    """Seconds."""
    more_than: float
    period_seconds: float


Criterion = ShareCriterion | SilenceCriterion


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideAlert:
    """One alert of a failure."""

    name: str
    severity: str
    """`page` or `ticket`."""
    condition: str
    value: str
    """PromQL of what it watches."""
    shows: str
    """`share` or `count`."""
    runbook_url: str
    criteria: tuple[Criterion, ...]
    """It fires when one of them holds; none where its query alone tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideFailure:
    """One known failure."""

    slug: str
    title: str
    sentence: str
    hurts: str
    first_steps: tuple[str, ...]
    alerts: tuple[GuideAlert, ...]
    edges: Mapping[str, float]
    """Measure -> the value that its events lie above, or below."""
    in_prometheus: bool
    """Whether Prometheus evaluates its alerts."""


@cache
def guide(path: Path = CATALOGUE) -> tuple[GuideFailure, ...]:
    """Return the failures of the catalogue, in its order.

    Raises:
        OSError: The catalogue is not there.
    """
    catalogue = json.loads(path.read_text(encoding="utf-8"))
    return tuple(_failure(entry) for entry in catalogue["failures"])


def _failure(entry: Mapping[str, Any]) -> GuideFailure:
    return GuideFailure(
        slug=entry["slug"],
        title=entry["title"],
        sentence=entry["sentence"],
        hurts=entry["hurts"],
        first_steps=tuple(entry["first_steps"]),
        alerts=tuple(_alert(alert) for alert in entry["alerts"]),
        edges={s["slug"]: s["edge"] for s in entry["signals"] if s["edge"] is not None},
        in_prometheus="prometheus" in entry["evaluated_by"],
    )


def _alert(entry: Mapping[str, Any]) -> GuideAlert:
    return GuideAlert(
        name=entry["name"],
        severity=entry["severity"],
        condition=entry["condition"],
        value=entry["value"],
        shows=entry["shows"],
        runbook_url=entry["runbook_url"],
        criteria=tuple(_criterion(criterion) for criterion in entry["criteria"]),
    )


def _criterion(entry: Mapping[str, Any]) -> Criterion:
    told = dict(entry)
    if "more_than" in told:
        return SilenceCriterion(**told | {"windows": tuple(told["windows"])})
    rise = told["rise"] and Rise(**told["rise"])
    windows = tuple(Window(**window) for window in told["windows"])
    return ShareCriterion(**told | {"rise": rise, "windows": windows})
