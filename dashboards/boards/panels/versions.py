"""Panels that tell versions apart: what began with one, and how two side by side compare."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import timeseries

from dashboards.boards.layout import Make
from dashboards.boards.over_time import lines, stacked
from dashboards.boards.queries import RATE, Queries, has, ratio
from dashboards.boards.style import PER_MINUTE, SHARE
from dashboards.boards.targets import Query
from telemetry import names

_OUTCOME: Final = names.LABEL_OUTCOME
_VERSION: Final = names.LABEL_VERSION


def _share_by_version(title: str, about: str, outcome: str) -> Make:
    def panel(queries: Queries) -> timeseries.Panel:
        chosen = (f'{_VERSION}=~"${_VERSION}"', has(names.LABEL_RETRIEVED, names.YES))
        part = queries.gained(
            names.TURNS, has(_OUTCOME, outcome), *chosen, by=(_VERSION,), over=RATE
        )
        whole = queries.gained(names.TURNS, *chosen, by=(_VERSION,), over=RATE)
        return lines(
            title,
            about,
            SHARE,
            Query(expr=ratio(part, whole), legend="version {{version}}"),
            empty="no turns",
        ).interval(queries.smoothing)

    return panel


answered_by_version = _share_by_version(
    "Answered, by version",
    "Share of searches that ended in an answer; versions that run side by side can be compared.",
    names.ANSWERED,
)
nothing_found_by_version = _share_by_version(
    "Nothing found, by version",
    "Share of searches that ended without an answer.",
    names.NO_RESULTS,
)


def _by_version(title: str, about: str, *matchers: str) -> Make:
    def panel(queries: Queries) -> timeseries.Panel:
        return stacked(
            title,
            f"{about} Dots are exemplars: each leads to the trace of one such turn.",
            PER_MINUTE,
            Query(
                expr=queries.per_minute(names.TURNS, *matchers, by=(_VERSION,)),
                legend="version {{version}}",
                exemplar=True,
            ),
            empty="no turns",
        )

    return panel


_POINTS_AT: Final = "A rise that begins with a version points at it."
refused_by_version = _by_version(
    "Refused turns, by version",
    _POINTS_AT,
    has(_OUTCOME, names.OFF_TOPIC),
    has(names.LABEL_RETRIEVED, names.NO),
)
discarded_by_version = _by_version(
    "No results after a passing grade, by version",
    _POINTS_AT,
    has(_OUTCOME, names.NO_RESULTS),
    has(names.LABEL_LAST_GRADE, names.PASS),
)
unfounded_by_version = _by_version(
    "Answers after a failing grade, by version",
    _POINTS_AT,
    has(_OUTCOME, names.ANSWERED),
    has(names.LABEL_LAST_GRADE, names.FAIL),
)
no_results_by_version = _by_version(
    "No-results turns, by version", _POINTS_AT, has(_OUTCOME, names.NO_RESULTS)
)
failed_by_version = _by_version("Failed turns, by version", _POINTS_AT, has(_OUTCOME, names.ERROR))
