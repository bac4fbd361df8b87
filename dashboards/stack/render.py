"""The configuration of Prometheus, Alertmanager and Grafana's data sources, for any place.

One model for all places: what differs between the compose network and processes on this machine
(addresses, paths, where notifications go) is a `Place`; everything else comes from the settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from dashboards import durations
from dashboards.errors import PlaceError
from dashboards.settings import Settings
from dashboards.stack.parts import AGENT_JOB, PROBE, address
from telemetry import names

FOLDER: Final = Path(__file__).parent
"""Where the files of the compose stack lie."""
HEADER: Final = "# Generated from dashboards/stack/render.py by `python -m dashboards.stack`.\n"

METRICS_PATH: Final = "/metrics"
ABSENT: Final = "metrics_absent"
"""Slug of the failure that keeps every other one of its service quiet: nothing else is known."""
GROUP_INTERVAL_SECONDS: Final = 300
"""Wait before more alerts of a group are told; Alertmanager's own default."""
REPEAT_PAGE_SECONDS: Final = 4 * 3600
REPEAT_TICKET_SECONDS: Final = 24 * 3600
"""How often what still fires is told again; chosen by us: once a shift, once a day."""

_ADDRESS = re.compile(r"[^\s/:]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the parts are, seen from Prometheus and Alertmanager.

    Raises:
        PlaceError: An address is no host:port, or the receiver's is no URL.
    """

    targets: Mapping[str, Sequence[str]]
    """Value of the label `job` -> host:port of each instance."""
    alertmanager: str
    """host:port."""
    rules: str
    """Path of the rule files; `*` is allowed in the last part."""
    notifications: str
    """URL of the webhook receiver."""

    def __post_init__(self) -> None:
        for what in (self.alertmanager, *(at for ats in self.targets.values() for at in ats)):
            if not _ADDRESS.fullmatch(what):
                raise PlaceError("address", what, "host:port without scheme or path")
        url = urlsplit(self.notifications)
        if url.scheme not in ("http", "https") or not url.netloc:
            raise PlaceError("webhook receiver", self.notifications, "an http or https URL")


COMPOSE: Final = Place(
    targets={
        AGENT_JOB: [address("agent"), PROBE],
        **{
            name: [address(name)]
            for name in ("prometheus", "alertmanager", "collector", "tempo", "grafana")
        },
    },
    alertmanager=address("alertmanager"),
    rules="/etc/prometheus/rules/*.yml",
    notifications=f"http://{address('inbox')}/",
)
"""The compose network."""


def files(settings: Settings) -> dict[str, str]:
    """Return path below `dashboards/stack` -> text, for the compose stack."""
    return {
        "prometheus.yml": prometheus(COMPOSE, settings),
        "alertmanager.yml": alertmanager(COMPOSE, settings),
        "grafana/datasources/datasources.yml": datasources(settings),
    }


def prometheus(place: Place, settings: Settings) -> str:
    """Return Prometheus' configuration; keys that 2.42 and 3 both know."""
    return _text(
        {
            "global": {
                "scrape_interval": durations.text(settings.scrape_interval),
                "evaluation_interval": durations.text(settings.evaluation_seconds),
            },
            "alerting": {
                "alertmanagers": [{"static_configs": [{"targets": [place.alertmanager]}]}]
            },
            "rule_files": [place.rules],
            "scrape_configs": [
                {
                    "job_name": job,
                    "metrics_path": METRICS_PATH,
                    "follow_redirects": False,
                    "static_configs": [{"targets": list(addresses)}],
                }
                for job, addresses in place.targets.items()
            ],
        }
    )


def alertmanager(place: Place, settings: Settings) -> str:
    """Return Alertmanager's configuration: routes by severity, and who keeps whom quiet."""
    page, ticket = settings.severity_page, settings.severity_ticket
    return _text(
        {
            "route": {
                "receiver": "default",
                "group_by": ["failure", *settings.group_by],
                "group_wait": settings.span(settings.group_wait),
                "group_interval": settings.span(GROUP_INTERVAL_SECONDS),
                "repeat_interval": settings.span(REPEAT_PAGE_SECONDS),
                "routes": [
                    {"matchers": [_matcher("severity", "=", page)], "receiver": "page"},
                    {
                        "matchers": [_matcher("severity", "=", ticket)],
                        "receiver": "ticket",
                        "repeat_interval": settings.span(REPEAT_TICKET_SECONDS),
                    },
                ],
            },
            "inhibit_rules": _inhibitions(settings),
            "receivers": [
                {
                    "name": name,
                    "webhook_configs": [{"url": place.notifications, "send_resolved": True}],
                }
                for name in ("default", "page", "ticket")
            ],
        }
    )


def _inhibitions(settings: Settings) -> list[dict[str, Any]]:
    """Return who keeps whom quiet.

    A page quiets the plain ticket of its failure; a ticket that names a cause says why, and stays.
    The page that blames a change quiets the plain page. Absent metrics quiet everything else.
    """
    same_service = list(settings.group_by)
    return [
        {
            "source_matchers": [_matcher("severity", "=", settings.severity_page)],
            "target_matchers": [
                _matcher("severity", "=", settings.severity_ticket),
                _matcher("cause", "=", ""),
            ],
            "equal": ["failure", *same_service],
        },
        {
            "source_matchers": [_matcher("cause", "=", "change")],
            "target_matchers": [_matcher("cause", "=", "")],
            "equal": ["failure", *same_service],
        },
        {
            "source_matchers": [_matcher("failure", "=", ABSENT)],
            "target_matchers": [_matcher("failure", "!=", ABSENT)],
            "equal": same_service,
        },
    ]


def datasources(settings: Settings) -> str:
    """Return Grafana's data sources, with the uids that boards and rules refer to."""
    return _text(
        {
            "apiVersion": 1,
            "datasources": [
                {
                    "name": "Prometheus",
                    "uid": settings.prometheus_uid,
                    "type": "prometheus",
                    "access": "proxy",
                    "url": f"http://{address('prometheus')}",
                    "isDefault": True,
                    "editable": False,
                    "jsonData": {
                        "httpMethod": "POST",
                        "timeInterval": durations.text(settings.scrape_interval),
                        "exemplarTraceIdDestinations": [
                            {
                                "name": names.EXEMPLAR_TRACE_ID,
                                "datasourceUid": settings.tempo_uid,
                                "urlDisplayLabel": "Trace of the turn",
                            }
                        ],
                    },
                },
                {
                    "name": "Tempo",
                    "uid": settings.tempo_uid,
                    "type": "tempo",
                    "access": "proxy",
                    "url": f"http://{address('tempo')}",
                    "editable": False,
                    "jsonData": {"nodeGraph": {"enabled": True}},
                },
            ],
        }
    )


def _matcher(label: str, operator: str, value: str) -> str:
    return f"{label}{operator}{json.dumps(value, ensure_ascii=False)}"


def _text(data: Mapping[str, Any]) -> str:
    body = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=4096)
    return HEADER + body
