"""Grafana-managed rules in the format of Grafana's provisioning files (Grafana >= 12.1.2).

Rules are built with the SDK's models and then rewritten, because the SDK writes the shape of the
HTTP API: in a file Grafana refuses to start on its group keys and silently loses some rule keys.
Each rule asks for the same expression as its Prometheus twin, wrapped so that healthy is 0 and
not "no data".

Source: grafana/grafana `pkg/services/provisioning/alerting/rules_types.go`.
"""

from __future__ import annotations

import json
from typing import Any, Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import alerting, expr, prometheus

from dashboards import durations
from dashboards.failure import Alert, Failure
from dashboards.failures import FAILURES, RETIRED_UIDS
from dashboards.grafana_reader import check_rules_file
from dashboards.settings import Settings
from dashboards.signals import series
from dashboards.wording import alert_texts
from dashboards.yaml_text import dump
from telemetry import names

PATH: Final = "grafana/alerting/rules.yaml"
ASKED_SECONDS: Final = 600
"""Time range of an instant query; only its end counts, but Grafana refuses an empty range."""

_FILE_KEYS: Final = {
    "keep_firing_for": "keepFiringFor",
    "missingSeriesEvalsToResolve": "missing_series_evals_to_resolve",
}
"""SDK key -> file key, where a file's reader knows only the other spelling."""
_API_ONLY: Final = frozenset({"folderUID", "orgID", "ruleGroup"})
"""Keys of the HTTP API that say where a rule is; in a file its place says so."""


def files(settings: Settings) -> dict[str, str]:
    """Return path -> text of the rules file.

    Raises:
        GrafanaRefusalError: Grafana would refuse the file or silently change it.
    """
    text = dump(
        provisioning(settings), about="For Grafana >= 12.1.2; older ones lose keepFiringFor."
    )
    check_rules_file(PATH, text)
    return {PATH: text}


def provisioning(settings: Settings) -> dict[str, Any]:
    """Return the file's content: one group a failure, and the uids of rules that are gone."""
    content: dict[str, Any] = {
        "apiVersion": 1,
        "groups": [_group(failure, settings) for failure in FAILURES],
    }
    if RETIRED_UIDS:
        content["deleteRules"] = [
            {"orgId": settings.grafana_org, "uid": f"{settings.uid_prefix}-{uid}"}
            for uid in RETIRED_UIDS
        ]
    return content


def _group(failure: Failure, settings: Settings) -> dict[str, Any]:
    return {
        "orgId": settings.grafana_org,
        "name": f"rag_{failure.slug}",
        "folder": settings.grafana_folder,
        "interval": durations.text(settings.grafana_seconds),
        "rules": [_as_in_file(rule(failure, alert, settings)) for alert in failure.alerts],
    }


def rule(failure: Failure, alert: Alert, settings: Settings) -> alerting.Rule:
    """Return the SDK's model of an alert's rule.

    A query that fails keeps the last state, so that a restart of Prometheus does not raise every
    rule; the rule on the data source itself tells. No data means that the service is gone, which
    the rule on absent metrics tells.
    """
    is_about_source = failure.hosts == ("grafana",)
    is_about_data = failure.slug in {"metrics_absent", "datasource_down"}
    return alerting.Rule(
        uid=failure.alert_uid(alert, settings),
        title=failure.alert_name(alert),
        condition="C",
        data=_queries(failure, alert, settings),
        no_data_state="Alerting" if is_about_data else "OK",
        exec_err_state="Alerting" if is_about_source else "KeepLast",
        for_val=settings.span(alert.pending_seconds),
        keep_firing_for=settings.span(alert.keep_seconds),
        missing_series_evals_to_resolve=1,
        is_paused=False,
        labels=failure.labels(alert, settings),
        annotations=alert_texts(failure, alert, settings, "grafana"),
    )


def wrapped(expression: str, settings: Settings) -> str:
    """Return 1 for each service where the expression has a series, and 0 where it has none."""
    return f"count by ({settings.by}) (\n{expression}\n)\n{_else_zero(settings)}"


def _else_zero(settings: Settings) -> str:
    here = f"0 * group by ({settings.by}) ({series(settings, names.BUILD_INFO)})"
    return f"or on ({settings.by}) {here}"


def _queries(failure: Failure, alert: Alert, settings: Settings) -> list[alerting.Query]:
    """A is what the condition looks at, V the number that the summary shows."""
    if failure.hosts == ("grafana",):
        question, value = alert.condition.value(settings), alert.condition.value(settings)
        limit = ("lt", 1.0)
    else:
        question = wrapped(alert.condition.expr(settings), settings)
        value = f"(\n{alert.condition.value(settings)}\n)\n{_else_zero(settings)}"
        limit = ("gt", 0.0)
    return [
        _prometheus_query("A", question, settings),
        _prometheus_query("V", value, settings),
        _threshold_query(*limit),
    ]


def _prometheus_query(ref: str, question: str, settings: Settings) -> alerting.Query:
    return alerting.Query(
        ref_id=ref,
        datasource_uid=settings.prometheus_uid,
        relative_time_range=alerting.RelativeTimeRange(from_val=ASKED_SECONDS, to=0),
        model=prometheus.Dataquery(expr=question, instant=True, range_val=False, ref_id=ref),
    )


def _threshold_query(kind: Any, limit: float) -> alerting.Query:
    evaluator = expr.ExprTypeThresholdConditionsEvaluator(params=[limit], type_val=kind)
    return alerting.Query(
        ref_id="C",
        datasource_uid="__expr__",
        model=expr.TypeThreshold(
            expression="A",
            conditions=[expr.ExprTypeThresholdConditions(evaluator=evaluator)],
            ref_id="C",
        ),
    )


def _as_in_file(rule: alerting.Rule) -> dict[str, Any]:
    """Return a rule as the provisioning file spells it, its identity first."""
    api: dict[str, Any] = json.loads(JSONEncoder().encode(rule))
    kept = {_FILE_KEYS.get(key, key): value for key, value in api.items() if key not in _API_ONLY}
    first = ("uid", "title", "condition", "for", "keepFiringFor", "noDataState", "execErrState")
    order = [*first, *sorted(kept.keys() - {*first, "data"}), "data"]
    return {key: kept[key] for key in order}
