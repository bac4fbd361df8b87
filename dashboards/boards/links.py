"""Links of panels: to the traces of a failure's turns, to its runbook, to its row."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import quote

from grafana_foundation_sdk.builders import dashboard

from dashboards.boards.targets import TEMPO
from dashboards.failure import FAILURES_BOARD_UID, Failure
from dashboards.settings import Settings
from dashboards.wording import filled

TRACES_SHOWN: Final = 50
"""Traces that a search returns; chosen by us: more than a person reads."""
_VARIABLES: Final = (TEMPO, "${__from}", "${__to}")


def traces_of(failure: Failure, settings: Settings) -> dashboard.DashboardLink:
    """Return the link that searches the turns of a failure, in the time range that is shown."""
    return _link("Traces of these turns", traces_url(filled(failure.traces, settings)))


def traces_url(traceql: str) -> str:
    """Return Grafana's address of a search for traces; variables stay for Grafana to fill in."""
    search = {
        "datasource": TEMPO,
        "queries": [
            {
                "refId": "A",
                "datasource": {"type": "tempo", "uid": TEMPO},
                "queryType": "traceql",
                "query": traceql,
                "limit": TRACES_SHOWN,
                "tableType": "traces",
            }
        ],
        "range": {"from": "${__from}", "to": "${__to}"},
    }
    address = quote(json.dumps({"loopscope": search}, separators=(",", ":")), safe="")
    for variable in _VARIABLES:
        address = address.replace(quote(variable, safe=""), variable)
    return f"/explore?schemaVersion=1&panes={address}"


def runbook_address(failure: Failure, settings: Settings) -> str:
    """Return where the failure's page is: a URL, or a path in the repository."""
    return failure.runbook_url(failure.alerts[0], settings).partition("#")[0]


def is_url(address: str) -> bool:
    """Return whether a browser can open the address."""
    return address.startswith(("https://", "http://"))


def runbook_of(failure: Failure, settings: Settings) -> list[dashboard.DashboardLink]:
    """Return the link to the runbook; none when its address is a path that Grafana lacks."""
    address = runbook_address(failure, settings)
    return [_link("Runbook", address)] if is_url(address) else []


def row_of(failure: Failure) -> dashboard.DashboardLink:
    """Return the link to the failure's signal on the board of failures."""
    address = f"/d/{FAILURES_BOARD_UID}?viewPanel={failure.panel.id}&${{__url_time_range}}"
    return _link(f"{failure.title}: signal and limits", f"{address}&${{__all_variables}}")


def _link(title: str, url: str) -> dashboard.DashboardLink:
    return dashboard.DashboardLink(title).url(url).target_blank(True)
