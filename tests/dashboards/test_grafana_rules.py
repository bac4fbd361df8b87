from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from grafana_model import expand_braced, expand_everything, render

from dashboards import grafana_rules
from dashboards.failure import FAILURES_BOARD_UID
from dashboards.failures import FAILURES
from dashboards.grafana_reader import check_rules_file
from dashboards.prometheus_rules import groups
from dashboards.settings import Settings, load_settings

ALERTS = [(failure, alert) for failure in FAILURES for alert in failure.alerts]


def provisioned(settings: Settings) -> dict[str, dict[str, Any]]:
    """Title -> rule, as a YAML reader gets them."""
    content = yaml.safe_load(grafana_rules.files(settings)[grafana_rules.PATH])
    return {rule["title"]: rule for group in content["groups"] for rule in group["rules"]}


def query(rule: dict[str, Any], ref: str) -> dict[str, Any]:
    return next(data["model"] for data in rule["data"] if data["refId"] == ref)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"time_scale": 1 / 60, "scrape_interval": "1s"},
        {"group_by": "job,cluster", "selector": 'team="a"', "uid_prefix": "longest"},
    ],
    ids=["defaults", "demo", "other-words"],
)
def test_the_strict_reader_accepts_what_is_written(changes: dict[str, Any]) -> None:
    files = grafana_rules.files(load_settings(**changes))

    for path, text in files.items():
        check_rules_file(path, text)


def test_every_alert_is_there_with_its_identity(settings: Settings) -> None:
    rules = provisioned(settings)

    assert list(rules) == [failure.alert_name(alert) for failure, alert in ALERTS]
    for failure, alert in ALERTS:
        rule = rules[failure.alert_name(alert)]
        assert rule["uid"] == failure.alert_uid(alert, settings)
        assert rule["labels"] == failure.labels(alert, settings)
        assert rule["annotations"]["__dashboardUid__"] == FAILURES_BOARD_UID
        assert rule["annotations"]["__panelId__"] == str(failure.panel.id)


def test_the_prometheus_expression_is_inside_the_query(settings: Settings) -> None:
    rules = provisioned(settings)
    for failure in FAILURES:
        if "prometheus" in failure.hosts:
            for group in groups(failure, settings):
                for rule in group["rules"]:
                    if "alert" in rule:
                        assert rule["expr"] in query(rules[rule["alert"]], "A")["expr"]


def test_times_are_those_of_prometheus(settings: Settings) -> None:
    rules = provisioned(settings)
    for failure, alert in ALERTS:
        rule = rules[failure.alert_name(alert)]
        assert rule["for"] == settings.span(alert.pending_seconds)
        assert rule["keepFiringFor"] == settings.span(alert.keep_seconds)


def test_missing_data_and_failing_queries_are_told_by_one_rule_each(settings: Settings) -> None:
    rules = provisioned(settings)
    no_data = {name for name, rule in rules.items() if rule["noDataState"] != "OK"}
    failing = {name for name, rule in rules.items() if rule["execErrState"] != "KeepLast"}

    assert no_data == {"RagMetricsAbsentPage", "RagDatasourceDownPage"}
    assert failing == {"RagDatasourceDownPage"}
    assert all(rule["missing_series_evals_to_resolve"] == 1 for rule in rules.values())


def test_the_data_source_is_one_setting() -> None:
    rules = provisioned(load_settings(prometheus_uid="my-prom"))
    uids = {data["datasourceUid"] for rule in rules.values() for data in rule["data"]}

    assert uids == {"my-prom", "__expr__"}


def test_retired_uids_are_deleted(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(grafana_rules, "RETIRED_UIDS", ("old_failure-page",))

    content = yaml.safe_load(grafana_rules.files(settings)[grafana_rules.PATH])

    assert content["deleteRules"] == [{"orgId": 1, "uid": "rag-old_failure-page"}]


def test_both_hosts_read_the_same_sentence(settings: Settings) -> None:
    """The same alert, rendered from each file: nothing is lost and no dollar is left over."""
    labels, value, rules = {"job": "support"}, 0.42, provisioned(settings)
    prometheus = {
        rule["alert"]: rule["annotations"]["summary"]
        for failure in FAILURES
        for group in groups(failure, settings)
        for rule in group["rules"]
        if "alert" in rule
    }
    for name, text in prometheus.items():
        in_grafana = expand_braced(rules[name]["annotations"]["summary"], {"labels": "WRONG"})
        told = render(in_grafana, labels, value, "$values.V.Value")

        assert told == render(text, labels, value, "$value")
        assert not re.search(r"\$|\{\{|<no value>", told)


def test_labels_survive_the_expansion_of_variables(settings: Settings) -> None:
    for rule in provisioned(settings).values():
        for text in (*rule["labels"].values(), rule["title"], rule["uid"], rule["for"]):
            assert expand_everything(text, {}) == text


def test_the_model_of_grafana_shows_the_mistake_it_stands_for() -> None:
    assert expand_everything("{{ $labels.role }}", {}) == "{{ .role }}"
    with pytest.raises(ValueError, match="no such template"):
        render("{{ .role }}", {}, 0, "$value")


def test_the_interval_is_a_multiple_of_the_tick_at_every_scale() -> None:
    for settings in (Settings(), load_settings(time_scale=1 / 60, scrape_interval="1s")):
        intervals = {group["interval"] for group in grafana_rules.provisioning(settings)["groups"]}
        assert intervals <= {"10s", "1m"}


def test_the_folder_is_a_setting_and_no_dashboard_folder(settings: Settings) -> None:
    content = grafana_rules.provisioning(load_settings(grafana_folder="Alerts of mine"))

    assert {group["folder"] for group in content["groups"]} == {"Alerts of mine"}
    assert settings.grafana_folder != "Loopscope"
