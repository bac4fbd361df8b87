"""The same rules as one PrometheusRule object of the Prometheus operator."""

from __future__ import annotations

from typing import Any

from dashboards.prometheus_rules import groups, prometheus_failures
from dashboards.settings import Settings
from dashboards.yaml_text import dump


def files(settings: Settings) -> dict[str, str]:
    """Return path -> text of the object."""
    return {
        "kubernetes/prometheusrule.yaml": dump(
            prometheus_rule(settings),
            about="The operator ignores the object unless its ruleSelector matches these labels.",
        )
    }


def prometheus_rule(settings: Settings) -> dict[str, Any]:
    """Return the object; the operator selects it by its metadata's labels."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": settings.rule_name,
            "namespace": settings.rule_namespace,
            "labels": dict(sorted(settings.rule_labels.items())),
        },
        "spec": {
            "groups": [
                group for failure in prometheus_failures() for group in groups(failure, settings)
            ]
        },
    }
