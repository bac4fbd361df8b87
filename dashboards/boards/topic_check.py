"""Does the topic check pay? Off-topic questions stopped early, against one call a question."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import common, stat, table, text, timeseries
from grafana_foundation_sdk.models.common import BigValueColorMode

from dashboards.boards.at_a_glance import figure, rows, words
from dashboards.boards.colors import GOOD, TICKET
from dashboards.boards.costs import Costs
from dashboards.boards.layout import Board, Placed, Row
from dashboards.boards.over_time import lines
from dashboards.boards.panels import search, turns, versions
from dashboards.boards.queries import Queries, has
from dashboards.boards.style import (
    NUMBER,
    PER_MINUTE,
    PLAIN,
    SECONDS,
    SHARE,
    colored,
    limit_line,
    steps,
)
from dashboards.boards.targets import Query
from telemetry import names

MAX_BOUND: Final = 5
"""Largest bound in the table of bounds; the agent's own setting allows no more."""
_BOUND: Final = "bound"
_NO_CHECK: Final = "no topic check"
_READING: Final = """\
**The check pays when off-topic questions are common enough.** It costs one call on every question;
it saves a full loop on each question that it stops: a question that no document answers is
searched, graded and rewritten up to the bound.

- Break-even share = calls of one check / calls of one full loop.
- The full loop is measured on turns that found nothing, without their topic check; where there were
  none, by the formula k (m + 1) + m, with k graded chunks a search and the bound m.
- A higher bound makes the check pay sooner.
- Wrong refusals are not in this sum: they cost customers, not calls. Watch *Silent rejection*.
"""


def board() -> Board:
    """Return the board."""
    return Board(
        slug="topic-check",
        title="Loopscope: does the topic check pay",
        about="The off-topic share times the cost of a full loop, against one call a question, on "
        "the traffic of the time range.",
        rows=(
            Row(
                id=1,
                title="The account of the whole range",
                panels=(
                    Placed(id=11, make=gain, width=5, height=4),
                    Placed(id=12, make=off_topic_share, width=5, height=4),
                    Placed(id=13, make=break_even, width=5, height=4),
                    Placed(id=14, make=spent, width=4, height=4),
                    Placed(id=15, make=saved, width=5, height=4),
                ),
            ),
            Row(
                id=2,
                title="Over time",
                panels=(
                    Placed(id=21, make=shares_over_time, width=8, height=8),
                    Placed(id=22, make=calls_over_time, width=8, height=8),
                    Placed(id=23, make=loop_over_time, width=8, height=8),
                ),
            ),
            Row(
                id=3,
                title="At other bounds, and what else the check costs",
                panels=(
                    Placed(id=31, make=by_bound, width=16, height=8),
                    Placed(id=32, make=reading, width=8, height=8),
                    Placed(id=33, make=search.verdicts, width=8, height=8),
                    Placed(id=34, make=check_time, width=8, height=8),
                    Placed(id=35, make=versions.refused_by_version, width=8, height=8),
                ),
            ),
        ),
    )


def reading(_: Queries) -> text.Panel:
    """How to read the board."""
    return words("How to read this", "What the numbers mean and what they leave out.", _READING)


def gain(queries: Queries) -> stat.Panel:
    """Calls saved for each call spent."""
    panel = figure(
        "Calls saved for each call spent",
        "Above 1 the topic check pays.",
        PLAIN,
        Query(expr=Costs(queries=queries).gain(), kind="instant"),
        empty=_NO_CHECK,
    )
    return (
        panel.decimals(2)
        .color_mode(BigValueColorMode.VALUE)
        .thresholds(steps((None, TICKET), (1, GOOD)))
    )


def off_topic_share(queries: Queries) -> stat.Panel:
    """Stopped questions."""
    return figure(
        "Off-topic share",
        "Questions that the check stopped, as a share of those it saw.",
        SHARE,
        Query(expr=Costs(queries=queries).off_topic_share(), kind="instant"),
        empty=_NO_CHECK,
    ).decimals(1)


def break_even(queries: Queries) -> stat.Panel:
    """The share from which on the check pays."""
    return figure(
        "It pays above",
        "The off-topic share at which the check costs as much as it saves.",
        SHARE,
        Query(expr=Costs(queries=queries).break_even(), kind="instant"),
        empty=_NO_CHECK,
    ).decimals(1)


def spent(queries: Queries) -> stat.Panel:
    """Calls of the check."""
    return figure(
        "Calls spent on checks",
        "Model calls of the topic check.",
        NUMBER,
        Query(expr=Costs(queries=queries).spent(), kind="instant"),
        empty=_NO_CHECK,
    )


def saved(queries: Queries) -> stat.Panel:
    """Calls not made."""
    return figure(
        "Calls saved by stopping early",
        "Stopped questions times the calls of a full loop.",
        NUMBER,
        Query(expr=Costs(queries=queries).saved(), kind="instant"),
        empty=_NO_CHECK,
    )


def shares_over_time(queries: Queries) -> timeseries.Panel:
    """Off-topic share and break-even."""
    costs = Costs(queries=queries, is_rate=True)
    panel = lines(
        "Off-topic share and break-even",
        "While the share is above the dashed line, the check saves more calls than it makes.",
        SHARE,
        Query(expr=costs.off_topic_share(), legend="off-topic share"),
        Query(expr=costs.break_even(), legend="break-even"),
        empty=_NO_CHECK,
    )
    return limit_line(panel.interval(queries.smoothing), "B", TICKET)


def calls_over_time(queries: Queries) -> timeseries.Panel:
    """Calls spent and saved a minute."""
    costs = Costs(queries=queries, is_rate=True)
    panel = lines(
        "Calls spent and saved a minute",
        "Both sides of the account.",
        PER_MINUTE,
        Query(expr=f"60 * {costs.spent()}", legend="spent on checks"),
        Query(expr=f"60 * {costs.saved()}", legend="saved by stopping early"),
        empty=_NO_CHECK,
    )
    return colored(
        panel.interval(queries.smoothing),
        {"spent on checks": TICKET, "saved by stopping early": GOOD},
    )


def loop_over_time(queries: Queries) -> timeseries.Panel:
    """Cost of a full loop."""
    costs = Costs(queries=queries, is_rate=True)
    panel = lines(
        "Calls of a full loop",
        "What a question costs that no document answers, without its topic check: measured, and by "
        "the formula from the bound.",
        PLAIN,
        Query(expr=costs.measured_loop(), legend="measured"),
        Query(
            expr=costs.formula(f"max({queries.one(names.REWRITE_BUDGET)})"),
            legend="k (m + 1) + m",
        ),
        empty="no searches",
    )
    return limit_line(panel.decimals(1).interval(queries.smoothing), "B")


def by_bound(queries: Queries) -> table.Panel:
    """The account at other bounds."""
    costs = Costs(queries=queries)

    def row(value: str, bound: int) -> str:
        return f'label_replace({value}, "{_BOUND}", "{bound}", "", "")'

    def column(values: list[str]) -> Query:
        return Query(
            expr="\nor ".join(row(value, bound) for bound, value in enumerate(values)),
            kind="table",
        )

    loops = [costs.formula(str(bound)) for bound in range(MAX_BOUND + 1)]
    panel = rows(
        "The check at other bounds",
        "By the formula, with the graded chunks a search and the off-topic share of this traffic.",
        PLAIN,
        {_BOUND: "rewrites allowed"},
        ("calls of a full loop", PLAIN, column(loops)),
        ("it pays above", SHARE, column([f"{costs.calls_a_check()} / {loop}" for loop in loops])),
        (
            "calls saved for each spent",
            PLAIN,
            column([f"{costs.off_topic()} * {loop} / ({costs.spent()} > 0)" for loop in loops]),
        ),
        empty=_NO_CHECK,
    )
    order = common.TableSortByFieldState().display_name("rewrites allowed").desc(False)
    return panel.sort_by([order])


def check_time(queries: Queries) -> timeseries.Panel:
    """Time that the check adds to each turn."""
    guard = has(names.LABEL_ROLE, names.GUARD)
    return lines(
        "Time of the check",
        "What every customer waits for it, on topic or not.",
        SECONDS,
        *(
            Query(
                expr=queries.quantile(share, names.NODE_DURATION, guard),
                legend=turns.QUANTILES[share],
            )
            for share in (0.5, 0.95)
        ),
        empty=_NO_CHECK,
    ).interval(queries.smoothing)
