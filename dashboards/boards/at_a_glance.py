"""Panels that show one moment or a whole time range at once: numbers, bars, tables and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grafana_foundation_sdk.builders import (
    barchart,
    bargauge,
    common,
    dashboard,
    gauge,
    stat,
    table,
    text,
)
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.text import TextMode

from dashboards.boards.style import NUMBER, PLAIN, described, legend, unit_of
from dashboards.boards.targets import PROMETHEUS, Query, letter, source


def figure(title: str, about: str, unit: str, *queries: Query, empty: str) -> stat.Panel:
    """Return one number, or a few, for the whole time range."""
    panel = (
        stat.Panel()
        .reduce_options(last_value())
        .graph_mode(shapes.BigValueGraphMode.NONE)
        .color_mode(shapes.BigValueColorMode.NONE)
        .text_mode(shapes.BigValueTextMode.AUTO)
    )
    return described(panel, title, about, unit, *queries, empty=empty)


def last_value() -> common.ReduceDataOptions:
    """Return the reduction to the newest value that is none of null."""
    return common.ReduceDataOptions().calcs(["lastNotNull"]).values(False)


def dial(title: str, about: str, unit: str, *queries: Query, empty: str) -> gauge.Panel:
    """Return a gauge for each series."""
    panel = (
        gauge.Panel()
        .reduce_options(last_value())
        .show_threshold_labels(False)
        .show_threshold_markers(True)
    )
    return described(panel, title, about, unit, *queries, empty=empty)


def bars_now(title: str, about: str, unit: str, *queries: Query, empty: str) -> bargauge.Panel:
    """Return one horizontal bar for each series, for the whole time range."""
    panel = (
        bargauge.Panel()
        .orientation(shapes.VizOrientation.HORIZONTAL)
        .display_mode(shapes.BarGaugeDisplayMode.BASIC)
        .value_mode(shapes.BarGaugeValueMode.COLOR)
        .reduce_options(last_value())
        .legend(legend())
    )
    return described(panel, title, about, unit, *queries, empty=empty)


def rows(
    title: str,
    about: str,
    unit: str,
    labels: Mapping[str, str],
    *queries: tuple[str, str, Query],
    empty: str,
) -> table.Panel:
    """Return a table: one line for each combination of labels, one column for each query.

    Args:
        title: Shown above the panel.
        about: What is seen.
        unit: Of the columns that state none.
        labels: Label -> column name.
        queries: Column name, unit, query; the query is an instant one in table format.
        empty: Shown instead of an empty table.
    """
    panel = (
        table.Panel()
        .show_header(True)
        .cell_height(shapes.TableCellHeight.SM)
        .filterable(False)
        .with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(
            models.DataTransformerConfig(id_val="organize", options=_organized(labels, queries))
        )
    )
    panel = described(panel, title, about, unit, *(query for *_, query in queries), empty=empty)
    for name, column_unit, _ in queries:
        digits = 0 if column_unit == NUMBER else 2 if column_unit == PLAIN else 1
        panel = panel.override_by_name(name, unit_of(column_unit, digits))
    return panel


def _organized(
    labels: Mapping[str, str], queries: Sequence[tuple[str, str, Query]]
) -> dict[str, Any]:
    values = {_value(place, len(queries)): name for place, (name, *_) in enumerate(queries)}
    renamed = {**labels, **values}
    return {
        "excludeByName": {"Time": True},
        "indexByName": {field: place for place, field in enumerate(renamed)},
        "renameByName": renamed,
    }


def _value(place: int, count: int) -> str:
    """Return how Grafana names the value of a query in a table: `Value` alone, else `Value #A`."""
    return "Value" if count == 1 else f"Value #{letter(place)}"


def categories(
    title: str,
    about: str,
    unit: str,
    label: tuple[str, str],
    *queries: tuple[str, Query],
    empty: str,
) -> barchart.Panel:
    """Return vertical bars: a group for each value of a label, a bar for each query.

    Args:
        title: Shown above the panel.
        about: What is seen.
        unit: Of the values.
        label: Label whose values are told apart, and its name on the axis.
        queries: Name and query, an instant one in table format.
        empty: Shown instead of an empty chart.
    """
    named = [(name, unit, query) for name, query in queries]
    panel = (
        barchart.Panel()
        .x_field(label[1])
        .orientation(shapes.VizOrientation.VERTICAL)
        .show_value(shapes.VisibilityMode.AUTO)
        .stacking(shapes.StackingMode.NONE)
        .group_width(0.7)
        .bar_width(0.9)
        .fill_opacity(80)
        .legend(legend())
        .with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(
            models.DataTransformerConfig(
                id_val="organize", options=_organized(dict([label]), named)
            )
        )
    )
    return described(panel, title, about, unit, *(query for _, query in queries), empty=empty)


def words(title: str, about: str, markdown: str) -> text.Panel:
    """Return a text, in Markdown."""
    return text.Panel().title(title).description(about).mode(TextMode.MARKDOWN).content(markdown)


def alert_list(title: str, about: str) -> dashboard.Panel:
    """Return the alerts that fire or are about to; the SDK has no builder of its own for it."""
    return (
        dashboard.Panel()
        .type("alertlist")
        .title(title)
        .description(about)
        .datasource(source(PROMETHEUS))
        .no_value("no alert")
        .options(
            {
                "alertInstanceLabelFilter": '{failure=~".+"}',
                "alertName": "",
                "dashboardAlerts": False,
                "groupBy": [],
                "groupMode": "default",
                "maxItems": 20,
                "sortOrder": 3,
                "stateFilter": {
                    "error": True,
                    "firing": True,
                    "noData": False,
                    "normal": False,
                    "pending": True,
                    "recovering": True,
                },
                "viewMode": "list",
            }
        )
    )
