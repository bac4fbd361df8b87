"""Charts made of blocks: states over time, heat maps, bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from dashboards.render.charts import Figure, faded, plain, time_layout
from dashboards.render.evaluate import Evaluated
from dashboards.render.span import Span, iso
from dashboards.render.tables import make_table
from dashboards.render.values import (
    axis_format,
    color_at,
    hover_format,
    rounded,
    series_color,
    shown,
    with_unit,
)


def states(evaluated: Evaluated, span: Span) -> Figure:
    """Return the figure of a state timeline: a strip a series, a color a state."""
    names = [plain(series.name) for series in evaluated.series]
    bars: dict[str, Figure] = {}
    for series in evaluated.series:
        for start, end, value in _stretches(series.points, evaluated.step, span.end):
            state = shown(value, series.look)
            bar = bars.setdefault(state, _state_bar(state, color_at(value, series.look)))
            bar["y"].append(plain(series.name))
            bar["base"].append(iso(start))
            bar["x"].append((end - start) * 1000)
            bar["customdata"].append(f"{state} for {with_unit(end - start, 's')}")
    layout = {
        **time_layout(span, ()),
        "barmode": "overlay",
        "bargap": 0.25,
        "hovermode": "closest",
        "yaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": names[::-1],
            "range": [-0.5, len(names) - 0.5],
            "automargin": True,
            "showgrid": False,
        },
    }
    return {"data": list(bars.values()), "layout": layout}


def _state_bar(state: str, color: str | None) -> Figure:
    return {
        "type": "bar",
        "orientation": "h",
        "name": plain(state),
        "marker": {"color": color, "line": {"width": 0}},
        "x": [],
        "y": [],
        "base": [],
        "customdata": [],
        "hovertemplate": "%{y}: %{customdata}<extra></extra>",
    }


def _stretches(
    points: Sequence[tuple[float, float]], step: float, end: float
) -> Iterable[tuple[float, float, float]]:
    """Yield start, end and value of each stretch in which the value stays the same."""
    if not points:
        return
    start, value = points[0]
    for (before, _), (now, next_value) in pairwise(points):
        if now - before > 1.5 * step:
            yield start, before + step, value
            start, value = now, next_value
        elif next_value != value:
            yield start, now, value
            start, value = now, next_value
    yield start, min(points[-1][0] + step, end), value


def heat_map(evaluated: Evaluated, span: Span) -> Figure:
    """Return the figure of histogram buckets over time."""
    look = evaluated.panel.look
    edge_unit = evaluated.panel.options.get("yAxis", {}).get("unit", "none")
    buckets = sorted(evaluated.series, key=lambda series: float(series.labels["le"]))
    times = sorted({time for series in buckets for time, _ in series.points})
    below = [0.0] * len(times)
    rows, names = [], []
    for bucket in buckets:
        at = dict(bucket.points)
        through = [at.get(time, 0.0) for time in times]
        rows.append([max(0.0, now - less) for now, less in zip(through, below, strict=True)])
        names.append(f"≤ {with_unit(float(bucket.labels['le']), edge_unit)}")
        below = through
    if names:
        names[-1] = names[-1].replace("≤ ∞", "above")
    return {
        "data": [
            {
                "type": "heatmap",
                "x": [iso(time) for time in times],
                "y": names,
                "z": [[rounded(cell) or None for cell in row] for row in rows],
                "hovertemplate": f"%{{y}}: {hover_format(look, 'z')}<extra></extra>",
                "colorscale": [[0, faded("#3b86cf", 0.12)], [1, "#3b86cf"]],
                "showscale": False,
                "xgap": 0.5,
                "ygap": 1,
            }
        ],
        "layout": {
            **time_layout(span, ()),
            "hovermode": "closest",
            "yaxis": {"type": "category", "automargin": True, "showgrid": False, "nticks": 8},
        },
    }


def bars(evaluated: Evaluated) -> Figure:
    """Return the figure of a bar chart: groups along the axis, one bar for each other column."""
    panel, table = evaluated.panel, make_table(evaluated)
    along = panel.options["xField"]
    values = [name for name in table.columns if name != along]
    looks = {name: panel.look_of(name) for name in values}
    data = [
        {
            "type": "bar",
            "name": plain(name),
            "x": [plain(str(cell)) for cell in table.column(along)],
            "y": table.column(name),
            "text": [plain(shown(_value(c), looks[name])) for c in table.column(name)],
            "textposition": "auto",
            "textangle": 0,
            "cliponaxis": False,
            "marker": {"color": series_color(place, looks[name])},
            "hovertemplate": "%{x}: %{text}",
        }
        for place, name in enumerate(values)
    ]
    top = max((_value(cell) or 0.0 for row in table.rows for cell in row), default=0.0)
    tick_format, suffix = axis_format(panel.look.unit, top)
    return {
        "data": data,
        "layout": {
            "barmode": "group",
            "hovermode": "closest",
            "xaxis": {"type": "category", "title": {"text": plain(along)}, "automargin": True},
            "yaxis": {"tickformat": tick_format, "ticksuffix": suffix, "rangemode": "tozero"},
        },
    }


def _value(cell: object) -> float | None:
    return cell if isinstance(cell, float) else None
