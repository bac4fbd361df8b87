"""Which settings contradict each other, or ask for alerts that could never work."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from dashboards import durations
from telemetry import names

if TYPE_CHECKING:
    from dashboards.settings import Settings

SCRAPES_PER_RANGE: Final = 4
"""Fewest scrapes a range must hold: Prometheus 3 leaves the left end out, and one may be lost."""
GRAFANA_TICK_SECONDS: Final = 10
"""Grafana's scheduler ticks this often; a group interval that is no multiple stops its start."""

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_MATCHER = r'\s*[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"\s*'
_MATCHERS = re.compile(f"(?:{_MATCHER}(?:,{_MATCHER})*)?")
_OWN_LABELS: Final = frozenset(
    value for name, value in vars(names).items() if name.startswith("LABEL_")
)


def contradictions(settings: Settings) -> list[str]:
    """Return what is wrong, each with what was got and what was expected."""
    return [
        *_label_problems(settings),
        *_window_problems(settings),
        *_edge_problems(settings),
        *_order_problems(settings),
    ]


def _label_problems(settings: Settings) -> list[str]:
    problems = []
    for label in settings.group_by:
        if not _LABEL.fullmatch(label) or label in {"instance", "window", "le", *_OWN_LABELS}:
            problems.append(
                f"group_by got {label!r}, expected a target label such as job, namespace or "
                "cluster (not instance: a replica that leaves would look like a repair)"
            )
    if "job" not in settings.group_by or len(set(settings.group_by)) < len(settings.group_by):
        problems.append(f"group_by got {settings.group_by!r}, expected job and others, each once")
    if not _MATCHERS.fullmatch(settings.selector):
        problems.append(f'selector got {settings.selector!r}, expected label="value" with commas')
    if settings.severity_page == settings.severity_ticket:
        problems.append(f"severity_page and severity_ticket are both {settings.severity_page!r}")
    if "$" in settings.model_dump_json():
        problems.append("a setting holds '$', which Grafana would take for a variable")
    return problems


def _window_problems(settings: Settings) -> list[str]:
    problems = []
    windows = (*settings.windows, settings.baseline_window)
    if not all(shorter < longer for shorter, longer in itertools.pairwise(windows)):
        problems.append(
            f"windows got {', '.join(map(durations.text, windows))}, expected each longer than the "
            "one before"
        )
    shortest = settings.window_short * settings.time_scale
    needed = SCRAPES_PER_RANGE * settings.scrape_interval
    if shortest < needed:
        problems.append(
            f"time_scale {settings.time_scale:.4g} makes window_short {durations.text(shortest)}, "
            f"expected at least {SCRAPES_PER_RANGE} scrapes, {durations.text(needed)}; "
            f"scrape at least every {durations.text(shortest / SCRAPES_PER_RANGE)}"
        )
    if settings.memory <= settings.window_medium:
        problems.append("memory got no more than window_medium, expected more")
    return problems


def _edge_problems(settings: Settings) -> list[str]:
    """A histogram can be asked only about its bucket edges below the last finite one."""
    return [
        f"{field} got {settings.limit(field)}, expected one of {', '.join(map(str, edges))}"
        for field, edges in (
            ("drift_similarity", names.SIMILARITY_BUCKETS[:-1]),
            ("weak_score", names.SCORE_BUCKETS[:-1]),
            ("latency_seconds", names.TURN_DURATION_BUCKETS[:-1]),
        )
        if settings.limit(field) not in edges
    ]


def _order_problems(settings: Settings) -> list[str]:
    """A page that needs less than its ticket would wake somebody for nothing."""
    return [
        f"{page} got {settings.limit(page)}, expected at least {ticket}, {settings.limit(ticket)}"
        for page, ticket in (
            ("page_add", "ticket_add"),
            ("page_odds", "ticket_odds"),
            ("error_page", "error_ticket"),
            ("latency_page", "latency_ticket"),
        )
        if settings.limit(page) < settings.limit(ticket)
    ]
