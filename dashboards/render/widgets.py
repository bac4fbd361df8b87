"""What a board shows without a chart: numbers, gauges, bars, tables, texts, alerts. All as HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from markdown_it import MarkdownIt

from dashboards.render.evaluate import Evaluated, Series
from dashboards.render.tables import Cell, make_table
from dashboards.render.values import COLORS, color_at, series_color, shown

LEGEND_ENTRIES: Final = 14
"""Names below a chart; chosen by us: more push the chart away, and are counted instead."""
TABLE_ROWS: Final = 40
ALERTS_PER_UNIT: Final = 1.25
"""Alerts that fit into one grid unit of a panel's height."""
Entry = tuple[str, str, str, bool]
"""Of a legend: name, color, newest value, whether the line is dashed."""
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False})
_STATE_COLORS: Final = {"firing": COLORS["red"], "pending": COLORS["yellow"]}


def numbers(evaluated: Evaluated) -> str:
    """Return the numbers of a stat panel, each in its color."""
    is_filled = evaluated.panel.options.get("colorMode") == "background"
    is_colored = evaluated.panel.options.get("colorMode") != "none"
    has_names = len(evaluated.series) > 1 and evaluated.panel.options.get("textMode") != "value"
    if not evaluated.series:
        return _nothing(evaluated)
    cells = [_number(s, is_filled, is_colored, has_names) for s in evaluated.series]
    return f'<div class="numbers">{"".join(cells)}</div>'


def _number(series: Series, is_filled: bool, is_colored: bool, has_name: bool) -> str:
    color = color_at(series.last, series.look) if is_colored else None
    is_plain = color is None or color == "transparent"
    if is_plain:
        style = ""
    elif is_filled:
        style = f' style="background:{color};color:#fff"'
    else:
        style = f' style="color:{color}"'
    name = f"<small>{escape(series.name)}</small>" if has_name else ""
    title = escape(series.name, quote=True)
    return (
        f'<div class="number" title="{title}"{style}>{name}'
        f"<b>{escape(shown(series.last, series.look))}</b></div>"
    )


def dials(evaluated: Evaluated) -> str:
    """Return a half circle for each series of a gauge."""
    if not evaluated.series:
        return _nothing(evaluated)
    return f'<div class="dials">{"".join(_dial(s) for s in evaluated.series)}</div>'


def _dial(series: Series) -> str:
    low, high = series.look.min or 0.0, series.look.max or 1.0
    share = min(1.0, max(0.0, ((series.last or 0.0) - low) / (high - low)))
    angle = math.pi * (1 - share)
    x, y = 50 + 40 * math.cos(angle), 50 - 40 * math.sin(angle)
    color = color_at(series.last, series.look) or COLORS["blue"]
    return (
        f'<figure><svg viewBox="0 0 100 58" role="img" aria-label="{escape(series.name)}">'
        '<path class="track" d="M10 50 A40 40 0 0 1 90 50"/>'
        f'<path d="M10 50 A40 40 0 0 1 {x:.2f} {y:.2f}" stroke="{color}"/>'
        f'<text x="50" y="48">{escape(shown(series.last, series.look))}</text></svg>'
        f"<figcaption>{escape(series.name)}</figcaption></figure>"
    )


def bars_now(evaluated: Evaluated) -> str:
    """Return a bar for each series, the longest first."""
    found = sorted(evaluated.series, key=lambda s: s.last or 0.0, reverse=True)
    if not found:
        return _nothing(evaluated)
    largest = max(s.look.max or s.last or 0.0 for s in found) or 1.0
    rows = [
        f'<li><span class="name" title="{escape(s.name, quote=True)}">{escape(s.name)}</span>'
        f'<span class="track"><span style="width:{_percent(s.last, largest)};'
        f'background:{series_color(place, s.look)}"></span></span>'
        f'<span class="value">{escape(shown(s.last, s.look))}</span></li>'
        for place, s in enumerate(found)
    ]
    return f'<ul class="bars">{"".join(rows)}</ul>'


def _percent(value: float | None, largest: float) -> str:
    return f"{100 * min(1.0, max(0.0, (value or 0.0) / largest)):.2f}%"


def table(evaluated: Evaluated) -> str:
    """Return the rows of a table panel."""
    made = make_table(evaluated)
    if not made.rows:
        return _nothing(evaluated)
    looks = [evaluated.panel.look_of(name) for name in made.columns]
    heads = zip(made.columns, zip(*made.rows, strict=True), strict=True)
    head = "".join(f"<th{_side(cells)}>{escape(name)}</th>" for name, cells in heads)
    body = "".join(
        "<tr>" + "".join(_cell(cell, look) for cell, look in zip(row, looks, strict=True)) + "</tr>"
        for row in made.rows[:TABLE_ROWS]
    )
    left = len(made.rows) - TABLE_ROWS
    more = f"<p>and {left} more</p>" if left > 0 else ""
    rows = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="table"><table>{rows}</table>{more}</div>'


def _side(cells: Sequence[Cell]) -> str:
    return "" if any(isinstance(cell, str) for cell in cells) else ' class="value"'


def _cell(cell: Cell, look: Any) -> str:
    if cell is None:
        return '<td class="value">–</td>'
    if isinstance(cell, float):
        return f'<td class="value">{escape(shown(cell, look))}</td>'
    return f"<td>{escape(cell)}</td>"


def text(evaluated: Evaluated) -> str:
    """Return the Markdown of a text panel; HTML in it is shown, not used."""
    return f'<div class="text">{_MARKDOWN.render(evaluated.panel.options["content"])}</div>'


def alerts(found: Sequence[dict[str, str]], height: int) -> str:
    """Return the alerts that are pending or fire at the end of the range, as many as fit."""
    if not found:
        return '<p class="nothing">no alert</p>'
    fitting = int(height * ALERTS_PER_UNIT)
    order = sorted(
        found,
        key=lambda alert: (
            alert.get("alertstate", ""), alert.get("severity", ""), alert.get("alertname", ""),
        ),
    )  # fmt: skip
    items = [_alert(alert) for alert in order[:fitting]]
    left = len(found) - fitting
    more = f"<li>and {left} more</li>" if left > 0 else ""
    return f'<ul class="alerts">{"".join(items)}{more}</ul>'


def _alert(labels: dict[str, str]) -> str:
    state = labels.get("alertstate", "")
    color = _STATE_COLORS.get(state, COLORS["purple"])
    name, job = (escape(labels.get(label, "")) for label in ("alertname", "job"))
    badge = f'<span class="state" style="background:{color}">{escape(state)}</span>'
    return f"<li>{badge} <b>{name}</b> {job}</li>"


def legend(entries: Sequence[Entry]) -> str:
    """Return the names below a chart."""
    items = [
        f'<li title="{escape(name, quote=True)}"><i style="{_swatch(color, is_dashed)}"></i>'
        f"<span>{escape(name)}</span>{f' <b>{escape(value)}</b>' if value else ''}</li>"
        for name, color, value, is_dashed in entries[:LEGEND_ENTRIES]
    ]
    left = len(entries) - LEGEND_ENTRIES
    more = f"<li>and {left} more</li>" if left > 0 else ""
    return f'<ul class="legend">{"".join(items)}{more}</ul>'


def _swatch(color: str, is_dashed: bool) -> str:
    return f"border-top:2px {'dashed' if is_dashed else 'solid'} {color}"


def _nothing(evaluated: Evaluated) -> str:
    return f'<p class="nothing">{escape(evaluated.panel.look.empty)}</p>'
