from __future__ import annotations

import math

import pytest

from dashboards.render.board import Look
from dashboards.render.values import COLORS, PALETTE, axis_format, color_at, series_color, shown

STATE = Look(
    unit="none",
    empty="no answer",
    mappings={"0": ("ok", "green"), "3": ("page", "red")},
    thresholds=((None, "green"), (1, "yellow"), (2, "orange")),
)


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "expected"),
    [
        pytest.param(0.4217, "percentunit", 1, "42.2 %", id="share"),
        pytest.param(0.0042, "percentunit", None, "0.42 %", id="small-share"),
        pytest.param(0, "percentunit", None, "0 %", id="no-share"),
        pytest.param(1234.56, "short", 0, "1,235", id="count"),
        pytest.param(0.25, "s", None, "250 ms", id="below-a-second"),
        pytest.param(12.345, "s", None, "12.3 s", id="seconds"),
        pytest.param(300, "s", None, "5 min", id="minutes"),
        pytest.param(10800, "s", None, "3 h", id="hours"),
        pytest.param(2.5, "cpm", None, "2.50/min", id="a-minute"),
        pytest.param(1_230_000.0, "decbytes", None, "1.23 MB", id="bytes-have-a-prefix"),
        pytest.param(999.0, "decbytes", None, "999 B", id="few-bytes-have-none"),
        pytest.param(7.38, "none", 1, "7.4", id="mean"),
        pytest.param(123.4, "none", None, "123", id="large-mean"),
        pytest.param(math.inf, "none", None, "∞", id="infinity"),
        pytest.param(math.nan, "none", None, "nothing", id="not-a-number-is-no-data"),
        pytest.param(None, "none", None, "nothing", id="none-is-no-data"),
    ],
)
def test_shown(value: float | None, unit: str, decimals: int | None, expected: str) -> None:
    assert shown(value, Look(unit=unit, decimals=decimals, empty="nothing")) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(0, "green", id="mapped"),
        pytest.param(3, "red", id="mapping-wins-over-threshold"),
        pytest.param(1.5, "yellow", id="threshold"),
        pytest.param(None, "green", id="nothing-is-the-base"),
    ],
)
def test_color_at(value: float | None, expected: str) -> None:
    assert color_at(value, STATE) == COLORS[expected]


def test_a_mapped_value_is_shown_as_its_text() -> None:
    assert shown(3, STATE) == "page"


def test_a_line_has_its_own_color_or_that_of_its_place() -> None:
    assert series_color(1, Look()) == PALETTE[1]
    assert series_color(len(PALETTE) + 1, Look()) == PALETTE[1]
    assert series_color(1, Look(color="red")) == COLORS["red"]


@pytest.mark.parametrize(
    ("unit", "top", "expected"),
    [
        pytest.param("percentunit", 0.8, (".0%", ""), id="share"),
        pytest.param("percentunit", 0.01, (".1%", ""), id="small-share"),
        pytest.param("s", 30, ("~s", "s"), id="seconds"),
        pytest.param("cpm", 3e6, ("~s", ""), id="millions-are-short"),
        pytest.param("decbytes", 3e6, ("~s", "B"), id="bytes-have-a-prefix-on-the-axis"),
        pytest.param("cpm", 0.2, ("~g", ""), id="less-than-one-is-not-200-milli"),
    ],
)
def test_axis_format(unit: str, top: float, expected: tuple[str, str]) -> None:
    assert axis_format(unit, top) == expected
