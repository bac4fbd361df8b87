"""Panels of the watch on the watcher: builds, scrapes, drops, rules."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders import table, timeseries

from dashboards.boards.at_a_glance import rows
from dashboards.boards.colors import TICKET
from dashboards.boards.over_time import lines, stacked
from dashboards.boards.queries import RULE_GROUPS, Queries
from dashboards.boards.style import NUMBER, PER_MINUTE, SHARE, limit_line
from dashboards.boards.targets import Query
from telemetry import names

_NOT_SCRAPED: Final = "Prometheus does not scrape itself"
SLOW_RULES: Final = 0.1
"""Share of its interval that a rule group may take; chosen by us, far below what skips one."""


def builds(queries: Queries) -> table.Panel:
    """What runs now."""
    labels = (
        *queries.settings.group_by, names.LABEL_GRAPH, names.LABEL_VERSION, names.LABEL_INDEX,
        names.LABEL_PROMPT, names.LABEL_GRADER, names.LABEL_MODEL,
    )  # fmt: skip
    info = queries.one(names.BUILD_INFO)
    return rows(
        "What runs now",
        "Each build with the number of its replicas; two lines of one service are a rollout under "
        "way, or one that stopped.",
        NUMBER,
        {label: label for label in labels},
        (
            "replicas",
            NUMBER,
            Query(expr=f"count by ({', '.join(labels)}) ({info})", kind="table"),
        ),
        empty="no service is scraped",
    )


def replicas(queries: Queries) -> timeseries.Panel:
    """Replicas that are scraped."""
    info = queries.one(names.BUILD_INFO)
    return lines(
        "Replicas by service",
        "A service whose line ends is scraped no more; one that goes down step by step loses "
        "replicas.",
        NUMBER,
        Query(expr=f"count by ({queries.settings.by}) ({info})", legend="{{job}}"),
        empty="no service is scraped",
    )


def dropped(queries: Queries) -> timeseries.Panel:
    """Drops by signal."""
    return stacked(
        "Dropped by telemetry",
        "Spans and events go to the collector, records to a database.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.TELEMETRY_DROPPED, by=(names.LABEL_SIGNAL,)),
            legend="{{signal}}",
        ),
    )


def telemetry_errors(queries: Queries) -> timeseries.Panel:
    """Failures inside telemetry by place."""
    return stacked(
        "Failures inside telemetry",
        "By place. A reader fails when a node's update has another shape than it expects.",
        PER_MINUTE,
        Query(
            expr=queries.per_minute(names.TELEMETRY_ERRORS, by=(names.LABEL_WHERE,)),
            legend="{{where}}",
        ),
    )


def rule_evaluations(_: Queries) -> timeseries.Panel:
    """Rule evaluations, failures and skipped ones."""
    return lines(
        "Evaluations of our rules",
        "Failed or missed evaluations are moments in which nobody looked. From Prometheus' own "
        "metrics, for which it must scrape itself.",
        PER_MINUTE,
        *(
            Query(expr=f"60 * sum(rate({metric}{{{RULE_GROUPS}}}[$__rate_interval]))", legend=name)
            for metric, name in (
                ("prometheus_rule_evaluations_total", "evaluations"),
                ("prometheus_rule_evaluation_failures_total", "failed"),
                ("prometheus_rule_group_iterations_missed_total", "groups missed"),
            )
        ),
        empty=_NOT_SCRAPED,
    )


def rule_time(_: Queries) -> timeseries.Panel:
    """Time of a rule group over its interval."""
    last = f"prometheus_rule_group_last_duration_seconds{{{RULE_GROUPS}}}"
    interval = f"prometheus_rule_group_interval_seconds{{{RULE_GROUPS}}}"
    panel = lines(
        "Time of the rules",
        "Share of its interval that the slowest rule group takes; a group that takes all of it "
        "skips evaluations.",
        SHARE,
        Query(expr=f"max({last} / on (rule_group, instance) {interval})", legend="slowest group"),
        Query(expr=f"vector({SLOW_RULES})", legend="should stay below"),
        empty=_NOT_SCRAPED,
    )
    return limit_line(panel, "B", TICKET)
