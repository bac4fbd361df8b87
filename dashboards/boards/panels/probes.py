"""Panels of probes: known questions that a monitor asks, apart from users' turns."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import timeseries

from dashboards.boards.colors import TICKET
from dashboards.boards.over_time import lines, stacked
from dashboards.boards.queries import Queries
from dashboards.boards.style import NUMBER, PER_MINUTE, SECONDS, limit_line
from dashboards.boards.targets import Query
from dashboards.special_conditions import ROUNDS
from telemetry import names

_NOBODY: Final = "nobody probes"


def came_out(queries: Queries) -> timeseries.Panel:
    """Probes by what came of them."""
    kinds = (names.LABEL_EXPECTED, names.LABEL_GOT)
    return stacked(
        "Probes by what came of them",
        f"Known questions asked in the last {queries.medium}: what was expected, and what it was.",
        NUMBER,
        Query(
            expr=queries.gained(names.PROBES, by=kinds, over=queries.medium),
            legend="expected {{expected}}, got {{got}}",
        ),
        empty=_NOBODY,
    )


def by_question(queries: Queries) -> timeseries.Panel:
    """Rounds in a row by question."""
    row = queries.one(names.PROBE_UNEXPECTED)
    panel = lines(
        "Unlike expected in a row, by question",
        "Rounds in a row in which a question came out unlike expected. Questions go by their place "
        "in the golden file; `loopscope probe --rounds 1 --json` shows their text.",
        NUMBER,
        Query(
            expr=f"max by ({names.LABEL_QUESTION_ID}) ({row})", legend="question {{question_id}}"
        ),
        Query(expr=f"vector({ROUNDS})", legend="page from"),
        empty=_NOBODY,
    )
    return limit_line(panel, "B", TICKET)


def seconds(queries: Queries) -> timeseries.Panel:
    """Quantiles of a probe's time."""
    return lines(
        "Time of a probe",
        "From a question to its whole reply over the network, or to giving it up.",
        SECONDS,
        *(
            Query(expr=queries.quantile(share, names.PROBE_DURATION), legend=name)
            for share, name in ((0.5, "half are faster"), (0.95, "95 of 100"))
        ),
        empty=_NOBODY,
    )


def last_round(queries: Queries) -> timeseries.Panel:
    """Time since the last round."""
    by, last = queries.settings.by, queries.one(names.PROBE_LAST_ROUND)
    return lines(
        "Since the last round",
        "A saw whose teeth are as high as the time between rounds.",
        SECONDS,
        Query(expr=f"time() - max by ({by}) ({last})", legend="{{job}}"),
        empty=_NOBODY,
    )


def apart(queries: Queries) -> timeseries.Panel:
    """Turns of probes beside those of users."""
    return stacked(
        "Turns of probes and of users",
        "Turns of probes are in no other panel: neither in shares nor in times nor in costs.",
        PER_MINUTE,
        Query(expr=queries.per_minute(names.PROBE_TURNS), legend="asked by probes"),
        Query(expr=queries.per_minute(names.TURNS), legend="asked by users"),
    )
