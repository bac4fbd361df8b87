"""Charts as plain values of ECharts: no text of users in them, tooltips drawn as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SOFT = "#7d8794"
_COLORS = ("#3f7fb8", "#c98a1b", "#1f9d60", "#8467b5")


def lines(
    x: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    x_name: str,
    right: str | None = None,
) -> dict[str, Any]:
    """Return a line chart.

    Args:
        x: Labels of the points.
        series: Name, with its unit, -> values.
        x_name: What the labels are.
        right: The series measured on the right axis.
    """
    axis = {"type": "value", "axisLabel": {"color": _SOFT}, "nameTextStyle": {"color": _SOFT},
            "splitLine": {"lineStyle": {"color": _SOFT, "opacity": 0.2}},
            "minInterval": 1}  # fmt: skip
    return {
        "color": list(_COLORS),
        "animation": False,
        "grid": {"left": 44, "right": 44 if right else 16, "top": 34, "bottom": 42},
        "legend": {"top": 0, "left": 0, "textStyle": {"color": _SOFT}},
        "tooltip": {"trigger": "axis", "renderMode": "richText"},
        "xAxis": {"type": "category", "data": list(x), "name": x_name, "nameLocation": "middle",
                  "nameGap": 26, "axisLabel": {"color": _SOFT},
                  "nameTextStyle": {"color": _SOFT}},
        "yAxis": [axis, {**axis, "splitLine": {"show": False}}] if right else [axis],
        "series": [
            {"name": name, "type": "line", "data": list(values), "symbolSize": 8,
             "lineStyle": {"width": 2.5}, "yAxisIndex": int(name == right)}
            for name, values in series.items()
        ],
    }  # fmt: skip


def bars(x: Sequence[str], series: Mapping[str, Sequence[float]], *, x_name: str) -> dict[str, Any]:
    """Return stacked bars; the arguments are those of `lines`."""
    chart = lines(x, series, x_name=x_name)
    for one in chart["series"]:
        one.update(type="bar", stack="all", barMaxWidth=34)
    return chart
