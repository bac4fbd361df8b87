"""The lines that show a failure's signal: what is measured, what is usual, where its alerts begin.

Every expression is the one of the condition, so that panel and rule cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Literal

from dashboards.boards.queries import RULE_GROUPS, Queries, ratio
from dashboards.conditions import (
    BURN_RATES,
    BURSTS_PER_WINDOW,
    Burns,
    Condition,
    Either,
    Exceeds,
    Happened,
    Rises,
    Share,
)
from dashboards.failure import Alert, Failure, Unit
from dashboards.signals import Signal, number, series
from dashboards.special_conditions import (
    ROUNDS,
    FellSilent,
    Flipped,
    NoRoom,
    ProberGone,
    Unanswered,
    Vanished,
    flipped,
)
from telemetry import names

Style = Literal["measured", "sure", "context", "usual", "ticket", "page"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a signal panel."""

    expr: str
    legend: str
    style: Style = "measured"
    """`sure` is the lower bound that alerts compare, `context` is thin; the last three, which are
    no measurements, are dashed."""
    is_per_service: bool = True
    """There is one for each service, so that the legend must name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """For which alert, in which unit, and with which variables lines are asked for."""

    alert: Alert
    unit: Unit
    queries: Queries


def signal_lines(failure: Failure, queries: Queries) -> list[Line]:
    """Return the lines of the failure's main panel, each once, measurements first."""
    found: dict[str, Line] = {}
    for alert in failure.alerts:
        if _is_main(alert, failure):
            view = View(alert=alert, unit=failure.panel.unit, queries=queries)
            for line in condition_lines(alert.condition, view):
                found.setdefault(line.expr, line)
    return sorted(found.values(), key=lambda line: line.style in ("usual", "ticket", "page"))


def share_lines(signal: Signal, failure: Failure, queries: Queries) -> list[Line]:
    """Return the lines of one share and of the limits that alerts of the failure set it."""
    found: dict[str, Line] = {}
    for alert in failure.alerts:
        for part in getattr(alert.condition, "of", (alert.condition,)):
            if getattr(part, "signal", None) == signal:
                view = View(alert=alert, unit="share", queries=queries)
                for line in condition_lines(part, view):
                    found.setdefault(line.expr, line)
    return list(found.values())


def _is_main(alert: Alert, failure: Failure) -> bool:
    """Whether the alert compares what the main panel shows; causes have panels of their own."""
    signals = failure.signals()
    own = getattr(alert.condition, "signal", None)
    return not isinstance(alert.condition, Either) and own in (None, *signals[:1])


@singledispatch
def condition_lines(condition: Condition, view: View) -> Iterator[Line]:
    """Yield the lines of a condition.

    Raises:
        NotImplementedError: The kind of condition has no panel yet.
    """
    raise NotImplementedError(f"no lines for {type(condition).__name__}: add them here")


@condition_lines.register
def _(condition: Rises, view: View) -> Iterator[Line]:
    signal = condition.signal
    yield from _share(signal, view.queries)
    yield Line(
        expr=_recorded(signal, "baseline", view.queries), legend="usual (baseline)", style="usual"
    )
    yield Line(
        expr=_recorded(signal, f"threshold_{condition.margin.tier}", view.queries),
        legend=f"{condition.margin.tier} above",
        style="page" if condition.margin.tier == "page" else "ticket",
    )


@condition_lines.register
def _(condition: Exceeds, view: View) -> Iterator[Line]:
    if view.unit == "seconds":
        yield from _durations(view.queries)
        return
    yield from _share(condition.signal, view.queries)
    yield _limit(
        view.queries.settings.limit(condition.limit), view.alert, f"{view.alert.tier} above"
    )


@condition_lines.register
def _(condition: Share, view: View) -> Iterator[Line]:
    window = view.queries.settings.limit(condition.window)
    shown = view.queries.settings.range(window)
    limit = view.queries.settings.limit(condition.limit)
    if view.unit == "share":
        yield Line(
            expr=condition.value(view.queries.rules), legend=f"{condition.what}, last {shown}"
        )
        yield _limit(limit, view.alert, f"{view.alert.tier}: {condition.what} above")
        return
    whole = condition.total.increase(view.queries.rules, window)
    yield Line(
        expr=condition.events.increase(view.queries.rules, window), legend=f"events, last {shown}"
    )
    yield Line(
        expr=f"{number(limit)} * {whole}",
        legend=f"{view.alert.tier} above ({number(limit * 100)} % of {condition.out_of})",
        style=view.alert.tier,
    )


@condition_lines.register
def _(condition: Burns, view: View) -> Iterator[Line]:
    for field, factor in BURN_RATES:
        window = view.queries.settings.limit(field)
        for length in (window, window / BURSTS_PER_WINDOW):
            yield Line(
                expr=ratio(
                    condition.events.increase(view.queries.rules, length),
                    condition.total.increase(view.queries.rules, length),
                ),
                legend=f"share, last {view.queries.settings.range(length)}",
            )
        spans = f"{view.queries.settings.range(window)} and its burst"
        limit = condition.limit_of(view.queries.settings, factor)
        yield _limit(limit, view.alert, f"{view.alert.tier}: {spans} above")


@condition_lines.register
def _(condition: Happened, view: View) -> Iterator[Line]:
    if view.unit == "share":
        return  # a count among shares; the panel of counts shows it
    shown = view.queries.settings.range(view.queries.settings.limit(condition.window))
    yield Line(expr=condition.value(view.queries.rules), legend=f"events, last {shown}")
    yield _limit(0, view.alert, f"{view.alert.tier} above")


@condition_lines.register
def _(_: FellSilent, view: View) -> Iterator[Line]:
    settings = view.queries.settings
    for window in settings.windows:
        length, past = settings.range(window), settings.span(settings.period)
        now = view.queries.recorded(traffic(view.queries), f'window="{length}"')
        yield Line(expr=now, legend=f"turns, last {length}")
        if window == settings.window_medium:
            before = f"({now} offset {past} or {now} offset {length})"
            yield Line(expr=before, legend=f"{past} ago, else the {length} before", style="usual")
    yield _limit(settings.traffic_expected, view.alert, "silence counts if there were more")


def traffic(queries: Queries) -> str:
    """Return the name of the recorded series of all turns, one a window."""
    return f"{queries.settings.level}_window:rag_traffic:increase"


@condition_lines.register
def _(_: Vanished, view: View) -> Iterator[Line]:
    info, by = series(view.queries.rules, names.BUILD_INFO), view.queries.settings.by
    yield from _seen(info, by, "services scraped", view)


@condition_lines.register
def _(condition: Flipped, view: View) -> Iterator[Line]:
    yield Line(expr=flipped(view.queries.rules, 1), legend="unlike expected in the last round")
    yield Line(expr=condition.value(view.queries.rules), legend=f"{ROUNDS} rounds in a row")
    yield _limit(0, view.alert, f"{view.alert.tier}: {ROUNDS} rounds in a row above")


@condition_lines.register
def _(_: ProberGone, view: View) -> Iterator[Line]:
    last, by = series(view.queries.rules, names.PROBE_LAST_ROUND), view.queries.settings.by
    yield from _seen(last, by, "services probed", view)


@condition_lines.register
def _(_: NoRoom, view: View) -> Iterator[Line]:
    by = f"{view.queries.settings.by}, {names.LABEL_GRAPH}"
    limit = series(view.queries.rules, names.RECURSION_LIMIT_GAUGE)
    needed = series(view.queries.rules, names.RECURSION_STEPS_NEEDED)
    yield Line(expr=f"min by ({by}) ({limit})", legend="{{graph}}: recursion limit")
    yield Line(
        expr=f"max by ({by}) ({needed})",
        legend="{{graph}}: ticket at or below (steps needed)",
        style="ticket",
    )


@condition_lines.register
def _(condition: Unanswered, view: View) -> Iterator[Line]:
    failed = f"prometheus_rule_evaluation_failures_total{{{RULE_GROUPS}}}"
    yield Line(
        expr=f"sum(increase({failed}[{view.queries.settings.range(view.queries.settings.window_short)}]))",
        legend="failed evaluations of our rules",
        is_per_service=False,
    )
    yield Line(
        expr=condition.value(view.queries.rules),
        legend="Prometheus answers (page when it does not)",
        style="page",
        is_per_service=False,
    )


def _seen(selector: str, by: str, what: str, view: View) -> Iterator[Line]:
    """Yield how many services have a series now, and how many had one lately."""
    memory = view.queries.settings.range(view.queries.settings.memory)
    yield Line(
        expr=f"count(group by ({by}) ({selector}))", legend=f"{what} now", is_per_service=False
    )
    yield Line(
        expr=f"count(group by ({by}) (last_over_time({selector}[{memory}])))",
        legend=f"{view.alert.tier} below: services of the last {memory}",
        style=view.alert.tier,
        is_per_service=False,
    )


def _share(signal: Signal, queries: Queries) -> Iterator[Line]:
    window = f'window="{queries.medium}"'
    events = queries.recorded(signal.recorded("events", queries.settings), window)
    total = queries.recorded(signal.recorded("total", queries.settings), window)
    lower = queries.recorded(signal.recorded("lower", queries.settings))
    yield Line(
        expr=f"max by ({queries.settings.by}) ({lower})", legend="surely at least", style="sure"
    )
    yield Line(expr=ratio(events, total), legend=f"share, last {queries.medium}", style="context")


def _durations(queries: Queries) -> Iterator[Line]:
    for share, name in ((0.5, "half are faster"), (0.95, "95 of 100 are faster")):
        buckets = queries.one(f"{names.TURN_DURATION}_bucket")
        rate = f"sum by ({queries.settings.by}, le) (rate({buckets}[$__rate_interval]))"
        yield Line(expr=f"histogram_quantile({share}, {rate})", legend=name)
    yield Line(
        expr=f"vector({number(queries.settings.latency_seconds)})",
        legend="slow above (objective)",
        style="usual",
        is_per_service=False,
    )


def _recorded(signal: Signal, what: str, queries: Queries) -> str:
    return queries.recorded(signal.recorded(what, queries.settings))


def _limit(value: float, alert: Alert, legend: str) -> Line:
    return Line(
        expr=f"vector({number(value)})",
        legend=legend,
        style=alert.tier,
        is_per_service=False,
    )
