"""Tables: instant answers joined by their labels, columns named and ordered as the panel says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboards.render.evaluate import Evaluated

Cell = str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Named columns and rows of equal length."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def column(self, name: str) -> list[Cell]:
        """Return the cells of a column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def make_table(evaluated: Evaluated) -> Table:
    """Return the table of a panel: Grafana's transformations `merge` and `organize`."""
    panel = evaluated.panel
    refs = [target.ref for target in panel.targets]
    merged: dict[tuple[tuple[str, str], ...], dict[str, Cell]] = {}
    for series in evaluated.series:
        labels = {name: value for name, value in series.labels.items() if name != "__name__"}
        row = merged.setdefault(tuple(sorted(labels.items())), dict(labels))
        row["Value" if len(refs) == 1 else f"Value #{series.ref}"] = series.last
    organized: Mapping[str, Any] = next(
        (t["options"] for t in panel.transformations if t["id"] == "organize"), {}
    )
    fields = _fields(merged.values(), organized)
    renamed: Mapping[str, str] = organized.get("renameByName", {})
    rows = [tuple(row.get(field) for field in fields) for row in merged.values()]
    table = Table(columns=tuple(renamed.get(f, f) for f in fields), rows=tuple(rows))
    return _sorted(table, panel.options.get("sortBy", []))


def _fields(rows: Any, organized: Mapping[str, Any]) -> list[str]:
    """Return the fields that are shown: those of the index in its order, then others."""
    order: Mapping[str, int] = organized.get("indexByName", {})
    hidden = {name for name, is_hidden in organized.get("excludeByName", {}).items() if is_hidden}
    present = dict.fromkeys(name for row in rows for name in row)
    return sorted(
        (name for name in present if name not in hidden),
        key=lambda name: (order.get(name, len(order)), name),
    )


def _sorted(table: Table, sort_by: list[Mapping[str, Any]]) -> Table:
    """Return the table by the column asked for, else by its first."""
    if not table.rows:
        return table
    name = sort_by[0]["displayName"] if sort_by else table.columns[0]
    place = table.columns.index(name) if name in table.columns else 0
    is_down = bool(sort_by and sort_by[0].get("desc"))
    rows = sorted(table.rows, key=lambda row: _rank(row[place]), reverse=is_down)
    return Table(columns=table.columns, rows=tuple(rows))


def _rank(cell: Cell) -> tuple[int, float, str]:
    if isinstance(cell, float):
        return (0, cell, "")
    return (2, 0.0, "") if cell is None else (1, 0.0, cell)
