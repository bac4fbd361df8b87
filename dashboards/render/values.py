"""Values as people read them, in Grafana's units; and the color that stands for them."""

from __future__ import annotations

import math
from typing import Final

from dashboards.render.board import Look

COLORS: Final = {
    "green": "#2f9e62",
    "yellow": "#c9a100",
    "orange": "#de7c1f",
    "red": "#d9434f",
    "blue": "#3b86cf",
    "purple": "#9568cf",
    "dark-red": "#a92a3a",
    "light-blue": "#7fb4e6",
    "super-light-blue": "#9dbfd9",
    "light-purple": "#b79adf",
    "semi-dark-purple": "#8a63c0",
    "transparent": "transparent",
}
"""Grafana's names of the colors that our boards use -> ones that show on white and on black."""
PALETTE: Final = (
    "#3b86cf", "#de7c1f", "#2f9e62", "#9568cf", "#d9434f", "#1f9aa6", "#b88a00", "#cf5fa3",
    "#6b8e23", "#7a7fd6", "#a0694b", "#5f8aa8",
)  # fmt: skip
"""Colors of series without one of their own, in order."""


def shown(value: float | None, look: Look) -> str:
    """Return a value with its unit; a mapped value as its text, none as the panel's own words."""
    if value is None or math.isnan(value):
        return look.empty
    mapped = look.mappings.get(_plain(value))
    if mapped is not None:
        return mapped[0]
    return with_unit(value, look.unit, look.decimals)


def with_unit(value: float, unit: str, decimals: int | None = None) -> str:
    """Return a value in one of Grafana's units."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if unit == "percentunit":
        return f"{value * 100:.{_digits(value * 100, decimals)}f} %"
    if unit == "s":
        return _duration(value)
    if unit == "cpm":
        return f"{_number(value, decimals)}/min"
    if unit == "decbytes":
        return _bytes(value)
    return _number(value, decimals)


def color_at(value: float | None, look: Look) -> str | None:
    """Return the color of a value: its mapping's, the fixed one, or its threshold's."""
    if value is not None:
        mapped = look.mappings.get(_plain(value))
        if mapped is not None and mapped[1] is not None:
            return COLORS[mapped[1]]
    if look.color is not None:
        return COLORS[look.color]
    passed = [color for limit, color in look.thresholds if limit is None or _reaches(value, limit)]
    return COLORS[passed[-1]] if passed else None


def series_color(place: int, look: Look) -> str:
    """Return the color of a line: its own, or that of its place."""
    return COLORS[look.color] if look.color else PALETTE[place % len(PALETTE)]


def axis_format(unit: str, top: float) -> tuple[str, str]:
    """Return the d3 format and the suffix of an axis in a unit that reaches up to a value."""
    if unit == "percentunit":
        return (".0%" if top > 0.04 else ".1%"), ""
    if unit == "s":
        return "~s", "s"
    if unit == "decbytes":
        return "~s", "B"
    return ("~s" if top >= 1000 else "~g"), ""


def hover_format(look: Look, of: str) -> str:
    """Return Plotly's template of a value (`y` or `z`) in its unit."""
    form = {
        "percentunit": ":.1%}",
        "s": ":.3~s}s",
        "cpm": ":.3~g}/min",
        "short": ":,.0f}",
        "decbytes": ":.3~s}B",
    }.get(look.unit, ":.3~g}")
    return f"%{{{of}{form}"


def rounded(value: float) -> float:
    """Return a value with six digits that count: enough to draw, short to write."""
    return float(f"{value:.6g}")


def _bytes(value: float) -> str:
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {prefix}B"
    return f"{value:.0f} B"


def _reaches(value: float | None, limit: float) -> bool:
    return value is not None and value >= limit


def _plain(value: float) -> str:
    return f"{value:g}"


def _number(value: float, decimals: int | None) -> str:
    digits = _digits(value, decimals)
    return f"{value:,.{digits}f}"


def _digits(value: float, decimals: int | None) -> int:
    """Digits after the point: as asked, else so that about three count."""
    if decimals is not None:
        return int(decimals)
    if value == 0 or abs(value) >= 100 or value == round(value):
        return 0
    return 1 if abs(value) >= 10 else 2


def _duration(seconds: float) -> str:
    size = abs(seconds)
    if size < 1:
        return f"{seconds * 1000:.3g} ms"
    if size < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if size < 7200 else f"{seconds / 3600:.3g} h"
