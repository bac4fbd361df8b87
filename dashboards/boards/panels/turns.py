"""Panels of whole turns: how they end, how long they take, what they cost."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import bargauge, heatmap, stat, timeseries

from dashboards.boards.at_a_glance import bars_now, figure
from dashboards.boards.colors import OUTCOMES, TICKET
from dashboards.boards.over_time import heat, lines, stacked
from dashboards.boards.queries import RATE, Queries, has, ratio, share_by, total
from dashboards.boards.style import (
    BYTES,
    NUMBER,
    PER_MINUTE,
    PLAIN,
    SECONDS,
    SHARE,
    colored,
    limit_line,
)
from dashboards.boards.targets import Query
from dashboards.signals import number
from telemetry import names

_OUTCOME: Final = names.LABEL_OUTCOME
_VERSION: Final = names.LABEL_VERSION
QUANTILES: Final = {0.5: "half are faster", 0.95: "95 of 100", 0.99: "99 of 100"}
LOST: Final = (names.ERROR, names.RECURSION_LIMIT)
"""Outcomes without a reply of the agent, though the customer waited for one."""


def ends(queries: Queries) -> timeseries.Panel:
    """Turns a minute by how they ended."""
    panel = stacked(
        "Turns a minute, by outcome",
        "Every question asked is in exactly one of these. Dots lead to traces.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.TURNS, by=(_OUTCOME,)),
            legend="{{outcome}}",
            exemplar=True,
        ),
        empty="no turns",
    )
    return colored(panel, OUTCOMES)


def mix_over_time(queries: Queries) -> timeseries.Panel:
    """Shares of the outcomes over time."""
    part = queries.gained(names.TURNS, by=(_OUTCOME,), over=RATE)
    panel = stacked(
        "Reply mix over time",
        "Share of each outcome among the turns of a step; together they are 1.",
        SHARE,
        Query(
            expr=share_by(part, queries.gained(names.TURNS, over=RATE), _OUTCOME),
            legend="{{outcome}}",
        ),
        empty="no turns",
    )
    return colored(panel.max(1), OUTCOMES).interval(queries.smoothing)


def mix(queries: Queries) -> bargauge.Panel:
    """Shares of the outcomes in the whole range."""
    part = queries.gained(names.TURNS, by=(_OUTCOME,))
    panel = bars_now(
        "Reply mix of the whole range",
        "Share of each outcome among all turns of the time range.",
        SHARE,
        Query(
            expr=share_by(part, queries.gained(names.TURNS), _OUTCOME),
            legend="{{outcome}}",
            kind="instant",
        ),
        empty="no turns",
    )
    return colored(panel.max(1), OUTCOMES)


def lost(queries: Queries) -> timeseries.Panel:
    """Share of turns without a reply."""
    part = queries.gained(names.TURNS, has(_OUTCOME, *LOST), by=(_OUTCOME,), over=RATE)
    panel = lines(
        "Turns without a reply",
        "Share of turns that ended in an error or in the recursion limit. Nothing found and off "
        "topic are replies.",
        SHARE,
        Query(
            expr=share_by(part, queries.gained(names.TURNS, over=RATE), _OUTCOME),
            legend="{{outcome}}",
        ),
        empty="no turns",
    )
    return colored(panel, {outcome: OUTCOMES[outcome] for outcome in LOST}).interval(
        queries.smoothing
    )


def feedback(queries: Queries) -> timeseries.Panel:
    """Thumbs a minute, up and down."""
    return stacked(
        "What people said, a minute",
        "Thumbs up and down from POST /feedback. Few people say anything: read it as a trend.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.FEEDBACK, by=(names.LABEL_VERDICT,)),
            legend="{{verdict}}",
        ),
        empty="no feedback",
    )


def durations(queries: Queries) -> timeseries.Panel:
    """Quantiles of a turn's wall time with the objective."""
    asked = [
        Query(
            expr=queries.quantile(share, names.TURN_DURATION),
            legend=name,
            exemplar=share == 0.95,
        )
        for share, name in QUANTILES.items()
    ]
    objective = number(queries.settings.latency_seconds)
    panel = lines(
        "Turn duration",
        f"Wall time of a turn. Slower than {objective} s counts as slow. Dots lead to traces.",
        SECONDS,
        *asked,
        Query(expr=f"vector({objective})", legend="objective"),
        empty="no turns",
    )
    return limit_line(panel.interval(queries.smoothing), "D", TICKET)


def duration_heat(queries: Queries) -> heatmap.Panel:
    """Turn durations by bucket."""
    return heat(
        "Turn duration, all turns",
        "How many turns took how long; the darker, the more. The last band is open above.",
        NUMBER,
        SECONDS,
        Query(expr=queries.buckets(names.TURN_DURATION), legend="{{le}}", kind="heatmap"),
        empty="no turns",
    ).interval(queries.smoothing)


def calls_per_turn(queries: Queries) -> timeseries.Panel:
    """Mean model calls of a turn by how it ended."""
    panel = lines(
        "Model calls a turn",
        "Mean by outcome. Turns that find nothing pay all rewrites; `other` holds the turns that "
        "were refused, failed, or hit the recursion limit.",
        PLAIN,
        Query(expr=queries.mean(names.LLM_CALLS_PER_TURN, by=(_OUTCOME,)), legend="{{outcome}}"),
        empty="no turns",
    )
    return colored(panel.decimals(1), OUTCOMES).interval(queries.smoothing)


def calls_per_answer(queries: Queries) -> stat.Panel:
    """All calls over all answers."""
    answers = queries.gained(names.TURNS, has(_OUTCOME, names.ANSWERED))
    return figure(
        "Model calls for one answer",
        "All model calls of the range over all answers: what an answer costs with everything that "
        "did not lead to one.",
        PLAIN,
        Query(expr=ratio(queries.gained(names.LLM_CALLS), answers), kind="instant"),
        empty="no answers",
    ).decimals(1)


def spent_in_vain(queries: Queries) -> stat.Panel:
    """Calls of turns that found nothing."""
    spent = queries.gained(f"{names.LLM_CALLS_PER_TURN}_sum", has(_OUTCOME, names.NO_RESULTS))
    return figure(
        "Calls spent on turns that found nothing",
        "Share of all model calls of turns: what the bound makes unanswerable questions cost.",
        SHARE,
        Query(expr=ratio(spent, queries.gained(f"{names.LLM_CALLS_PER_TURN}_sum")), kind="instant"),
        empty="no turns",
    ).decimals(1)


def count(queries: Queries) -> stat.Panel:
    """Turns of the range."""
    return figure(
        "Turns",
        "Turns that ended in the time range, whatever their end.",
        NUMBER,
        Query(expr=queries.gained(names.TURNS), kind="instant"),
        empty="no turns",
    )


def answered(queries: Queries) -> stat.Panel:
    """Share of answered turns among those that searched."""
    searched = has(names.LABEL_RETRIEVED, names.YES)
    part = queries.gained(names.TURNS, has(_OUTCOME, names.ANSWERED), searched)
    return figure(
        "Answered",
        "Share of the turns that searched and ended in an answer, whole range.",
        SHARE,
        Query(expr=ratio(part, queries.gained(names.TURNS, searched)), kind="instant"),
        empty="no turns",
    ).decimals(1)


def recursion_errors(queries: Queries) -> timeseries.Panel:
    """Turns that hit the limit, by graph."""
    return stacked(
        "Turns at the recursion limit",
        "An inner graph counts under its own name. Dots lead to traces.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.RECURSION_ERRORS, by=(names.LABEL_GRAPH,)),
            legend="{{graph}}",
            exemplar=True,
        ),
    )


def conflicts(queries: Queries) -> timeseries.Panel:
    """Turns with two ends."""
    return stacked(
        "Turns with two ends",
        "Nodes of two terminal roles ran in one turn, such as an answer and a no-results reply: a "
        "wrong path in the graph.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.TERMINAL_CONFLICTS, by=(names.LABEL_GRAPH,)),
            legend="{{graph}}",
            exemplar=True,
        ),
    )


def open_turns(queries: Queries) -> timeseries.Panel:
    """Turns under way."""
    by = (*queries.settings.group_by, names.LABEL_GRAPH)
    return lines(
        "Turns under way",
        "Above 0 and still means that turns hang; 0 means that no question arrives.",
        NUMBER,
        Query(expr=total(queries.one(names.OPEN_TURNS), by=by), legend="{{job}} {{graph}}"),
    )


def conversations(queries: Queries) -> timeseries.Panel:
    """Conversations kept."""
    return _kept(
        queries,
        names.CONVERSATIONS,
        "Conversations kept",
        "What each replica sees in its store; replicas of one database see the same ones.",
        NUMBER,
    )


def conversation_bytes(queries: Queries) -> timeseries.Panel:
    """What conversations take."""
    return _kept(
        queries,
        names.CONVERSATION_BYTES,
        "Size of the conversations",
        "In memory, file or database. Rising without end: set an age at which they are forgotten.",
        BYTES,
    )


def _kept(queries: Queries, gauge: str, title: str, about: str, unit: str) -> timeseries.Panel:
    expr = f"max by (instance) ({queries.one(gauge)})"
    return lines(title, about, unit, Query(expr=expr, legend="{{instance}}"))
