"""What surrounds the panels of every board: variables, deploy marks, links between boards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from dashboards.boards.layout import Board, place
from dashboards.boards.queries import Queries, is_chosen
from dashboards.boards.targets import PROMETHEUS, source
from dashboards.settings import Settings
from dashboards.signals import series
from telemetry import names

TAG: Final = "loopscope"
REFRESH: Final = "30s"
GRAFANA: Final = "-- Grafana --"
"""Uid of Grafana's own data source."""
MARKS_SHOWN: Final = 100
"""Grafana's own default."""
ALL: Final = ".+"
"""What a variable matches when all values are chosen."""
_BUILD: Final = (
    names.LABEL_GRAPH, names.LABEL_VERSION, names.LABEL_INDEX, names.LABEL_PROMPT,
    names.LABEL_GRADER, names.LABEL_MODEL,
)  # fmt: skip


def dashboard_json(board: Board, settings: Settings) -> dict[str, Any]:
    """Return the board as Grafana's dashboard JSON, classic schema, for file provisioning."""
    queries = Queries(settings=settings)
    built = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.about)
        .tags([TAG])
        .readonly()
        .timezone("browser")
        .refresh(REFRESH)
        .time(f"now-{settings.range(settings.window_long)}", "now")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .variables(list(_variables(board, settings)))
        .annotations([_alert_marks(), deploy_marks(queries), _marks()])
        .links([_other_boards()])
    )
    for panel in place(board.rows, queries):
        built = (
            built.with_row(panel) if isinstance(panel, dashboard.Row) else built.with_panel(panel)
        )
    plain: dict[str, Any] = _without_menus(json.loads(JSONEncoder().encode(built.build())))
    return plain


def _variables(board: Board, settings: Settings) -> Iterator[Any]:
    yield _source_variable("prometheus", settings.prometheus_uid)
    yield _source_variable("tempo", settings.tempo_uid)
    chosen: list[str] = []
    labels = [*settings.group_by, "instance", names.LABEL_GRAPH]
    if board.has_versions:
        labels.append(names.LABEL_VERSION)
    for label in labels:
        known = series(settings, names.BUILD_INFO, *map(is_chosen, chosen))
        yield _label_variable(label, f"label_values({known}, {label})")
        chosen.append(label)


def _source_variable(kind: str, uid: str) -> dashboard.DatasourceVariable:
    return (
        dashboard.DatasourceVariable(f"{kind}_datasource")
        .label(f"{kind.capitalize()} data source")
        .type(kind)
        .current(models.VariableOption(text=uid, value=uid))
    )


def _label_variable(label: str, query: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(label)
        .label(label.capitalize())
        .query(query)
        .datasource(source(PROMETHEUS))
        .multi(True)
        .include_all(True)
        .all_value(ALL)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .current(models.VariableOption(text="All", value="$__all"))
    )


def _alert_marks() -> dashboard.AnnotationQuery:
    """Grafana's own entry, without which state changes of its alerts are not shown."""
    return (
        dashboard.AnnotationQuery()
        .name("Annotations & Alerts")
        .built_in(1)
        .datasource(source(GRAFANA, "grafana"))
        .type("dashboard")
        .enable(True)
        .hide(True)
        .icon_color("rgba(0, 211, 255, 1)")
    )


def _marks() -> dashboard.AnnotationQuery:
    """What people and pipelines marked: `loopscope mark`, or any annotation with our tag."""
    target = dashboard.AnnotationTarget().type("tags").tags([names.MARK_TAG]).match_any(False)
    return (
        dashboard.AnnotationQuery()
        .name("Marks")
        .datasource(source(GRAFANA, "grafana"))
        .enable(True)
        .icon_color("orange")
        .target(target.limit(MARKS_SHOWN))  # type: ignore[arg-type]  # the SDK knows only queries
    )


def deploy_marks(queries: Queries) -> dashboard.AnnotationQuery:
    """Return the marks of each first sight of a build: version, index, prompt, grader or model.

    A build that was away for less than the middle window is not new: a restart makes no mark.
    """
    info = queries.one(names.BUILD_INFO)
    by = ", ".join((*queries.settings.group_by, *_BUILD))
    before = f"last_over_time({info}[{queries.medium}] offset $__interval)"
    return (
        dashboard.AnnotationQuery()
        .name("Deploys")
        .datasource(source(PROMETHEUS))
        .enable(True)
        .icon_color("purple")
        .expr(f"group by ({by}) ({info}) unless group by ({by}) ({before})")
        .step(queries.settings.span(queries.settings.evaluation_interval))
        .title_format("{{job}} now runs version {{version}}")
        .text_format(
            "graph {{graph}}, index {{index}}, prompt {{prompt}}, grader {{grader}}, "
            "model {{model}}"
        )
        .tag_keys("job,graph,version")
    )


def _other_boards() -> dashboard.DashboardLink:
    return (
        dashboard.DashboardLink("Loopscope boards")
        .type(models.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .include_vars(True)
        .keep_time(True)
    )


def _without_menus(value: Any) -> Any:
    """Drop the SDK's default that hides marks and links in a menu of newer Grafana versions."""
    if isinstance(value, dict):
        return {
            key: _without_menus(item) for key, item in value.items() if item != "inControlsMenu"
        }
    return [_without_menus(item) for item in value] if isinstance(value, list) else value
