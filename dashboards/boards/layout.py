"""Where panels stand on a board: rows of a grid of 24 columns, filled from left to right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import GridPos

from dashboards.boards.queries import Queries
from dashboards.boards.style import PanelBuilder

COLUMNS: Final = 24
"""Width of Grafana's grid."""

Make = Callable[[Queries], PanelBuilder]
"""One panel: a function of the queries, without id and place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A panel on a board."""

    id: int
    """Unique on the board, never changed and never reused: alerts and links point at it."""
    make: Make
    width: int
    """Columns, 1 to 24."""
    height: int
    """Grid units of 30 pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A heading and the panels under it."""

    id: int
    title: str
    panels: tuple[Placed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One dashboard."""

    slug: str
    """File name, and the uid after its prefix."""
    title: str
    about: str
    rows: tuple[Row, ...]
    has_versions: bool = False
    """Some panels can be limited to versions."""

    @property
    def uid(self) -> str:
        """Never changed and never reused."""
        return f"loopscope-{self.slug}"


def place(rows: tuple[Row, ...], queries: Queries) -> Iterator[Any]:
    """Yield the SDK's builders of rows and panels, each with its place on the grid."""
    top = 0
    for row in rows:
        yield (
            dashboard.Row(row.title)
            .id(row.id)
            .collapsed(False)
            .grid_pos(GridPos(x=0, y=top, w=COLUMNS, h=1))
        )
        top += 1
        left = line_height = 0
        for panel in row.panels:
            if left + panel.width > COLUMNS:
                top, left, line_height = top + line_height, 0, 0
            position = GridPos(x=left, y=top, w=panel.width, h=panel.height)
            yield panel.make(queries).id(panel.id).grid_pos(position)
            left, line_height = left + panel.width, max(line_height, panel.height)
        top += line_height
