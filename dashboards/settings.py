"""Every knob of what is generated: one frozen object, passed by hand."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from dashboards import durations
from dashboards.consistency import GRAFANA_TICK_SECONDS, SCRAPES_PER_RANGE, contradictions
from dashboards.errors import SettingsError


def _list(value: Any) -> Any:
    return tuple(filter(None, re.split(r"[,\s]+", value))) if isinstance(value, str) else value


def _mapping(value: Any) -> Any:
    pairs = (pair.partition("=") for pair in value.split(",")) if isinstance(value, str) else None
    return value if pairs is None else {key.strip(): item.strip() for key, _, item in pairs if key}


def _fraction(value: Any) -> Any:
    above, slash, below = value.partition("/") if isinstance(value, str) else (value, "", "")
    try:
        return float(above) / float(below) if slash else value
    except (ValueError, ZeroDivisionError):
        return value


Scale = Annotated[float, BeforeValidator(_fraction)]
"""A factor; also given as a fraction such as `1/60`."""
Duration = Annotated[float, BeforeValidator(durations.seconds)]
"""Seconds; also given as a text such as `15m`."""
Labels = Annotated[dict[str, str], BeforeValidator(_mapping)]
LabelNames = Annotated[tuple[str, ...], BeforeValidator(_list)]
Share = Annotated[float, Field(gt=0, lt=1)]
"""0 to 1, both excluded."""
Expected = Annotated[float, Field(ge=0.001, le=0.9)]
"""A share a baseline starts from."""


class Settings(BaseModel):
    """What is generated. Durations are stated for real time; `time_scale` shortens them all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    time_scale: Scale = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Factor on every duration; 1/60 in a "
        "demo makes an hour a minute. Scrape interval apart.",
    )
    scrape_interval: Duration = Field(
        default=15.0, description="How often Prometheus scrapes, unscaled."
    )
    evaluation_interval: Duration = Field(
        default=60.0, description="How often rules are evaluated."
    )
    group_wait: Duration = Field(
        default=10.0, description="Alertmanager's wait before it notifies."
    )

    window_short: Duration = Field(
        default=900.0, description="Shortest of the three windows of a share."
    )
    window_medium: Duration = Field(
        default=3600.0, description="Middle one; also the one of rare events."
    )
    window_long: Duration = Field(default=21600.0, description="Longest, for quiet sites.")
    baseline_window: Duration = Field(
        default=604800.0, description="How far back a baseline looks."
    )
    baseline_delay: Duration = Field(
        default=21600.0, description="Keeps an incident out of its baseline."
    )
    change_window: Duration = Field(
        default=7200.0, description="How long a change counts as recent."
    )
    memory: Duration = Field(default=86400.0, description="How long a job that vanished is missed.")
    period: Duration = Field(
        default=604800.0, description="Traffic is compared with that of so long ago."
    )

    group_by: LabelNames = Field(
        default=("job",), description="Target labels that tell services apart."
    )
    selector: str = Field(
        default="",
        description='Matchers on target labels for every series, such as `namespace="prod"`.',
    )
    severity_page: str = Field(
        default="page", min_length=1, description="Label value: wakes a person."
    )
    severity_ticket: str = Field(
        default="ticket", min_length=1, description="Label value: office hours."
    )
    runbook_base: str = Field(
        default="docs/runbooks",
        min_length=1,
        description="Address before the runbook's file name; default: the path in the repository.",
    )

    expected_rejected: Expected = Field(
        default=0.10, description="Usual off-topic share of all turns."
    )
    expected_no_results: Expected = Field(
        default=0.10, description="Usual no-results share of searches."
    )
    expected_empty: Expected = Field(
        default=0.05, description="Usual share of retrievals without chunks."
    )
    expected_weak: Expected = Field(
        default=0.15, description="Usual share of chunks below `weak_score`."
    )
    expected_grade_fail: Expected = Field(
        default=0.60, description="Usual share of chunks graded out at the first retrieval."
    )
    baseline_weight: float = Field(
        default=200,
        gt=0,
        description="Pseudo-events at the expected share that a baseline starts with.",
    )
    min_events: int = Field(default=5, ge=1, description="Fewest events before a share can alert.")
    min_total: int = Field(default=10, ge=1, description="Fewest events it is a share of.")
    ticket_add: Share = Field(default=0.10, description="Ticket: share above the baseline.")
    ticket_odds: float = Field(
        default=3, gt=1, description="Ticket: factor on the baseline's odds."
    )
    page_add: Share = Field(default=0.20, description="Page: share above the baseline.")
    page_odds: float = Field(default=4, gt=1, description="Page: factor on the baseline's odds.")
    grader_add: Share = Field(default=0.15, description="Grader ticket: share above the baseline.")

    loop_budget: Share = Field(
        default=0.005, description="Turns that may hit the recursion limit: 1 minus the objective."
    )
    min_rare: int = Field(default=3, ge=1, description="Fewest rare events before they can page.")
    misplaced_page: Share = Field(
        default=0.10, description="Page: share of turns that ended against their own grades."
    )
    swap_ticket: Share = Field(
        default=0.25, description="Ticket: share of rewrites that are swaps."
    )
    drift_similarity: float = Field(
        default=0.5,
        description="At or below it a rewrite has drifted; an edge of the similarity histogram.",
    )
    drift_ticket: Share = Field(
        default=0.20, description="Ticket: share of later rewrites that drifted."
    )
    drift_page: Share = Field(default=0.05, description="Page: share of answers given after drift.")
    cap_ticket: Share = Field(
        default=0.50, description="Ticket: share of revise loops that use up their drafts."
    )
    flat_ticket: Share = Field(
        default=0.50, description="Ticket: share of revisions that score no better."
    )
    stale_ticket: Share = Field(
        default=0.20, description="Ticket: share of revisions beside a stale critique."
    )
    weak_score: float = Field(
        default=0.05,
        description="At or below it a chunk hardly matched, in the "
        "retriever's unit; an edge of the score histogram.",
    )
    error_ticket: Share = Field(
        default=0.05, description="Ticket: share of calls or turns that fail."
    )
    error_page: Share = Field(default=0.25, description="Page: share of calls or turns that fail.")
    latency_seconds: float = Field(
        default=20.0,
        description="A slower turn is slow; an edge of the duration histogram below its last.",
    )
    latency_ticket: Share = Field(default=0.05, description="Ticket: share of slow turns.")
    latency_page: Share = Field(default=0.25, description="Page: share of slow turns.")
    traffic_expected: float = Field(
        default=20,
        gt=0,
        description="Turns that a window must have held before its silence means anything.",
    )

    grafana_url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="Grafana's address; with it, each Prometheus alert links to its panel.",
    )
    prometheus_uid: str = Field(
        default="prometheus",
        min_length=1,
        description="Grafana's uid (not name) of the Prometheus data source.",
    )
    tempo_uid: str = Field(
        default="tempo", min_length=1, description="Grafana's uid of the trace store."
    )
    uid_prefix: str = Field(
        default="rag", pattern=r"^[a-zA-Z0-9_-]{1,7}$", description="Starts every uid."
    )
    grafana_folder: str = Field(
        default="Loopscope alerts",
        min_length=1,
        description="Folder of the rules; not the one of a dashboard.",
    )
    grafana_org: int = Field(default=1, ge=1, description="Grafana organisation.")
    rule_name: str = Field(
        default="loopscope",
        pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        description="Name of the PrometheusRule.",
    )
    rule_namespace: str = Field(
        default="monitoring",
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        description="Its namespace.",
    )
    rule_labels: Labels = Field(
        default_factory=lambda: {"release": "kube-prometheus-stack"},
        description="Its labels, by which the operator selects it.",
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        found = contradictions(self.model_dump())
        if found:
            raise ValueError("; ".join(found))
        return self

    @property
    def windows(self) -> tuple[float, float, float]:
        """The three windows of a share, unscaled seconds, short to long."""
        return (self.window_short, self.window_medium, self.window_long)

    @property
    def level(self) -> str:
        """First part of a recording rule's name: the labels its series keep."""
        return "_".join(self.group_by)

    @property
    def by(self) -> str:
        """The grouping labels as they stand between the parentheses of `by` and `on`."""
        return ", ".join(self.group_by)

    def span(self, duration: float) -> str:
        """Return a real-time duration, in seconds, scaled, as Prometheus writes it."""
        return durations.text(duration * self.time_scale)

    def range_seconds(self, window: float) -> float:
        """Return the scaled seconds of a window, never less than four scrapes."""
        return max(window * self.time_scale, SCRAPES_PER_RANGE * self.scrape_interval)

    def range(self, window: float) -> str:
        """Return a window, in seconds of real time, as it stands in a range selector."""
        return durations.text(self.range_seconds(window))

    @property
    def evaluation_seconds(self) -> float:
        """Seconds between evaluations, scaled, never less than a scrape."""
        return max(self.evaluation_interval * self.time_scale, self.scrape_interval)

    @property
    def grafana_seconds(self) -> int:
        """Seconds between evaluations in Grafana, scaled: a multiple of its tick."""
        ticks = math.ceil(self.evaluation_interval * self.time_scale / GRAFANA_TICK_SECONDS)
        return max(1, ticks) * GRAFANA_TICK_SECONDS

    def limit(self, field: str) -> float:
        """Return the number a definition names by its field."""
        return float(getattr(self, field))

    def severity(self, tier: str) -> str:
        """Return the label value of the tier `page` or `ticket`."""
        return self.severity_page if tier == "page" else self.severity_ticket


def load_settings(**given: Any) -> Settings:
    """Return the settings: given values, else defaults; None stands for not given.

    Raises:
        SettingsError: A value is out of range or contradicts another; each is named.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise SettingsError(
            _told(problem["loc"], problem["input"], problem["msg"]) for problem in error.errors()
        ) from None


def _told(location: tuple[int | str, ...], got: object, message: str) -> str:
    said = message.removeprefix("Value error, ").removeprefix("Input should be ")
    return f"{'.'.join(map(str, location))} got {got!r}, expected {said}" if location else said
