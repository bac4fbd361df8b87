"""Marks as annotations of Grafana, which every generated board shows."""

from __future__ import annotations

import json

from telemetry import names
from telemetry.fetch import FetchError, fetch
from telemetry.records.marks import Mark


def annotate(url: str, token: str | None, mark: Mark) -> int:
    """Show a mark in Grafana and return the id of its annotation.

    Args:
        url: Grafana's base address.
        token: Of a service account that may write annotations; None for a Grafana that asks none.
        mark: What is shown; its tags are added to the one that the boards look for.

    Raises:
        FetchError: Grafana does not answer or refuses; `fix` says what to do.

    Source:
        Grafana's HTTP API, "Create Annotation": `POST /api/annotations`.
    """
    told = {
        "time": round(mark.at * 1000),
        "tags": list(dict.fromkeys([names.MARK_TAG, *mark.tags])),
        "text": mark.what,
    }
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    address = f"{url.rstrip('/')}/api/annotations"
    made = fetch(address, headers=headers, body=json.dumps(told).encode()).json()
    if not isinstance(made, dict) or not isinstance(made.get("id"), int):
        raise FetchError(  # such as the list that a redirect of the POST leads to
            f"{address} made no annotation", "Give Grafana's own address, without a redirect."
        )
    return int(made["id"])
