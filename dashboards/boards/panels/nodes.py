"""Panels of the graph: its nodes, its routers, its bounds.

Nodes are told apart by role: a graph whose nodes are renamed keeps its lines.
"""

from __future__ import annotations

from grafana_foundation_sdk.builders import gauge, timeseries

from dashboards.boards.at_a_glance import dial
from dashboards.boards.colors import BAD, GOOD, TICKET
from dashboards.boards.over_time import lines, stacked
from dashboards.boards.queries import Queries
from dashboards.boards.style import NUMBER, PER_MINUTE, SECONDS, SHARE, limit_line, steps
from dashboards.boards.targets import Query
from telemetry import names


def runs(queries: Queries) -> timeseries.Panel:
    """Node executions a minute by role."""
    return stacked(
        "Steps a minute, by role",
        "Node executions. Retrieve, grade and rewrite that grow while turns do not are a loop that "
        "works harder.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(f"{names.NODE_DURATION}_count", by=(names.LABEL_ROLE,)),
            legend="{{role}}",
        ),
        empty="no turns",
    )


def slow_roles(queries: Queries) -> timeseries.Panel:
    """95th percentile of node time by role."""
    return lines(
        "Time of a step, 95 of 100 are faster",
        "Wall time of a node execution. Compare the roles: one slow part, or all of them?",
        SECONDS,
        Query(
            expr=queries.quantile(0.95, names.NODE_DURATION, by=(names.LABEL_ROLE,)),
            legend="{{role}}",
        ),
        empty="no turns",
    ).interval(queries.smoothing)


def node_errors(queries: Queries) -> timeseries.Panel:
    """Exceptions by node."""
    return stacked(
        "Exceptions by node",
        "Which node raises which error; a retry that succeeds counts too.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(
                names.NODE_ERRORS, by=(names.LABEL_NODE, names.LABEL_ERROR_TYPE)
            ),
            legend="{{node}}: {{error_type}}",
        ),
    )


def routes(queries: Queries) -> timeseries.Panel:
    """What routers chose."""
    return stacked(
        "Choices of the routers",
        "A way that was never taken before, or one that vanished, points at the router.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.ROUTES, by=(names.LABEL_ROUTER, names.LABEL_ROUTE)),
            legend="{{router}} to {{route}}",
        ),
        empty="no routers",
    )


def room(queries: Queries) -> timeseries.Panel:
    """Recursion limit over the steps that the bound needs."""
    by = ", ".join((*queries.settings.group_by, names.LABEL_GRAPH))
    panel = lines(
        "Recursion limit and steps needed",
        "The limit is a backstop: it must stay above what the longest bounded turn needs.",
        NUMBER,
        Query(
            expr=f"min by ({by}) ({queries.one(names.RECURSION_LIMIT_GAUGE)})",
            legend="{{job}} {{graph}}: limit",
        ),
        Query(
            expr=f"max by ({by}) ({queries.one(names.RECURSION_STEPS_NEEDED)})",
            legend="{{job}} {{graph}}: steps needed",
        ),
        empty="no bound stated",
    )
    return limit_line(panel, "B", TICKET)


def room_used(queries: Queries) -> gauge.Panel:
    """Steps needed over the limit."""
    by = ", ".join((*queries.settings.group_by, names.LABEL_GRAPH))
    needed = f"max by ({by}) ({queries.one(names.RECURSION_STEPS_NEEDED)})"
    limit = f"min by ({by}) ({queries.one(names.RECURSION_LIMIT_GAUGE)})"
    panel = dial(
        "Recursion limit used by the longest turn",
        "Steps needed over steps allowed; at 100 % the hardest questions get no reply.",
        SHARE,
        Query(expr=f"{needed} / {limit}", legend="{{job}} {{graph}}", kind="instant"),
        empty="no bound stated",
    )
    return panel.max(1).decimals(0).thresholds(steps((None, GOOD), (0.999, BAD)))


def budget(queries: Queries) -> timeseries.Panel:
    """Rewrites allowed."""
    by = ", ".join((*queries.settings.group_by, names.LABEL_GRAPH))
    return lines(
        "Rewrites allowed a turn",
        "The bound in the state. When it was raised, the recursion limit must follow.",
        NUMBER,
        Query(
            expr=f"max by ({by}) ({queries.one(names.REWRITE_BUDGET)})",
            legend="{{job}} {{graph}}",
        ),
        empty="no bound stated",
    )
