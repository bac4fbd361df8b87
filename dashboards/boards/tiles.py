"""One tile for each failure: its state in words and color, and its number."""

from __future__ import annotations

from grafana_foundation_sdk.builders import common, stat
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

from dashboards.boards.at_a_glance import figure
from dashboards.boards.colors import BAD, GOOD, STATES, TICKET, WATCH
from dashboards.boards.links import row_of
from dashboards.boards.queries import Queries, ratio
from dashboards.boards.signal_lines import traffic
from dashboards.boards.style import NUMBER, SHARE, fixed, state_names, steps
from dashboards.boards.targets import Query
from dashboards.failure import Failure
from dashboards.signals import Signal
from dashboards.special_conditions import FellSilent, NoRoom, ProberGone, Vanished


def tile(failure: Failure, queries: Queries) -> stat.Panel:
    """State and value of a failure, with a link to its row."""
    value, unit = _value(failure, queries)
    is_told_by_rules = "prometheus" in failure.hosts
    panel = figure(
        failure.title,
        f"{failure.sentence} {failure.hurts} The state is the worst of its alerts; below is "
        f"{_what(failure, queries)}.",
        "none",
        Query(expr=_state(failure, queries), legend="state", kind="instant"),
        Query(expr=value, legend=_what(failure, queries), kind="instant"),
        empty="no answer",
    )
    panel = (
        panel.color_mode(shapes.BigValueColorMode.BACKGROUND)
        .text_mode(shapes.BigValueTextMode.VALUE)
        .orientation(shapes.VizOrientation.HORIZONTAL)
        .text(common.VizTextDisplayOptions().value_size(18))
        .thresholds(steps((None, GOOD), (1, WATCH), (2, TICKET), (3, BAD)))
        .override_by_query(
            "B",
            [
                fixed("transparent"),
                DynamicConfigValue("unit", unit),
                DynamicConfigValue("decimals", 1 if unit == SHARE else 0),
            ],
        )
    )
    if is_told_by_rules:
        names = STATES
    else:  # Grafana's own rule tells it; here it only shows that there is an answer at all
        names = {1: ("ok", GOOD)}
        panel = panel.thresholds(steps((None, GOOD)))
    panel = panel.override_by_query("A", [_mapped(names)])
    return panel.links([row_of(failure)]).data_links([row_of(failure)])


def _mapped(names: dict[int, tuple[str, str]]) -> DynamicConfigValue:
    return DynamicConfigValue("mappings", [state_names(names)])


def _state(failure: Failure, queries: Queries) -> str:
    """The worst state of the failure's alerts over all services; 0 when none is raised."""
    if "prometheus" not in failure.hosts:
        return failure.alerts[0].condition.value(queries.settings)
    settings = queries.settings
    services = ",".join(f'{label}=~"${label}|"' for label in settings.group_by)
    of = f'failure="{failure.slug}",{services}'
    firing = f'{of},alertstate="firing"'
    return (
        f'max(3 * ALERTS{{{firing},severity="{settings.severity_page}"}} '
        f'or 2 * ALERTS{{{firing},severity="{settings.severity_ticket}"}} '
        f'or ALERTS{{{of},alertstate="pending"}}) or vector(0)'
    )


def _value(failure: Failure, queries: Queries) -> tuple[str, str]:
    """The number of the failure over all services, and its unit."""
    signal, window = _first_to_move(failure), f'window="{queries.medium}"'
    if signal is not None:
        k, n = (
            queries.recorded(signal.recorded(what, queries.settings), window)
            for what in ("events", "total")
        )
        return f"max({ratio(k, n)})", SHARE
    condition = failure.alerts[0].condition
    if isinstance(condition, FellSilent):
        return f"max({queries.recorded(traffic(queries), window)})", NUMBER
    value = condition.value(queries.rules)
    if isinstance(condition, (NoRoom, ProberGone, Vanished)):
        return f"count({value}) or vector(0)", NUMBER
    return f"max({value})", SHARE if condition.shows == "share" else NUMBER


def _first_to_move(failure: Failure) -> Signal | None:
    """Return the share of the most sensitive alert that names no cause: the last of the guide's."""
    found = [getattr(a.condition, "signal", None) for a in failure.alerts if a.cause is None]
    return next((signal for signal in reversed(found) if isinstance(signal, Signal)), None)


def _what(failure: Failure, queries: Queries) -> str:
    signal = _first_to_move(failure)
    if signal is not None:
        return f"share of {signal.what}, last {queries.medium}"
    return failure.panel.title.lower()
