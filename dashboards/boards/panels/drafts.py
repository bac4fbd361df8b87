"""Panels of the revise loop: how it ends, and what its revisions do."""

from __future__ import annotations

from grafana_foundation_sdk.builders import timeseries

from dashboards.boards.colors import BAD, GOOD, TICKET, WATCH
from dashboards.boards.over_time import stacked
from dashboards.boards.queries import Queries
from dashboards.boards.style import PER_MINUTE, colored
from dashboards.boards.targets import Query
from telemetry import names


def ends(queries: Queries) -> timeseries.Panel:
    """Ends of the revise loop a minute."""
    panel = stacked(
        "Revise loops by how they ended",
        "Those at the cap cost all their drafts and reply with the best one; stopped ones ended in "
        "an error or without a next draft.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.LOOP_ENDS_TOTAL, by=(names.LABEL_END,)),
            legend="{{end}}",
        ),
        empty="no revise loop",
    )
    return colored(panel, {names.PASSED: GOOD, names.AT_CAP: TICKET, names.STOPPED: BAD})


def revisions(queries: Queries) -> timeseries.Panel:
    """Revised drafts a minute by what they changed."""
    panel = stacked(
        "Revisions by what they did",
        "Only a score that rose was worth its calls. A stale critique is that of an earlier draft.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.REVISIONS, by=(names.LABEL_EFFECT,)),
            legend="{{effect}}",
        ),
        empty="no revisions",
    )
    return colored(
        panel,
        {names.SCORE_ROSE: GOOD, names.SCORE_NOT_RISEN: WATCH, names.STALE_CRITIQUE: BAD},
    )
