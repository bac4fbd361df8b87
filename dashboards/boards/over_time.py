"""Panels with time on their axis: lines, areas, states and heat maps."""

from __future__ import annotations

from collections.abc import Mapping

from grafana_foundation_sdk.builders import common, heatmap, statetimeline, timeseries
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import heatmap as heat_models

from dashboards.boards.colors import BAD
from dashboards.boards.style import described, legend, state_names
from dashboards.boards.targets import Query


def lines(
    title: str, about: str, unit: str, *queries: Query, empty: str = "no data"
) -> timeseries.Panel:
    """Return lines over time."""
    panel = timeseries.Panel().draw_style(shapes.GraphDrawStyle.LINE).line_width(2)
    return described(_over_time(panel), title, about, unit, *queries, empty=empty)


def stacked(
    title: str, about: str, unit: str, *queries: Query, empty: str = "no data"
) -> timeseries.Panel:
    """Return areas on top of each other: parts of one whole over time."""
    panel = (
        timeseries.Panel()
        .draw_style(shapes.GraphDrawStyle.LINE)
        .line_width(1)
        .fill_opacity(45)
        .stacking(common.StackingConfig().mode(shapes.StackingMode.NORMAL).group("A"))
    )
    return described(_over_time(panel), title, about, unit, *queries, empty=empty)


def _over_time(panel: timeseries.Panel) -> timeseries.Panel:
    return (
        panel.show_points(shapes.VisibilityMode.AUTO)
        .span_nulls(False)
        .legend(legend())
        .tooltip(
            common.VizTooltipOptions()
            .mode(shapes.TooltipDisplayMode.MULTI)
            .sort(shapes.SortOrder.DESCENDING)
        )
    )


def states(
    title: str, about: str, mapping: Mapping[int, tuple[str, str]], *queries: Query
) -> statetimeline.Panel:
    """Return a strip of states over time for each series; the mapping gives text and color."""
    panel = (
        statetimeline.Panel()
        .merge_values(True)
        .show_value(shapes.VisibilityMode.AUTO)
        .row_height(0.8)
        .legend(legend())
        .mappings([state_names(mapping)])
    )
    return described(panel, title, about, "none", *queries, empty="no state")


def heat(
    title: str, about: str, cell_unit: str, edge_unit: str, query: Query, *, empty: str
) -> heatmap.Panel:
    """Return the buckets of a histogram over time; the more observations, the darker."""
    panel = (
        heatmap.Panel()
        .calculate(False)
        .y_axis(heatmap.YAxisConfig().unit(edge_unit))
        .cell_values(heatmap.CellValues().unit(cell_unit).decimals(0))
        .color(
            heatmap.HeatmapColorOptions()
            .mode(heat_models.HeatmapColorMode.SCHEME)
            .scheme("Blues")
            .scale(heat_models.HeatmapColorScale.EXPONENTIAL)
            .exponent(0.5)
            .steps(32)
        )
        .show_value(shapes.VisibilityMode.NEVER)
        .exemplars_color(BAD)
    )
    return described(panel, title, about, cell_unit, query, empty=empty)
