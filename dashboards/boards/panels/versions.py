"""Panels that tell versions apart: what began with one, and how two side by side compare."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import timeseries

from dashboards.boards.layout import Make
from dashboards.boards.over_time import lines, stacked
from dashboards.boards.queries import RATE, Queries, has, ratio, share_by
from dashboards.boards.style import PER_MINUTE, SHARE
from dashboards.boards.targets import Query
from telemetry import names

_OUTCOME: Final = names.LABEL_OUTCOME
_VERSION: Final = names.LABEL_VERSION


_CHOSEN: Final = f'{_VERSION}=~"${_VERSION}"'
_SEARCHED: Final = has(names.LABEL_RETRIEVED, names.YES)


def _share_by_version(
    title: str, about: str, *part: str, of: tuple[str, ...] = (), metric: str = names.TURNS
) -> Make:
    """Return the share that a part of some turns has in them, a line for each chosen version."""

    def panel(queries: Queries) -> timeseries.Panel:
        found = queries.gained(metric, *part, _CHOSEN, by=(_VERSION,), over=RATE)
        whole = queries.gained(names.TURNS, *of, _CHOSEN, by=(_VERSION,), over=RATE)
        return _lines(title, about, ratio(found, whole), queries)

    return panel


def _lines(title: str, about: str, expr: str, queries: Queries) -> timeseries.Panel:
    query = Query(expr=expr, legend="version {{version}}")
    return lines(title, about, SHARE, query, empty="no turns").interval(queries.smoothing)


def traffic_by_version(queries: Queries) -> timeseries.Panel:
    """Share of each chosen version in the turns of all of them."""
    part = queries.gained(names.TURNS, _CHOSEN, by=(_VERSION,), over=RATE)
    whole = queries.gained(names.TURNS, _CHOSEN, over=RATE)
    return _lines(
        "Share of the traffic, by version",
        "Of the turns of the chosen versions. Whether to promote one, `loopscope canary` says.",
        share_by(part, whole, _VERSION),
        queries,
    )


answered_by_version = _share_by_version(
    "Answered, by version",
    "Share of searches that ended in an answer; versions that run side by side can be compared.",
    has(_OUTCOME, names.ANSWERED),
    _SEARCHED,
    of=(_SEARCHED,),
)
nothing_found_by_version = _share_by_version(
    "Nothing found, by version",
    "Share of searches that ended without an answer.",
    has(_OUTCOME, names.NO_RESULTS),
    _SEARCHED,
    of=(_SEARCHED,),
)
off_topic_by_version = _share_by_version(
    "Refused as off topic, by version",
    "Share of turns that the topic check refused.",
    has(_OUTCOME, names.OFF_TOPIC),
)
gone_wrong_by_version = _share_by_version(
    "Failed, by version",
    "Share of turns that ended in an error, gave up or hit the recursion limit.",
    has(_OUTCOME, names.ERROR, names.GAVE_UP, names.RECURSION_LIMIT),
)
rewrote_by_version = _share_by_version(
    "Rewrote the search, by version",
    "Share of searches with at least one rewrite: each costs several model calls.",
    has(names.LABEL_ATTEMPT, "1"),
    of=(_SEARCHED,),
    metric=names.REWRITES,
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
