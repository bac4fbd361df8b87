"""Texts of the guide filled in: settings in `<name>`, the alert's own values for each host.

Prometheus and Grafana both render Go templates, but name the values differently. Nothing here is
doubled or escaped: Grafana expands `$NAME` in labels and `${NAME}` in annotations of provisioned
files, so labels carry no template and annotations no `${`.
"""

from __future__ import annotations

import re

from dashboards.failure import FAILURES_BOARD_UID, Alert, Failure, Host
from dashboards.settings import Settings
from dashboards.signals import number

_PLACE = re.compile(r"<([a-z_]+)>")
_RANGES = ("window_short", "window_medium", "window_long", "memory")


def filled(text: str, settings: Settings) -> str:
    """Return a text with `<by>` and `<field>` replaced by what the settings say.

    Raises:
        AttributeError: A name is no field of the settings.
    """

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in _RANGES:
            return settings.range(settings.limit(name))
        found = getattr(settings, name)
        return number(found) if isinstance(found, float) else str(found)

    return _PLACE.sub(value, text)


def alert_texts(failure: Failure, alert: Alert, settings: Settings, host: Host) -> dict[str, str]:
    """Return the alert's annotations for a host: summary, description and links."""
    described = (
        f"{failure.sentence} {failure.hurts} First: {(*alert.diagnosis, *failure.diagnosis)[0]}"
    )
    told = {
        "summary": _for_host(filled(alert.summary, settings), alert, settings, host),
        "description": filled(described, settings),
        "runbook_url": failure.runbook_url(alert, settings),
    }
    if host == "grafana":
        links = {"__dashboardUid__": FAILURES_BOARD_UID, "__panelId__": str(failure.panel.id)}
    elif settings.grafana_url:
        address = f"{settings.grafana_url.rstrip('/')}/d/{FAILURES_BOARD_UID}"
        links = {"panel_url": f"{address}?viewPanel={failure.panel.id}"}
    else:
        links = {}
    return {**told, **links}


def _for_host(summary: str, alert: Alert, settings: Settings, host: Host) -> str:
    value = "$value" if host == "prometheus" else "$values.V.Value"
    shown = (
        f"{{{{ {value} | humanizePercentage }}}}"
        if alert.condition.shows == "share"
        else f'{{{{ printf "%.0f" {value} }}}}'
    )
    labels = [f"{{{{ $labels.{label} }}}}" for label in settings.group_by]
    return summary.format(
        service="/".join(labels),
        service_or_any='{{ or $labels.job "any service" }}',
        value=shown,
    )
