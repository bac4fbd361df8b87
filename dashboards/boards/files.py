"""The board files: one flavour for file provisioning, one for import by hand."""

from __future__ import annotations

import json
from typing import Any, Final

from dashboards.boards import bound, failure_board, overview, pipeline, topic_check
from dashboards.boards.frame import dashboard_json
from dashboards.boards.layout import Board
from dashboards.settings import Settings

PROVISIONED: Final = "grafana/dashboards"
"""Folder of the files that Grafana loads by itself; the stack mounts it."""
IMPORTED: Final = "grafana/import"
"""Folder of the files for Grafana's import page, which asks for the data sources."""

_INPUTS: Final = {"prometheus": "Prometheus", "tempo": "Tempo"}
"""Data source that the import page asks for -> its name."""


def boards() -> tuple[Board, ...]:
    """Return every board, the overview first."""
    return tuple(
        module.board() for module in (overview, failure_board, pipeline, bound, topic_check)
    )


def files(settings: Settings) -> dict[str, str]:
    """Return path -> text of both flavours of every board."""
    made = {board.slug: dashboard_json(board, settings) for board in boards()}
    return {
        **{f"{PROVISIONED}/{slug}.json": _text(plain) for slug, plain in made.items()},
        **{f"{IMPORTED}/{slug}.json": _text(for_import(plain)) for slug, plain in made.items()},
    }


def for_import(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the flavour whose data sources the person who imports it chooses.

    Grafana's import replaces `${DS_...}` in every text by the chosen uid, so the variables that
    hold data sources go.
    """
    kept = [item for item in plain["templating"]["list"] if item["type"] != "datasource"]
    inner = json.dumps({**plain, "templating": {"list": kept}})
    for kind in _INPUTS:
        inner = inner.replace(f"${{{kind}_datasource}}", f"${{{_input(kind)}}}")
    asked = [
        {
            "name": _input(kind),
            "label": name,
            "description": "",
            "type": "datasource",
            "pluginId": kind,
            "pluginName": name,
        }
        for kind, name in _INPUTS.items()
    ]
    return {"__inputs": asked, "id": None, **json.loads(inner)}


def _input(kind: str) -> str:
    return f"DS_{kind.upper()}"


def _text(plain: dict[str, Any]) -> str:
    return json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
