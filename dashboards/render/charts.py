"""Charts as figures of Plotly: what `Plotly.newPlot` takes, without colors of paper and ink.

Those, and the sizes, belong to the page, which knows its theme and width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dashboards.render.evaluate import Evaluated, Mark, Series
from dashboards.render.span import Span, iso
from dashboards.render.values import (
    COLORS,
    axis_format,
    hover_format,
    rounded,
    series_color,
    shown,
)

Figure = dict[str, Any]
"""`{"data": [...], "layout": {...}}`."""
MAX_EXEMPLARS: Final = 60
"""Dots of a panel; chosen by us: more hide the lines."""
_FEW: Final = 3
"""Values below which a line is drawn with its points: alone they would not be seen."""


def over_time(evaluated: Evaluated, span: Span, marks: Sequence[Mark]) -> Figure:
    """Return the figure of a panel of lines or areas."""
    panel = evaluated.panel
    top = _top(evaluated)
    data = [
        _line(series, place, evaluated.step)
        for place, series in enumerate(evaluated.series)
        if top == 0 or not (_is_stacked(series) and _is_flat(series))
    ]
    data += _dots(evaluated)
    tick_format, suffix = axis_format(panel.look.unit, top)
    y: dict[str, Any] = {
        "tickformat": tick_format,
        "ticksuffix": suffix,
        "rangemode": "tozero",
        "nticks": 5,
    }
    if panel.look.max is not None:
        y["range"] = [0, panel.look.max]
    elif top == 0:  # nothing happened: a flat line at the bottom, not in the middle
        y["range"] = [0, 1]
    elif panel.look.unit == "short":
        y["dtick"] = _whole_tick(top)
    return {"data": data, "layout": {**time_layout(span, marks), "yaxis": y}}


def _line(series: Series, place: int, step: float) -> Figure:
    look, color = series.look, series_color(place, series.look)
    custom, values = look.custom, _on_grid(series.points, step)
    is_dashed = custom.get("lineStyle", {}).get("fill") == "dash"
    is_short = sum(value is not None for value in values) < _FEW
    trace: Figure = {
        "type": "scatter",
        "name": plain(series.name),
        "x0": iso(series.points[0][0]) if series.points else None,
        "dx": step * 1000,
        "y": values,
        "mode": "lines+markers" if is_short else "lines",
        "marker": {"color": color, "size": 5},
        "line": {
            "color": color,
            "width": custom.get("lineWidth", 2),
            "dash": "6px,4px" if is_dashed else "solid",
        },
        "hovertemplate": hover_format(look, "y"),
    }
    if _is_stacked(series):
        trace |= {
            "stackgroup": custom["stacking"]["group"],
            "fillcolor": faded(color, custom.get("fillOpacity", 0) / 100),
            "y": [value or 0 for value in values],
        }
    return trace


def _on_grid(points: Sequence[tuple[float, float]], step: float) -> list[float | None]:
    """Return one value a step from the first point on, None where there is none."""
    if not points:
        return []
    start = points[0][0]
    values: list[float | None] = [None] * (1 + round((points[-1][0] - start) / step))
    for time, value in points:
        if math.isfinite(value):
            values[round((time - start) / step)] = rounded(value)
    return values


def _whole_tick(top: float) -> float:
    """Return a distance of ticks, 1, 2 or 5 times a power of ten, that gives at most five."""
    least = max(1.0, top / 5)
    power = 10.0 ** math.floor(math.log10(least))
    return next(size * power for size in (1, 2, 5, 10) if size * power >= least)


def _is_stacked(series: Series) -> bool:
    return bool(series.look.custom.get("stacking", {}).get("mode") == "normal")


def _is_flat(series: Series) -> bool:
    """Whether there is nothing to see: an area without height would still draw its edge."""
    return not any(value for _, value in series.points)


def _dots(evaluated: Evaluated) -> list[Figure]:
    """Return the exemplars as dots: at their value, or at the upper edge when they are above it."""
    found = evaluated.exemplars[:: 1 + len(evaluated.exemplars) // MAX_EXEMPLARS]
    if not found:
        return []
    top = _top(evaluated) or 1.0
    look = evaluated.panel.look
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "exemplar",
            "x": [iso(exemplar.time) for exemplar in found],
            "y": [min(exemplar.value, top) for exemplar in found],
            "marker": {"symbol": "diamond-open", "size": 7, "color": COLORS["red"]},
            "text": [plain(f"{shown(e.value, look)}, trace {e.trace_id}") for e in found],
            "hovertemplate": "%{text}",
        }
    ]


def _top(evaluated: Evaluated) -> float:
    """Return the largest value that is drawn; of areas on top of each other, their sum."""
    stacked: dict[float, float] = {}
    top = 0.0
    for series in evaluated.series:
        is_stacked = _is_stacked(series)
        for time, value in series.points:
            if math.isfinite(value):
                stacked[time] = (stacked.get(time, 0.0) + value) if is_stacked else value
                top = max(top, stacked[time])
    return top


def time_layout(span: Span, marks: Sequence[Mark]) -> dict[str, Any]:
    """Return the time axis, and a dotted line with a diamond for each mark."""
    times = [iso(mark.time) for mark in marks]
    return {
        "hovermode": "x unified",
        "xaxis": {
            "type": "date",
            "range": [iso(span.start), iso(span.end)],
            "nticks": 6,
            "hoverformat": "%Y-%m-%d %H:%M:%S UTC",
        },
        "shapes": [
            {
                "type": "line", "x0": time, "x1": time, "xref": "x", "y0": 0, "y1": 1,
                "yref": "paper", "layer": "below",
                "line": {"color": COLORS["purple"], "width": 1, "dash": "dot"},
            }
            for time in times
        ],
        "annotations": [
            {
                "x": time, "xref": "x", "y": 1, "yref": "paper", "text": "◆", "showarrow": False,
                "yanchor": "middle", "font": {"color": COLORS["purple"], "size": 10},
                "hovertext": f"{plain(mark.title)}<br>{plain(mark.text)}",
            }
            for time, mark in zip(times, marks, strict=True)
        ],
    }  # fmt: skip


def faded(color: str, opacity: float) -> str:
    """Return a color of six hex digits with an opacity, 0 to 1."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def plain(text: str) -> str:
    """Return a text without what Plotly would take for markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
