"""Walk the PromQL of everything generated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promql_parser as p

from dashboards.failure import recordings_by_group
from dashboards.failures import FAILURES
from dashboards.grafana_rules import provisioning
from dashboards.settings import Settings

ABSENT = frozenset({"whatever the selector says"})
SPECIAL = {"absent_over_time": ABSENT, "vector": frozenset[str]()}
"""Function -> labels, where they are not those of the argument."""


def recorded(settings: Settings) -> dict[str, frozenset[str]]:
    """Recorded series -> the labels it has."""
    return {
        rule.name: frozenset({*settings.group_by, *(label for label, _ in rule.labels)})
        | ({"window"} if rule.name.startswith(f"{settings.level}_window:") else frozenset())
        for failure in FAILURES
        for _, rules, _ in recordings_by_group(failure, settings)
        for rule in rules
    }


def every(settings: Settings) -> dict[str, str]:
    """Place -> expression, of every rule in Prometheus and Grafana."""
    found = {}
    for failure in FAILURES:
        for group, recordings, alerts in recordings_by_group(failure, settings):
            for rule in recordings:
                found[f"{group} {rule.name} {dict(rule.labels)}"] = rule.expr
            for alert in alerts:
                found[failure.alert_name(alert)] = alert.condition.expr(settings)
    for group in provisioning(settings)["groups"]:
        for rule in group["rules"]:
            for query in rule["data"]:
                if "expr" in query["model"]:
                    found[f"Grafana {rule['title']} {query['refId']}"] = query["model"]["expr"]
    return found


def nodes(expression: str) -> Iterator[Any]:
    found: list[Any] = []
    p.walk(p.parse(expression), found.append)
    yield from found


def selectors(expression: str) -> list[p.VectorSelector]:
    return [node for node in nodes(expression) if isinstance(node, p.VectorSelector)]


def ranges(expression: str) -> list[float]:
    """Seconds of every range and subquery range."""
    kinds = (p.MatrixSelector, p.SubqueryExpr)
    return [node.range.total_seconds() for node in nodes(expression) if isinstance(node, kinds)]


def bare(expression: str, metrics: frozenset[str]) -> list[str]:
    """The metrics among `metrics` that are read without a range."""
    inside = {
        id_of(node.vector_selector)
        for node in nodes(expression)
        if isinstance(node, p.MatrixSelector)
    }
    found = [s for s in selectors(expression) if s.name in metrics]
    return [s.name for s in found if id_of(s) not in inside]


def id_of(selector: p.VectorSelector) -> str:
    return selector.prettify()


def labels_of(
    node: Any, settings: Settings, known: dict[str, frozenset[str]]
) -> frozenset[str] | None:
    """Return the labels of a node's series; None for a number.

    Raises:
        ValueError: Two sides of an operator do not have the same labels, nor are matched on the
            grouping labels.
    """
    if isinstance(node, p.BinaryExpr):
        return _labels_of_both(node, settings, known)
    if isinstance(node, p.NumberLiteral):
        return None
    if isinstance(node, p.VectorSelector):
        return known.get(node.name, frozenset({f"all of {node.name}"}))
    if isinstance(node, p.AggregateExpr):
        labels_of(node.expr, settings, known)
        return frozenset(node.modifier.labels) if node.modifier else frozenset()
    if isinstance(node, p.Call) and node.func.name in SPECIAL:
        return SPECIAL[node.func.name]
    return labels_of(_inner(node), settings, known)


def _inner(node: Any) -> Any:
    if isinstance(node, p.Call):
        return node.args[0]
    return node.vector_selector if isinstance(node, p.MatrixSelector) else node.expr


def _labels_of_both(
    node: p.BinaryExpr, settings: Settings, known: dict[str, frozenset[str]]
) -> frozenset[str] | None:
    left, right = (labels_of(side, settings, known) for side in (node.lhs, node.rhs))
    matching = node.modifier.matching if node.modifier else None
    on = frozenset(matching.labels) if matching else None
    if left is None or right is None:
        return left or right
    if right != ABSENT and left != right and on != frozenset(settings.group_by):
        raise ValueError(f"{sorted(left)} {node.op} {sorted(right)} in {node.prettify()}")
    return left
