from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from promtool import firing_details

from dashboards import kubernetes_rules, prometheus_rules
from dashboards.failure import Failure
from dashboards.prometheus_rules import groups, prometheus_failures
from dashboards.scenarios import SCENARIOS
from dashboards.settings import Settings, load_settings

MOST_RULES = 20
"""Rules a group, Mimir's default limit for a tenant."""


def rules_of(settings: Settings) -> list[dict[str, Any]]:
    return [
        rule
        for f in prometheus_failures()
        for group in groups(f, settings)
        for rule in group["rules"]
    ]


def test_groups_are_small_and_named_once(settings: Settings) -> None:
    all_groups = [group for f in prometheus_failures() for group in groups(f, settings)]

    assert max(len(group["rules"]) for group in all_groups) <= MOST_RULES
    assert max(Counter(group["name"] for group in all_groups).values()) == 1


def test_no_series_is_recorded_twice(settings: Settings) -> None:
    recorded = Counter(
        (rule["record"], str(rule.get("labels"))) for rule in rules_of(settings) if "record" in rule
    )

    assert max(recorded.values()) == 1


def test_recordings_come_before_the_alerts_that_read_them(settings: Settings) -> None:
    for failure in prometheus_failures():
        for group in groups(failure, settings):
            kinds = ["record" if "record" in rule else "alert" for rule in group["rules"]]
            assert kinds == sorted(kinds, reverse=True)


def test_recorded_names_have_level_metric_and_operation(settings: Settings) -> None:
    for rule in rules_of(settings):
        if "record" in rule:
            level, metric, operation = rule["record"].split(":")
            assert level in ("job", "job_window")
            assert metric.startswith("rag_")
            assert operation


def test_a_longer_grouping_is_the_level_of_every_name() -> None:
    grouped = load_settings(group_by="job,namespace")
    names = {rule["record"] for rule in rules_of(grouped) if "record" in rule}

    assert all(name.startswith(("job_namespace:", "job_namespace_window:")) for name in names)


def test_a_selector_narrows_every_series(settings: Settings) -> None:
    narrowed = load_settings(selector='namespace="prod"')
    raw = [
        rule["expr"] for rule in rules_of(narrowed) if "[" in rule["expr"] and "{" in rule["expr"]
    ]

    assert raw
    for expression in raw:
        for part in expression.split("rag_")[1:]:
            is_series = part.startswith(("turns_total", "grades_total", "build_info", "retrievals"))
            assert not is_series or 'namespace="prod"' in part.partition("}")[0]


def test_severities_and_their_words_are_settings() -> None:
    worded = load_settings(severity_page="critical", severity_ticket="warning")
    words = {rule["labels"]["severity"] for rule in rules_of(worded) if "alert" in rule}

    assert words == {"critical", "warning"}


def test_a_grafana_address_links_each_alert_to_its_panel() -> None:
    linked = load_settings(grafana_url="https://grafana.example/")
    urls = {rule["annotations"]["panel_url"] for rule in rules_of(linked) if "alert" in rule}

    assert "https://grafana.example/d/loopscope-failures?viewPanel=101" in urls
    assert "panel_url" not in str(rules_of(Settings()))


def test_the_kubernetes_object_holds_the_same_groups(settings: Settings) -> None:
    text = kubernetes_rules.files(settings)["kubernetes/prometheusrule.yaml"]
    files = [yaml.safe_load(t)["groups"] for t in prometheus_rules.files(settings).values()]

    assert yaml.safe_load(text)["spec"]["groups"] == [group for part in files for group in part]


def test_the_operator_finds_the_object_by_its_labels() -> None:
    labelled = load_settings(rule_labels="release=mine,team=search", rule_namespace="obs")
    metadata = kubernetes_rules.prometheus_rule(labelled)["metadata"]

    assert metadata == {
        "name": "loopscope",
        "namespace": "obs",
        "labels": {"release": "mine", "team": "search"},
    }


@pytest.mark.servers
@pytest.mark.parametrize("failure", prometheus_failures(), ids=lambda failure: failure.slug)
def test_prometheus_renders_every_annotation(
    failure: Failure, settings: Settings, tree: Path, tmp_path: Path
) -> None:
    """Real templates: no empty value, no error text, the service and a number where promised."""
    for case in SCENARIOS[failure.slug].cases():
        minute = max(case.firing)
        if case.kind == "fires":
            series = [
                {"series": key, "values": values}
                for replica in case.replicas
                for key, values in replica.series(1, {}).items()
            ]
            rules = tree / "prometheus" / f"{failure.slug}.yml"
            rendered = firing_details(rules, series, case.firing[minute], minute, tmp_path)
            for name in case.firing[minute]:
                summary = rendered[name]
                assert "support" in summary
                assert not any(bad in summary for bad in ("no value", "<error", "%!", "{{", "NaN"))
