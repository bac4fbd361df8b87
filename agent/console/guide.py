"""The diagnosis guide as the pages read it: the generated catalogue, never its Python source."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

CATALOGUE: Final = Path(__file__).parents[2] / "dashboards" / "generated" / "failures.json"
_CONSTANT: Final = re.compile(r"wilson_lower\)\s*>\s*([\d.]+)\s*$")
_AT_EXPECTED: Final = re.compile(r"for b = [\d.]+ % the limit is ([\d.]+) %")


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
    limit: float | None
    """Share, 0 to 1, above which it fires: a constant, or that at the expected usual share; None
    for a condition of another form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideFailure:
    """One known failure."""

    slug: str
    title: str
    sentence: str
    hurts: str
    what: str
    """What its first signal is the share of."""
    runbook: str
    first_steps: tuple[str, ...]
    commands: tuple[str, ...]
    alerts: tuple[GuideAlert, ...]


@cache
def guide(path: Path = CATALOGUE) -> tuple[GuideFailure, ...]:
    """Return the failures of the catalogue, in its order.

    Raises:
        OSError: The catalogue is not there.
    """
    catalogue = json.loads(path.read_text(encoding="utf-8"))
    return tuple(_failure(entry) for entry in catalogue["failures"])


def _failure(entry: Mapping[str, Any]) -> GuideFailure:
    signals = entry["signals"]
    return GuideFailure(
        slug=entry["slug"],
        title=entry["title"],
        sentence=entry["sentence"],
        hurts=entry["hurts"],
        what=signals[0]["share_of"] if signals else entry["panel"]["title"].lower(),
        runbook=entry["runbook"],
        first_steps=tuple(entry["first_steps"]),
        commands=tuple(entry["commands"]),
        alerts=tuple(_alert(alert) for alert in entry["alerts"]),
    )


def _alert(entry: Mapping[str, Any]) -> GuideAlert:
    constant = _CONSTANT.search(entry["query"])
    at_expected = _AT_EXPECTED.search(entry["condition"])
    limit = float(constant[1]) if constant else None
    if limit is None and at_expected is not None:
        limit = float(at_expected[1]) / 100
    return GuideAlert(
        name=entry["name"],
        severity=entry["severity"],
        condition=entry["condition"],
        value=entry["value"],
        shows=entry["shows"],
        limit=limit,
    )
