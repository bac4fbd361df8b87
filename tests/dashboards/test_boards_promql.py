"""Laws of the PromQL on the boards: names, variables, ranges, and agreement with the rules."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import promql_parser as p
import pytest
from exported import COUNTERS, FAMILIES, LABELS
from expressions import bare, nodes, recorded, selectors

from dashboards.boards.files import PROVISIONED, files
from dashboards.conditions import Either, Exceeds, Rises
from dashboards.failure import Alert, Failure
from dashboards.failures import FAILURES
from dashboards.settings import Settings, load_settings
from telemetry import names

SETTINGS = Settings()
VALUES = {
    names.LABEL_OUTCOME: {*names.OUTCOMES, *names.OUTCOME_GROUPS},
    names.LABEL_RETRIEVED: {*names.RETRIEVED},
    names.LABEL_LAST_GRADE: {*names.GRADES_OR_NONE},
    names.LABEL_RESULT: {*names.RETRIEVAL_RESULTS},
    names.LABEL_ATTEMPT: {*names.ATTEMPTS},
    names.LABEL_GRADE: {*names.GRADES_OR_NONE},
    names.LABEL_EFFECT: {*names.EFFECTS},
    names.LABEL_ROLE: {*names.ROLES},
    names.LABEL_REASON: {*names.FAILURE_REASONS},
}
PROMETHEUS_OWN = re.compile(r"ALERTS|prometheus_rule_\w+")
FILLED = {"__rate_interval": "61s", "__range": "62s", "__interval": "63s"}
"""What each variable becomes here: ranges that no rule has, so that they are told apart."""


def queries(settings: Settings = SETTINGS) -> dict[str, str]:
    """Place -> PromQL with its variables, of every target and every mark."""
    found = {}
    for path, text in files(settings).items():
        if not path.startswith(PROVISIONED):
            continue
        board = json.loads(text)
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                found[f"{Path(path).stem}/{panel['id']}{target['refId']}"] = target["expr"]
        found[f"{Path(path).stem}/deploys"] = board["annotations"]["list"][1]["expr"]
    return found


def substituted(expr: str) -> str:
    """Return parsable PromQL; a chosen label becomes `chosen`."""
    for name, value in FILLED.items():
        expr = expr.replace(f"${name}", value)
    return re.sub(r"\$\w+", "chosen", expr)


EVERY = {place: substituted(expr) for place, expr in queries().items()}
RECORDED = recorded(SETTINGS)


def asked() -> list[tuple[str, p.VectorSelector]]:
    return [(place, s) for place, expr in EVERY.items() for s in selectors(expr)]


def matchers(selector: p.VectorSelector) -> dict[str, str]:
    return {matcher.name: matcher.value for matcher in selector.matchers.matchers}


def test_there_are_many_queries() -> None:
    assert len(EVERY) > 300


def test_metrics_and_labels_are_those_of_telemetry_and_rules() -> None:
    target = {*SETTINGS.group_by, "instance"}
    wrong = [
        f"{place}: {selector.prettify()}"
        for place, selector in asked()
        if not PROMETHEUS_OWN.fullmatch(selector.name)
        and not (
            (selector.name in LABELS and {*matchers(selector)} <= LABELS[selector.name] | target)
            or (selector.name in RECORDED and {*matchers(selector)} <= RECORDED[selector.name])
        )
    ]

    assert wrong == []


def test_label_values_are_of_the_closed_sets() -> None:
    wrong = [
        f"{place}: {label}={value}"
        for place, selector in asked()
        for label, text in matchers(selector).items()
        if label in VALUES
        for value in text.split("|")
        if value not in VALUES[label]
    ]

    assert wrong == []


def test_every_metric_is_on_a_board() -> None:
    used = {re.sub(r"_(bucket|count|sum)$", "", selector.name) for _, selector in asked()}

    assert FAMILIES.keys() - used == set()


def test_variables_limit_every_series_of_the_service() -> None:
    """The services that are chosen; where no alert is mirrored, replicas and graphs as well."""
    for place, selector in asked():
        if PROMETHEUS_OWN.fullmatch(selector.name):
            continue
        chosen = {label for label, value in matchers(selector).items() if value == "chosen"}
        wanted = {"job"}
        if selector.name in LABELS and not re.match(r"failures/|overview/1\d\d", place):
            wanted |= {"instance"} | ({"graph"} & LABELS[selector.name])
        assert wanted <= chosen, f"{place}: {selector.prettify()}"


def test_rates_take_the_interval_that_grafana_computes() -> None:
    """The stated exception are panels that mirror an alert: they take the alert's window."""
    windows = {SETTINGS.range_seconds(window) for window in SETTINGS.windows}
    bursts = {SETTINGS.range_seconds(window / 12) for window in SETTINGS.windows}
    allowed = {
        "rate": {61.0},
        "increase": {61.0, 62.0, *windows, *bursts},
        "absent_over_time": {SETTINGS.memory},
        "last_over_time": {SETTINGS.memory, SETTINGS.window_medium},
    }
    for place, expr in EVERY.items():
        for call in (node for node in nodes(expr) if isinstance(node, p.Call)):
            for argument in call.args:
                if isinstance(argument, p.MatrixSelector):
                    seconds = argument.range.total_seconds()
                    assert seconds in allowed[call.func.name], f"{place}: {call.prettify()}"


def test_counters_are_never_read_as_they_are() -> None:
    found = {place: read for place, expr in EVERY.items() if (read := bare(expr, COUNTERS))}

    assert found == {}


def test_no_query_ranks_series() -> None:
    """`topk` shows other series at each step."""
    assert [place for place, expr in EVERY.items() if "topk" in expr or "irate" in expr] == []


def mirrored(settings: Settings) -> dict[int, set[str]]:
    """Panel of the failures board -> its expressions without the variables."""
    board = json.loads(files(settings)[f"{PROVISIONED}/failures.json"])
    found: dict[int, set[str]] = {}
    for panel in board["panels"]:
        bared = {_bare_of_variables(t["expr"]) for t in panel.get("targets", [])}
        found.setdefault(panel["id"] // 10 if panel["id"] > 1000 else panel["id"], set()).update(
            bared
        )
    return found


def _bare_of_variables(expr: str) -> str:
    return expr.replace(',job=~"$job"}', "}").replace('{job=~"$job"}', "")


CASES = [
    pytest.param(failure, alert, id=failure.alert_name(alert))
    for failure in FAILURES
    for alert in failure.alerts
]


@pytest.mark.parametrize(("failure", "alert"), CASES)
def test_panel_shows_what_its_alert_compares(failure: Failure, alert: Alert) -> None:
    shown = mirrored(SETTINGS)[failure.panel.id]
    parts = alert.condition.of if isinstance(alert.condition, Either) else (alert.condition,)
    for part in parts:
        if isinstance(part, Rises):
            signal = part.signal
            expected = {
                part.value(SETTINGS),
                signal.recorded("baseline", SETTINGS),
                signal.recorded(f"threshold_{part.margin.tier}", SETTINGS),
            }
        elif isinstance(part, Exceeds):
            expected = {part.value(SETTINGS), f"vector({SETTINGS.limit(part.limit):g})"}
        else:
            continue
        if failure.panel.unit == "seconds" and isinstance(part, Exceeds):
            expected |= {f"vector({SETTINGS.latency_seconds:g})"}
        assert expected <= shown


@pytest.mark.parametrize(
    ("changes", "panel", "expected"),
    [
        pytest.param({"swap_ticket": 0.4}, 104, "vector(0.4)", id="a-fixed-limit"),
        pytest.param({"latency_seconds": 40}, 117, "vector(40)", id="the-latency-objective"),
        pytest.param({"loop_budget": 0.01}, 102, "vector(0.144)", id="an-error-budget"),
        pytest.param({"traffic_expected": 50}, 109, "vector(50)", id="the-traffic-expected"),
    ],
)
def test_a_setting_moves_the_line(changes: dict[str, Any], panel: int, expected: str) -> None:
    assert expected not in mirrored(SETTINGS)[panel]
    assert expected in mirrored(load_settings(**changes))[panel]


def test_windows_of_the_rules_are_those_of_the_panels() -> None:
    scaled = queries(load_settings(time_scale=1 / 60, scrape_interval=1))

    assert any('window="1m"' in expr for expr in scaled.values())
    assert not any('window="1h"' in expr for expr in scaled.values())


def test_more_labels_tell_services_apart() -> None:
    grouped = load_settings(group_by="job,cluster", selector='namespace="prod"')
    for place, expr in queries(grouped).items():
        for selector in selectors(substituted(expr)):
            if selector.name in LABELS:
                found = matchers(selector)
                assert (found["cluster"], found["namespace"]) == ("chosen", "prod"), place
    board = json.loads(files(grouped)[f"{PROVISIONED}/failures.json"])
    legends = [
        target["legendFormat"]
        for panel in board["panels"]
        for target in panel.get("targets", [])
        if target.get("legendFormat", "").endswith("surely at least")
    ]

    assert "cluster" in {variable["name"] for variable in board["templating"]["list"]}
    assert set(legends) == {"{{job}} {{cluster}}: surely at least"}


def test_the_oracle_sees_a_foreign_metric() -> None:
    (selector,) = selectors("rag_nothing_total{job='a'}")

    assert selector.name not in LABELS | RECORDED
    assert bare("rag_turns_total > 5", COUNTERS) == ["rag_turns_total"]
