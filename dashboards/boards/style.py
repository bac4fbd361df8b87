"""What every panel has: description, unit, lower end, no-value text, colors that mean something.

The functions of `over_time.py` and `at_a_glance.py` return builders of the SDK, without id and
place: those belong to the board.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, Self, TypeVar

from grafana_foundation_sdk.builders import common, dashboard, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models

from dashboards.boards.colors import GOOD, QUIET
from dashboards.boards.targets import PROMETHEUS, Query, letter, source

SHARE: Final = "percentunit"
"""Unit of a share, 0 to 1."""
SECONDS: Final = "s"
PER_MINUTE: Final = "cpm"
BYTES: Final = "decbytes"
NUMBER: Final = "short"
"""Unit of a count of events: shown without decimals."""
PLAIN: Final = "none"
"""Unit of a mean or a ratio that is no share."""
APPROXIMATE: Final = (
    "Counts are approximate (approx.): Prometheus extrapolates between scrapes, and panels round."
)

Step = tuple[float | None, str]
"""Value from which on a color holds, and the color; None for the first."""


class PanelBuilder(Protocol):
    """What the SDK's panel builders have in common."""

    def title(self, title: str) -> Self: ...  # noqa: D102
    def description(self, description: str) -> Self: ...  # noqa: D102
    def datasource(self, datasource: shapes.DataSourceRef) -> Self: ...  # noqa: D102
    def unit(self, unit: str) -> Self: ...  # noqa: D102
    def min(self, min_val: float) -> Self: ...  # noqa: D102
    def decimals(self, decimals: float) -> Self: ...  # noqa: D102
    def no_value(self, no_value: str) -> Self: ...  # noqa: D102
    def interval(self, interval: str) -> Self: ...  # noqa: D102
    def thresholds(self, thresholds: Builder[models.ThresholdsConfig]) -> Self: ...  # noqa: D102
    def with_target(self, target: Builder[Dataquery]) -> Self: ...  # noqa: D102
    def id(self, id_val: int) -> Self: ...  # noqa: D102
    def grid_pos(self, grid_pos: models.GridPos) -> Self: ...  # noqa: D102
    def build(self) -> models.Panel: ...  # noqa: D102
    def override_by_name(  # noqa: D102
        self, name: str, properties: list[models.DynamicConfigValue]
    ) -> Self: ...


P = TypeVar("P", bound=PanelBuilder)


def described(
    panel: P, title: str, about: str, unit: str, *queries: Query, empty: str = "no data"
) -> P:
    """Fill in what every panel has.

    Args:
        panel: A new builder.
        title: Shown above the panel.
        about: What is seen, and what it means.
        unit: One of the constants above; counts of events have no decimals.
        queries: The targets, which get the letters A, B, ...
        empty: Shown instead of an empty panel.
    """
    is_count = unit == NUMBER
    panel = (
        panel.title(title)
        .description(f"{about} {APPROXIMATE}" if is_count else about)
        .datasource(source(PROMETHEUS))
        .unit(unit)
        .min(0)
        .no_value(empty)
        .thresholds(steps((None, GOOD)))
    )
    if is_count:
        panel = panel.decimals(0)
    for place, query in enumerate(queries):
        panel = panel.with_target(query.target(letter(place)))
    return panel


def steps(*limits: Step) -> dashboard.ThresholdsConfig:
    """Return absolute thresholds, in the panel's own unit."""
    return (
        dashboard.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value=value, color=color) for value, color in limits])
    )


def legend() -> common.VizLegendOptions:
    """Return a legend below the panel."""
    return (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(shapes.LegendDisplayMode.LIST)
        .placement(shapes.LegendPlacement.BOTTOM)
        .calcs([])
    )


def state_names(mapping: Mapping[int, tuple[str, str]]) -> models.ValueMap:
    """Return the value mapping of numbers to texts and colors."""
    return models.ValueMap(
        options={
            str(value): models.ValueMappingResult(text=shown, color=color, index=place)
            for place, (value, (shown, color)) in enumerate(mapping.items())
        }
    )


def unit_of(unit: str, digits: int) -> list[models.DynamicConfigValue]:
    """Return the properties that give one column a unit of its own."""
    return [
        models.DynamicConfigValue(id_val="unit", value=unit),
        models.DynamicConfigValue(id_val="decimals", value=digits),
    ]


def colored(panel: P, colors: Mapping[str, str]) -> P:
    """Give series a color by their name, so that it stays when another series is missing."""
    for name, color in colors.items():
        panel = panel.override_by_name(name, [fixed(color)])
    return panel


def fixed(color: str) -> models.DynamicConfigValue:
    """Return the property of one color."""
    return models.DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": color})


def limit_line(panel: timeseries.Panel, ref: str, color: str = QUIET) -> timeseries.Panel:
    """Draw a query as a dashed line: a limit or a usual value, not a measurement."""
    dash = {"fill": "dash", "dash": [8, 6]}
    return panel.override_by_query(
        ref,
        [
            fixed(color),
            models.DynamicConfigValue(id_val="custom.lineStyle", value=dash),
            models.DynamicConfigValue(id_val="custom.lineWidth", value=1),
            models.DynamicConfigValue(id_val="custom.fillOpacity", value=0),
            models.DynamicConfigValue(
                id_val="custom.stacking", value={"mode": "none", "group": "limits"}
            ),
        ],
    )
