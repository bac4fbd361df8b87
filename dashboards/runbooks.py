"""Runbooks: one page a failure, one heading an alert, and an index; readable on their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dashboards import durations
from dashboards.detection import seconds_to_fire
from dashboards.failure import FAILURES_BOARD_UID, Alert, Failure, recordings_by_group
from dashboards.failures import FAILURES
from dashboards.settings import Settings
from dashboards.signals import number
from dashboards.wording import filled

HEADER: Final = (
    "<!-- Generated from dashboards/failures.py by `loopscope dashboards generate`. "
    "Do not edit. -->\n"
)
RATES: Final = (50.0, 10.0, 2.0, 0.5)
"""Turns (or whatever the share is of) a minute for which detection times are told."""
AFFECTED: Final = (1.0, 0.5)
"""Shares of what used to go well that now goes wrong, for which detection times are told."""
_EVENT_TIMES: Final = {
    "FellSilent": "the shortest window that used to hold enough turns",
    "Vanished": "the next scrape that fails",
    "Flipped": "two rounds of the prober, at any traffic",
    "ProberGone": "the next scrape that fails",
    "NoRoom": "the first turn after the change",
    "Unanswered": "the first evaluation that fails",
}
"""Kind of condition that is not about counts -> what it needs before its waiting time begins."""


def files(settings: Settings) -> dict[str, str]:
    """Return path -> text of the pages."""
    pages = {f"runbooks/{failure.slug}.md": page(failure, settings) for failure in FAILURES}
    return {**pages, "runbooks/README.md": index(settings)}


def index(settings: Settings) -> str:
    """Return the list of all alerts."""
    rows = [
        f"| [{failure.alert_name(alert)}]({failure.slug}.md#{failure.alert_name(alert).lower()}) | "
        f"{settings.severity(alert.tier)} | {failure.sentence} |"
        for failure in FAILURES
        for alert in failure.alerts
    ]
    return "\n".join(
        [
            HEADER,
            "# Runbooks",
            "",
            "One page a failure; each alert links to its own heading. A page alert is about "
            "customers who are hurt now; a ticket can wait for office hours. When several alerts "
            "fire for one service, start with `metrics_absent`, then with the one that names a "
            "cause; each page lists what follows from its failure.",
            "",
            "| Alert | Severity | What goes wrong |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def page(failure: Failure, settings: Settings) -> str:
    """Return the page of a failure."""
    parts = [
        HEADER,
        f"# {failure.title}\n",
        f"{failure.sentence} {failure.hurts}\n",
        _alert_table(failure, settings),
        f"## Meaning\n\n{failure.meaning}\n",
        f"## Impact\n\n{failure.hurts}{_follows(failure)}\n",
        _diagnosis(failure),
        f"## Mitigation\n\n{_steps(failure.mitigation)}{_silence(failure)}",
        f"## Known false causes\n\n{_bullets(failure.false_causes)}",
        "## Alerts\n",
        *(_alert_section(failure, alert, settings) for alert in failure.alerts),
        _recorded(failure, settings),
    ]
    return filled("\n".join(part for part in parts if part), settings)


def _alert_table(failure: Failure, settings: Settings) -> str:
    rows = [
        f"| [{failure.alert_name(alert)}](#{failure.alert_name(alert).lower()}) | "
        f"{settings.severity(alert.tier)} | {alert.cause or ''} |"
        for alert in failure.alerts
    ]
    return "\n".join(["| Alert | Severity | Cause |", "|---|---|---|", *rows, ""])


def _follows(failure: Failure) -> str:
    if not failure.consequences:
        return ""
    links = ", ".join(f"[{slug}]({slug}.md)" for slug in failure.consequences)
    return f"\n\nAlerts of these failures may follow from it: {links}."


def _diagnosis(failure: Failure) -> str:
    by_cause = [
        f"- When `{failure.alert_name(alert)}` fires: {' '.join(alert.diagnosis)}"
        for alert in failure.alerts
        if alert.diagnosis
    ]
    return "\n".join(
        [
            "## Diagnosis\n",
            _steps(failure.diagnosis),
            *(["\n".join(by_cause) + "\n"] if by_cause else []),
            "First three commands (`PROMETHEUS` is Prometheus' address, `SERVICE` the agent's):\n",
            "```sh",
            *failure.commands,
            "```\n",
            f'Panel "{failure.panel.title}" (number {failure.panel.id}) of the dashboard '
            f"`{FAILURES_BOARD_UID}` shows the signal. Traces of the turns concerned (TraceQL):\n",
            f"```\n{failure.traces}\n```\n",
        ]
    )


def _silence(failure: Failure) -> str:
    return (
        "\nWhile the repair is under way, silence the alerts of this failure for one service:\n\n"
        "```sh\n"
        f'amtool silence add --alertmanager.url="$ALERTMANAGER" failure={failure.slug} '
        'job="$JOB" --duration=2h --comment="repair under way"\n'
        "```\n\n"
        "A limit that does not fit this service is a setting: "
        "`loopscope dashboards generate --help` lists them, and one run changes rule, panel and "
        "this page together.\n"
    )


def _alert_section(failure: Failure, alert: Alert, settings: Settings) -> str:
    keep = (
        f"It goes on for {settings.span(alert.keep_seconds)} after the condition ended. "
        if alert.keep_seconds
        else ""
    )
    return "\n".join(
        [
            f"### {failure.alert_name(alert)}\n",
            f"{alert.condition.told(settings)}\n",
            f"{alert.why}\n",
            f"```promql\n{alert.condition.expr(settings)}\n```\n",
            f"{keep}{_detection(alert, settings)}\n",
        ]
    )


def _detection(alert: Alert, settings: Settings) -> str:
    pending = settings.span(alert.pending_seconds)
    waits = f"{pending} of waiting time, " if alert.pending_seconds else ""
    kind = type(alert.condition).__name__
    after = (
        f"evaluated every {durations.text(settings.evaluation_seconds)}, and notified within "
        f"{settings.span(settings.group_wait)} by Alertmanager"
    )
    if kind == "Happened":
        return f"Detection: the next evaluation after the event, {waits}{after}."
    if kind in _EVENT_TIMES:
        return f"Detection: {_EVENT_TIMES[kind]}, then {waits}{after}."
    return f"Detection, with {waits}{after}:\n\n{_detection_table(alert, settings)}"


def _detection_table(alert: Alert, settings: Settings) -> str:
    rows = [
        f"| {number(rate)} a minute | "
        + " | ".join(_told(_at(alert, settings, rate, affected)) for affected in AFFECTED)
        + " |"
        for rate in RATES
    ]
    heads = " | ".join(f"{number(affected * 100)} % affected" for affected in AFFECTED)
    return "\n".join(
        [f"| Events it is a share of | {heads} |", "|---|" + "---|" * len(AFFECTED), *rows]
    )


def _at(alert: Alert, settings: Settings, per_minute: float, affected: float) -> float | None:
    """Return seconds to fire at a rate of real time: a scaled minute holds as many events."""
    per_second = per_minute / 60 / settings.time_scale
    return seconds_to_fire(alert, settings, per_second=per_second, affected=affected)


def _told(seconds: float | None) -> str:
    return "not within a day" if seconds is None else durations.spoken(seconds)


def _recorded(failure: Failure, settings: Settings) -> str:
    names = dict.fromkeys(
        recording.name
        for _, recordings, _ in recordings_by_group(failure, settings)
        for recording in recordings
    )
    if not names:
        return ""
    return "Recorded series to plot: " + ", ".join(f"`{name}`" for name in names) + ".\n"


def _steps(steps: Iterable[str]) -> str:
    return "\n".join(f"{place}. {step}" for place, step in enumerate(steps, 1)) + "\n"


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items) + "\n"
