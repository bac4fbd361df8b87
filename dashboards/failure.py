"""What a failure of the guide consists of; `failures.py` holds the failures themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from dashboards.conditions import Condition
from dashboards.settings import Settings
from dashboards.signals import Recording, Signal

Tier = Literal["page", "ticket"]
Cause = Literal["index", "grader", "change"]
Unit = Literal["share", "count", "seconds"]
Host = Literal["prometheus", "grafana"]

FAILURES_BOARD_UID: Final = "loopscope-failures"
"""Uid of the dashboard that has one row for each failure; every alert links to a panel of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The panel that shows the failure's signal; its number never changes and is never reused."""

    id: int
    title: str
    unit: Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert of a failure, the same in Prometheus, in Kubernetes and in Grafana."""

    tier: Tier
    condition: Condition
    summary: str
    """One line with `{service}` and, if it tells something, `{value}`."""
    why: str
    """Why this condition and these times: the design's reason, for the runbook."""
    pending_seconds: float = 0.0
    """How long the condition must hold, real time; 0 where the event already happened."""
    keep_seconds: float = 0.0
    """How long the alert goes on after the condition ended, real time; 0 for not at all."""
    cause: Cause | None = None
    diagnosis: tuple[str, ...] = ()
    """Steps only for this alert, before the failure's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One row of the diagnosis guide."""

    slug: str
    title: str
    sentence: str
    """What goes wrong, in one sentence."""
    hurts: str
    """Who is hurt and how."""
    alerts: tuple[Alert, ...]
    panel: Panel
    meaning: str
    diagnosis: tuple[str, ...]
    mitigation: tuple[str, ...]
    false_causes: tuple[str, ...]
    """What raises the alert although nothing is wrong."""
    commands: tuple[str, str, str]
    """The first three commands; `{prometheus}`, `{service}` and `{matchers}` are filled in."""
    traces: str
    """TraceQL that finds the turns concerned; settings fields may stand in braces `<...>`."""
    consequences: tuple[str, ...] = ()
    """Slugs of failures whose alerts may fire as well, because of this one."""
    hosts: tuple[Host, ...] = ("prometheus", "grafana")
    """What evaluates the alerts."""

    def alert_name(self, alert: Alert) -> str:
        """Return the alert's name, the same everywhere: `RagNoResultsJumpIndexTicket`."""
        words = (*self.slug.split("_"), alert.cause or "", alert.tier)
        return "Rag" + "".join(word.capitalize() for word in words)

    def alert_uid(self, alert: Alert, settings: Settings) -> str:
        """Return the rule's uid in Grafana, at most 40 characters; never given to another rule."""
        parts = (settings.uid_prefix, self.slug, alert.cause, alert.tier)
        return "-".join(part for part in parts if part)

    def labels(self, alert: Alert, settings: Settings) -> dict[str, str]:
        """Return the alert's labels: constants, so that an alert stays the same while it fires."""
        labels = {"failure": self.slug, "severity": settings.severity(alert.tier)}
        return {**labels, "cause": alert.cause} if alert.cause else labels

    def runbook_url(self, alert: Alert, settings: Settings) -> str:
        """Return the address of the failure's page, at the alert's own heading."""
        anchor = self.alert_name(alert).lower()
        return f"{settings.runbook_base.rstrip('/')}/{self.slug}.md#{anchor}"

    def signals(self) -> tuple[Signal, ...]:
        """Return the shares that the alerts compare, each once, in order."""
        found: dict[str, Signal] = {}
        for alert in self.alerts:
            for part in getattr(alert.condition, "of", (alert.condition,)):
                signal = getattr(part, "signal", None)
                if isinstance(signal, Signal):
                    found.setdefault(signal.slug, signal)
        return tuple(found.values())


def recordings_by_group(
    failure: Failure, settings: Settings
) -> list[tuple[str, list[Recording], list[Alert]]]:
    """Return the rule groups of a failure: name, recordings not made before, alerts.

    A cause with signals of its own has a group of its own, which keeps every group below the
    20 rules that hosted rulers allow by default.
    """
    groups: dict[str, tuple[list[Recording], list[Alert]]] = {}
    made: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for alert in failure.alerts:
        own = alert.cause if alert.cause in ("index", "grader") else None
        name = "_".join(filter(None, ("rag", failure.slug, own)))
        recordings, alerts = groups.setdefault(name, ([], []))
        alerts.append(alert)
        for recording in alert.condition.recordings(settings):
            if (recording.name, recording.labels) not in made:
                made.add((recording.name, recording.labels))
                recordings.append(recording)
    return [(name, *group) for name, group in groups.items()]
