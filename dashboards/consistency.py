"""Which settings contradict each other, or ask for alerts that could never work."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any, Final

from dashboards import durations
from telemetry import names

Values = Mapping[str, Any]
"""Field of the settings -> value; durations in seconds."""

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
_WINDOWS: Final = ("window_short", "window_medium", "window_long", "baseline_window")


def contradictions(settings: Values) -> list[str]:
    """Return what is wrong, each with what was got and what was expected."""
    return [
        *_label_problems(settings),
        *_window_problems(settings),
        *_edge_problems(settings),
        *_order_problems(settings),
    ]


def _label_problems(settings: Values) -> list[str]:
    problems = []
    for label in settings["group_by"]:
        if not _LABEL.fullmatch(label) or label in {"instance", "window", "le", *_OWN_LABELS}:
            problems.append(
                f"group_by got {label!r}, expected a target label such as job, namespace or "
                "cluster (not instance: a replica that leaves would look like a repair)"
            )
    if "job" not in settings["group_by"] or len(set(settings["group_by"])) < len(
        settings["group_by"]
    ):
        problems.append(
            f"group_by got {settings['group_by']!r}, expected job and others, each once"
        )
    if not _MATCHERS.fullmatch(settings["selector"]):
        problems.append(
            f'selector got {settings["selector"]!r}, expected label="value" with commas'
        )
    if settings["severity_page"] == settings["severity_ticket"]:
        problems.append(f"severity_page and severity_ticket are both {settings['severity_page']!r}")
    if "$" in repr(settings):
        problems.append("a setting holds '$', which Grafana would take for a variable")
    return problems


def _window_problems(settings: Values) -> list[str]:
    problems = []
    windows = [settings[field] for field in _WINDOWS]
    if not all(shorter < longer for shorter, longer in itertools.pairwise(windows)):
        problems.append(
            f"windows got {', '.join(map(durations.text, windows))}, expected each longer than the "
            "one before"
        )
    shortest = settings["window_short"] * settings["time_scale"]
    fitting = durations.text(shortest / SCRAPES_PER_RANGE)
    needed = SCRAPES_PER_RANGE * settings["scrape_interval"]
    if shortest < needed:
        problems.append(
            f"time_scale {settings['time_scale']:.4g} makes window_short "
            f"{durations.text(shortest)}, expected at least {SCRAPES_PER_RANGE} scrapes, "
            f"{durations.text(needed)}; scrape at least every {fitting}"
        )
    if settings["memory"] <= settings["window_medium"]:
        problems.append(
            f"memory got {durations.text(settings['memory'])}, expected more than window_medium, "
            f"{durations.text(settings['window_medium'])}"
        )
    return problems


def _edge_problems(settings: Values) -> list[str]:
    """A histogram can be asked only about its bucket edges below the last finite one."""
    return [
        f"{field} got {settings[field]}, expected one of {', '.join(map(str, edges))}"
        for field, edges in (
            ("drift_similarity", names.SIMILARITY_BUCKETS[:-1]),
            ("weak_score", names.SCORE_BUCKETS[:-1]),
            ("latency_seconds", names.TURN_DURATION_BUCKETS[:-1]),
        )
        if settings[field] not in edges
    ]


def _order_problems(settings: Values) -> list[str]:
    """A page that needs less than its ticket would wake somebody for nothing."""
    return [
        f"{page} got {settings[page]}, expected at least {ticket}, {settings[ticket]}"
        for page, ticket in (
            ("page_add", "ticket_add"),
            ("page_odds", "ticket_odds"),
            ("error_page", "error_ticket"),
            ("latency_page", "latency_ticket"),
        )
        if settings[page] < settings[ticket]
    ]
