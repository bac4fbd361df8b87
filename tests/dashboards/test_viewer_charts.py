from __future__ import annotations

import math
from typing import Any

import plotly.graph_objects as go
import pytest

from dashboards.render import blocks, charts
from dashboards.render.board import Look, Panel
from dashboards.render.evaluate import Evaluated, Mark, Series
from dashboards.render.source import Exemplar
from dashboards.render.span import Span

START = 1_800_000_000.0
SPAN = Span(start=START, end=START + 60)
STATES = {"0": ("ok", "green"), "2": ("ticket", "orange"), "3": ("page", "red")}


def panel(kind: str = "timeseries", **look: Any) -> Panel:
    return Panel(
        id=1, kind=kind, title="T", about="A", left=0, top=0, width=8, height=8, targets=(),
        look=Look(**look), overrides=(), options={"xField": "attempt"}, transformations=(),
        links=(), interval=None,
    )  # fmt: skip


def line(*values: float | None, name: str = "a", **look: Any) -> Series:
    """A series with one value each ten seconds; None where there is none."""
    points = tuple(
        (START + 10 * place, value) for place, value in enumerate(values) if value is not None
    )
    return Series(name=name, ref="A", labels={"le": name}, points=points, look=Look(**look))


def drawn(*series: Series, **changes: Any) -> Evaluated:
    given: dict[str, Any] = {"panel": panel(), "step": 10.0, **changes}
    return Evaluated(series=series, **given)


def valid(figure: charts.Figure) -> charts.Figure:
    """Return the figure after Plotly's own check of every property."""
    go.Figure(figure)
    return figure


def test_a_missing_value_is_a_gap_and_no_slope() -> None:
    (trace,) = valid(charts.over_time(drawn(line(1, None, 3)), SPAN, ()))["data"]

    assert trace["y"] == [1, None, 3]
    assert (trace["x0"], trace["dx"]) == ("2027-01-15T08:00:00.000", 10_000)


def test_what_is_not_finite_is_a_gap() -> None:
    (trace,) = valid(charts.over_time(drawn(line(1, math.nan, math.inf)), SPAN, ()))["data"]

    assert trace["y"] == [1, None, None]


def test_few_values_are_drawn_with_points() -> None:
    few, many = (
        charts.over_time(drawn(line(*values)), SPAN, ())["data"][0]["mode"]
        for values in ([1], [1, 2, 3])
    )

    assert (few, many) == ("lines+markers", "lines")


def test_a_limit_is_dashed_in_its_color() -> None:
    limit = line(0.2, 0.2, 0.2, color="red", custom={"lineStyle": {"fill": "dash"}, "lineWidth": 1})
    (trace,) = valid(charts.over_time(drawn(limit), SPAN, ()))["data"]

    assert trace["line"] == {"color": "#d9434f", "width": 1, "dash": "6px,4px"}


STACKED = {"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 45}


def test_areas_stand_on_each_other_and_flat_ones_are_left_out() -> None:
    figure = valid(
        charts.over_time(
            drawn(line(1, None, 2, custom=STACKED), line(0, 0, 0, name="b", custom=STACKED)),
            SPAN,
            (),
        )
    )

    assert [trace["name"] for trace in figure["data"]] == ["a"]
    assert figure["data"][0]["stackgroup"] == "A"
    assert figure["data"][0]["y"] == [1, 0, 2]


@pytest.mark.parametrize(
    ("look", "values", "expected"),
    [
        pytest.param({}, [0, 0, 0], [0, 1], id="nothing-happened-lies-on-the-ground"),
        pytest.param({"max": 1}, [0.2, 0.3], [0, 1], id="a-share-of-a-whole-reaches-up-to-1"),
        pytest.param({}, [1, 2], None, id="else-the-values-decide"),
    ],
)
def test_range_of_the_axis(
    look: dict[str, Any], values: list[float], expected: list[float] | None
) -> None:
    figure = valid(charts.over_time(drawn(line(*values), panel=panel(**look)), SPAN, ()))

    assert figure["layout"]["yaxis"].get("range") == expected


@pytest.mark.parametrize(
    ("top", "expected"), [(1, 1), (4, 1), (9, 2), (23, 5), (48, 10), (199, 50), (1234, 500)]
)
def test_ticks_of_counts_are_whole(top: float, expected: float) -> None:
    figure = charts.over_time(drawn(line(top), panel=panel(unit="short")), SPAN, ())

    assert figure["layout"]["yaxis"]["dtick"] == expected


def test_exemplars_are_dots_not_above_the_lines() -> None:
    found = tuple(
        Exemplar(time=START + n, value=float(n), trace_id=f"{n:032x}") for n in range(200)
    )
    figure = valid(charts.over_time(drawn(line(1, 5, 2), exemplars=found), SPAN, ()))
    dots = figure["data"][-1]

    assert 40 <= len(dots["y"]) <= charts.MAX_EXEMPLARS
    assert max(dots["y"]) == 5
    assert dots["text"][0].endswith("trace 00000000000000000000000000000000")


def test_marks_are_lines_with_their_text() -> None:
    mark = Mark(time=START + 30, title="a <b> runs", text="index x")
    figure = valid(charts.over_time(drawn(line(1, 2)), SPAN, [mark]))

    assert figure["layout"]["shapes"][0]["x0"] == "2027-01-15T08:00:30.000"
    assert figure["layout"]["annotations"][0]["hovertext"] == "a &lt;b&gt; runs<br>index x"


def test_states_are_stretches() -> None:
    states = line(0, 0, 3, 3, None, 0, name="Page", mappings=STATES)
    figure = valid(blocks.states(drawn(states, panel=panel("state-timeline")), SPAN))
    bars = {trace["name"]: trace for trace in figure["data"]}

    assert list(bars) == ["ok", "page"]
    assert bars["page"]["base"] == ["2027-01-15T08:00:20.000"]
    assert bars["page"]["x"] == [20_000]
    assert bars["page"]["marker"]["color"] == "#d9434f"
    assert bars["ok"]["x"] == [20_000, 10_000]
    assert bars["page"]["customdata"] == ["page for 20 s"]


def test_a_heat_map_takes_buckets_apart() -> None:
    buckets = [line(8, 9, name="+Inf"), line(1, 2, name="0.5"), line(4, 9, name="2.5")]
    figure = valid(blocks.heat_map(drawn(*buckets, panel=panel("heatmap", unit="short")), SPAN))
    (trace,) = figure["data"]

    assert trace["y"] == ["≤ 0.50", "≤ 2.50", "above"]
    assert trace["z"] == [[1, 2], [3, 7], [4, None]]


@pytest.mark.parametrize("name", ["<b>bold</b>", "a & b", "<a href='x'>"])
def test_names_are_no_markup(name: str) -> None:
    figures = [
        charts.over_time(drawn(line(1, 2, name=name)), SPAN, ()),
        blocks.states(drawn(line(1, 2, name=name)), SPAN),
    ]
    for figure in figures:
        assert name not in str(figure).replace("&amp;", "")
