"""The board of failures: one row for each, from the signal down to what tells its causes apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from grafana_foundation_sdk.builders import statetimeline, table, text, timeseries
from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

from dashboards.boards.at_a_glance import rows, words
from dashboards.boards.colors import BAD, QUIET, STATES, TICKET
from dashboards.boards.layout import COLUMNS, Board, Make, Placed, Row
from dashboards.boards.links import is_url, runbook_address, runbook_of, traces_of
from dashboards.boards.over_time import lines, states
from dashboards.boards.queries import Queries, ratio
from dashboards.boards.signal_lines import Line, share_lines, signal_lines
from dashboards.boards.splits import SPLITS
from dashboards.boards.style import NUMBER, SECONDS, SHARE, limit_line
from dashboards.boards.targets import Query, letter
from dashboards.conditions import Burns, Happened, Share
from dashboards.failure import FAILURES_BOARD_UID, Alert, Failure
from dashboards.failures import FAILURES
from dashboards.settings import Settings
from dashboards.signals import Count, Signal
from dashboards.wording import filled
from telemetry import names

UNITS: Final = {"share": SHARE, "count": NUMBER, "seconds": SECONDS}
_LINES: Final = {"usual": QUIET, "ticket": TICKET, "page": BAD}
"""Style -> color of the lines that are limits."""
_WIDTHS: Final = {"sure": 3, "context": 1}
_PARTS: Final = 10
"""Ids that a row has for its other panels: ten times the signal's id, and nine more."""


def board() -> Board:
    """Return the board."""
    return Board(
        slug=FAILURES_BOARD_UID.removeprefix("loopscope-"),
        title="Loopscope: failures",
        about="One row for each failure of the diagnosis guide: its signal with the usual value "
        "and the limits of its alerts, the counts behind it, what tells the causes apart.",
        rows=tuple(_row(failure) for failure in FAILURES),
    )


def _row(failure: Failure) -> Row:
    first = failure.panel.id * _PARTS
    beside = [
        Placed(id=first + 1, make=partial(counts, failure), width=6, height=9),
        Placed(id=first + 2, make=partial(guide, failure), width=6, height=9),
    ]
    below = [
        Placed(id=first + place, make=make, width=width, height=7)
        for place, width, make in _below(failure)
    ]
    return Row(
        id=first,
        title=failure.title,
        panels=(
            Placed(id=failure.panel.id, make=partial(signal, failure), width=12, height=9),
            *beside,
            *below,
        ),
    )


def _below(failure: Failure) -> Iterator[tuple[int, int, Make]]:
    """Yield number, width and function of the panels of the second line and the next ones."""
    signals = failure.signals()
    own_panel = signals if failure.panel.unit == "seconds" else signals[1:]
    panels = [
        *(partial(cause, failure, signal) for signal in own_panel),
        *(partial(split, failure, make) for make in SPLITS[failure.slug]),
    ]
    has_rules = "prometheus" in failure.hosts
    width = COLUMNS // (len(panels) + (has_rules and not signals))
    if has_rules:
        yield 3, 12 if signals else width, partial(alert_states, failure)
    if signals:
        yield 4, 12, partial(sample, failure)
    for place, make in enumerate(panels):
        yield 5 + place, width, make


def signal(failure: Failure, queries: Queries) -> timeseries.Panel:
    """The failure's signal, what is usual, and the limits of its alerts."""
    about = " ".join(
        [
            failure.sentence,
            failure.meaning,
            *(f"{a.tier.capitalize()}: {_told(a, queries.settings)}" for a in failure.alerts[:2]),
        ]
    )
    panel = _drawn(
        failure.panel.title,
        filled(about, queries.settings),
        UNITS[failure.panel.unit],
        signal_lines(failure, queries),
        queries.settings,
    )
    return _linked(panel, failure, queries.settings)


def cause(failure: Failure, signal: Signal, queries: Queries) -> timeseries.Panel:
    """A share that points at one cause, with its own limits."""
    panel = _drawn(
        signal.what[0].upper() + signal.what[1:],
        f"Share of {signal.what}, of all {signal.out_of}, with what is usual and where its alert "
        "begins.",
        SHARE,
        share_lines(signal, failure, queries),
        queries.settings,
    )
    return _linked(panel, failure, queries.settings)


def counts(failure: Failure, queries: Queries) -> timeseries.Panel:
    """The counts behind the signal."""
    found = list(dict.fromkeys(_counted(failure, queries)))
    told = "; ".join(f"{name} are {what}" for name, what, _ in found)
    return lines(
        f"{failure.title}: k and n",
        f"The events and what they are a share of, so that a share of few is seen to be one. In "
        f"the last {queries.medium}: {told}.",
        NUMBER,
        *(Query(expr=expr, legend=_service(name, queries.settings)) for name, _, expr in found),
        empty="nothing counted",
    )


def _counted(failure: Failure, queries: Queries) -> Iterator[tuple[str, str, str]]:
    """Yield letter, meaning and PromQL of each count; k and n of the first alert first."""
    window = f'window="{queries.medium}"'
    for signal in failure.signals()[:1]:
        for name, recorded, what in (("k", "events", signal.what), ("n", "total", signal.out_of)):
            series = signal.recorded(recorded, queries.settings)
            yield name, what, queries.recorded(series, window)
    is_second = bool(failure.signals())
    for alert in failure.alerts:
        for name, count, what in _condition_counts(alert):
            increase = count.increase(queries.rules, queries.settings.window_medium)
            yield f"{name}2" if is_second else name, what, increase
    if not failure.signals() and not any(map(_condition_counts, failure.alerts)):
        turns = queries.gained(names.TURNS, by=queries.settings.group_by, over=queries.medium)
        yield "n", "turns", turns


def _condition_counts(alert: Alert) -> list[tuple[str, Count, str]]:
    condition = alert.condition
    if isinstance(condition, (Share, Burns)):
        whole = ("n", condition.total, condition.out_of)
        return [("k", condition.events, condition.what), whole]
    return [("k", condition.events, condition.what)] if isinstance(condition, Happened) else []


def guide(failure: Failure, queries: Queries) -> text.Panel:
    """What to think and do first."""
    settings = queries.settings
    address = runbook_address(failure, settings)
    name = address.rpartition("/")[2]
    page = f"[{name}]({address})" if is_url(address) else f"`{address}`"
    steps = [
        f"{place}. {filled(step, settings)}" for place, step in enumerate(failure.diagnosis, 1)
    ]
    markdown = "\n\n".join(
        [f"**{failure.sentence}** {failure.hurts}", "\n".join(steps), f"Runbook: {page}"]
    )
    return words(f"{failure.title}: first steps", "From the diagnosis guide.", markdown)


def alert_states(failure: Failure, queries: Queries) -> statetimeline.Panel:
    """State of each of the failure's alerts over time."""
    asked = [
        Query(expr=_state(failure, alert, queries), legend=failure.alert_name(alert))
        for alert in failure.alerts
    ]
    return states(
        f"{failure.title}: alerts",
        "When each alert was pending and when it fired.",
        STATES,
        *asked,
    )


def _state(failure: Failure, alert: Alert, queries: Queries) -> str:
    """0 ok, 1 pending, 2 fires as a ticket, 3 as a page; always there."""
    # An alert on something absent has no job of its own.
    matchers = ",".join(
        [
            f'alertname="{failure.alert_name(alert)}"',
            *(f'{label}=~"${label}|"' for label in queries.settings.group_by),
        ]
    )
    fires = 3 if alert.tier == "page" else 2
    return (
        f'max({fires} * ALERTS{{{matchers},alertstate="firing"}} '
        f'or ALERTS{{{matchers},alertstate="pending"}}) or vector(0)'
    )


def sample(failure: Failure, queries: Queries) -> table.Panel:
    """Counts, share and lower bound in each window."""
    signal = failure.signals()[0]
    by = {"window": "window", **{label: label for label in queries.settings.group_by}}
    k, n, lower = (
        queries.recorded(signal.recorded(what, queries.settings))
        for what in ("events", "total", "lower")
    )
    return rows(
        f"{failure.title}: sample size now",
        f"k are {signal.what}, n are {signal.out_of}. Surely at least: lower end of the interval "
        "that the alerts compare; empty where there are too few events.",
        NUMBER,
        by,
        ("k", NUMBER, Query(expr=k, kind="table")),
        ("n", NUMBER, Query(expr=n, kind="table")),
        ("share", SHARE, Query(expr=ratio(k, n), kind="table")),
        ("surely at least", SHARE, Query(expr=lower, kind="table")),
        empty="nothing counted",
    )


def split(failure: Failure, make: Make, queries: Queries) -> timeseries.Panel:
    """A panel of `splits.py` with the links of its failure."""
    panel = make(queries)
    assert isinstance(panel, timeseries.Panel)
    return _linked(panel, failure, queries.settings)


def _drawn(
    title: str, about: str, unit: str, shown: list[Line], settings: Settings
) -> timeseries.Panel:
    """Draw the lines: measured ones whole, the compared bound thin, limits dashed."""
    asked = [
        Query(
            expr=line.expr,
            legend=_service(line.legend, settings) if line.is_per_service else line.legend,
        )
        for line in shown
    ]
    panel = lines(title, about, unit, *asked, empty="too few events")
    for place, line in enumerate(shown):
        if line.style in _LINES:
            panel = limit_line(panel, letter(place), _LINES[line.style])
        elif line.style in _WIDTHS:
            width = DynamicConfigValue("custom.lineWidth", _WIDTHS[line.style])
            panel = panel.override_by_query(letter(place), [width])
    return panel


def _linked(panel: timeseries.Panel, failure: Failure, settings: Settings) -> timeseries.Panel:
    links = [*runbook_of(failure, settings), traces_of(failure, settings)]
    return panel.links(list(links)).data_links([traces_of(failure, settings)])


def _service(legend: str, settings: Settings) -> str:
    """Return the legend with the labels that name a service before it."""
    return " ".join(f"{{{{{label}}}}}" for label in settings.group_by) + f": {legend}"


def _told(alert: Alert, settings: Settings) -> str:
    return alert.condition.told(settings)
