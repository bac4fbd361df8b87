"""Every mistake that Grafana would refuse, or silently drop, is refused by the strict reader."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dashboards.errors import GrafanaRefusalError
from dashboards.grafana_reader import check_rules_file, problems
from dashboards.grafana_rules import provisioning
from dashboards.settings import Settings
from dashboards.yaml_text import dump

GOOD = provisioning(Settings())
Change = Callable[[dict[str, Any]], object]


def _group(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["groups"][0]
    return found


def _rule(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _group(content)["rules"][0]
    return found


def _query(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _rule(content)["data"][0]
    return found


def _rename(part: Callable[[dict[str, Any]], dict[str, Any]], old: str, new: str) -> Change:
    return lambda content: part(content).update({new: part(content).pop(old)})


def _put(part: Callable[[dict[str, Any]], dict[str, Any]], key: str, value: object) -> Change:
    return lambda content: part(content).update({key: value})


def _drop(part: Callable[[dict[str, Any]], dict[str, Any]], key: str) -> Change:
    return lambda content: part(content).pop(key)


def _top(content: dict[str, Any]) -> dict[str, Any]:
    return content


def _labels(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _rule(content)["labels"]
    return found


def _notes(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _rule(content)["annotations"]
    return found


def _model(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _query(content)["model"]
    return found


MISTAKES = {
    # what the SDK writes, and a file must not
    "group-title-instead-of-name": (_rename(_group, "name", "title"), "name is None"),
    "folder-uid-instead-of-folder": (_rename(_group, "folder", "folderUid"), "folder is None"),
    "interval-as-a-number": (_put(_group, "interval", 60), "interval is 60"),
    "keep-firing-in-snake-case": (
        _rename(_rule, "keepFiringFor", "keep_firing_for"), "'keep_firing_for', which Grafana drops"
    ),
    "missing-series-in-camel-case": (
        _rename(_rule, "missing_series_evals_to_resolve", "missingSeriesEvalsToResolve"),
        "'missingSeriesEvalsToResolve', which Grafana drops",
    ),
    "rule-group-on-the-rule": (_put(_rule, "ruleGroup", "g"), "'ruleGroup'"),
    "org-on-the-rule": (_put(_rule, "orgID", 1), "'orgID'"),
    "bare-group": (lambda c: [c.pop("groups"), c.update(name="x")], "groups is empty"),
    # files
    "no-version": (_drop(_top, "apiVersion"), "apiVersion is None"),
    "unknown-key": (_put(_top, "contactpoints", []), "'contactpoints'"),
    # groups
    "no-name": (_put(_group, "name", ""), "name is ''"),
    "long-name": (_put(_group, "name", "x" * 191), "expected 1 to 190"),
    "no-folder": (_drop(_group, "folder"), "folder is None"),
    "interval-of-15s": (_put(_group, "interval", "15s"), "multiple of 10s"),
    "interval-of-0": (_put(_group, "interval", "0s"), "multiple of 10s"),
    "no-interval": (_drop(_group, "interval"), "interval is None"),
    "no-rules": (_put(_group, "rules", []), "has no rules"),
    "group-twice": (lambda c: c["groups"].append(c["groups"][0]), "used twice"),
    # rules
    "no-uid": (_drop(_rule, "uid"), "uid is None"),
    "long-uid": (_put(_rule, "uid", "x" * 41), "expected 1 to 40"),
    "uid-with-a-dot": (_put(_rule, "uid", "a.b"), "uid is 'a.b'"),
    "uid-twice": (
        lambda c: c["groups"][1]["rules"][0].update(uid=_rule(c)["uid"]), "uid 'rag-silent"
    ),
    "title-twice": (
        lambda c: c["groups"][1]["rules"][0].update(title=_rule(c)["title"]), "title in a folder"
    ),
    "long-title": (_put(_rule, "title", "x" * 191), "title is 'xxx"),
    "no-data-in-lower-case": (_put(_rule, "noDataState", "ok"), "noDataState is 'ok'"),
    "no-data-missing": (_drop(_rule, "noDataState"), "noDataState is None"),
    "error-state-of-no-data": (_put(_rule, "execErrState", "NoData"), "execErrState is 'NoData'"),
    "negative-for": (_put(_rule, "for", "-1m"), "for is '-1m'"),
    "no-for": (_drop(_rule, "for"), "for is None"),
    "for-as-a-number": (_put(_rule, "for", 120), "for is 120"),
    "keep-as-a-word": (_put(_rule, "keepFiringFor", "long"), "keepFiringFor is 'long'"),
    "evals-of-0": (
        _put(_rule, "missing_series_evals_to_resolve", 0), "to_resolve is 0, expected 1"
    ),
    "evals-true": (_put(_rule, "missing_series_evals_to_resolve", True), "to_resolve is True"),
    "own-routing": (_put(_rule, "notification_settings", {"receiver": "r"}), "contact point"),
    # queries
    "no-query": (_put(_rule, "data", []), "has no query"),
    "condition-of-nothing": (_put(_rule, "condition", "X"), "condition is 'X'"),
    "ref-twice": (_put(_query, "refId", "V"), "expected each once"),
    "model-of-another-ref": (_put(_model, "refId", "Z"), "model has refId 'Z'"),
    "empty-range": (_put(_query, "relativeTimeRange", {"from": 0, "to": 0}), "expected from > to"),
    "no-range": (_drop(_query, "relativeTimeRange"), "relativeTimeRange is {}"),
    "source-by-name": (_put(_query, "datasourceUid", "My Prometheus"), "not a name"),
    "source-variable": (_put(_query, "datasourceUid", "${DS_PROM}"), "not a name or a variable"),
    "dashboard-variable": (_put(_model, "expr", "up[$__rate_interval]"), "without dashboard"),
    "no-expression": (_put(_model, "expr", ""), "expr is ''"),
    "range-query": (_put(_model, "instant", False), "no instant query"),
    "threshold-of-nothing": (
        lambda c: _rule(c)["data"][2]["model"].update(expression="Q"), "looks at 'Q'"
    ),
    "unknown-query-key": (_put(_query, "hide", True), "'hide'"),
    # texts
    "number-as-label": (_put(_labels, "level", 1), "level is 1, expected a text"),
    "template-in-a-label": (_put(_labels, "job", "{{ $labels.job }}"), "label 'job' holds '$'"),
    "reserved-label": (_put(_labels, "__grafana_receiver__", "x"), "Grafana's own"),
    "variable-in-an-annotation": (_put(_notes, "summary", "${HOME}"), "annotation 'summary'"),
    "doubled-dollar": (_put(_notes, "summary", "{{ $$labels.job }}"), "annotation 'summary'"),
    "dollar-in-a-title": (_put(_rule, "title", "costs $5"), "title holds '$'"),
    "panel-without-board": (_drop(_notes, "__dashboardUid__"), "only one of"),
    "board-without-panel": (_drop(_notes, "__panelId__"), "only one of"),
    "panel-by-name": (_put(_notes, "__panelId__", "first"), "expected a whole number"),
    # deletions
    "deleted-and-defined": (
        lambda c: c.update(deleteRules=[{"uid": _rule(c)["uid"]}]), "deleted and defined"
    ),
    "deletion-without-uid": (lambda c: c.update(deleteRules=[{"orgId": 1}]), "deleteRules uid"),
    "deletion-by-title": (
        lambda c: c.update(deleteRules=[{"uid": "a", "title": "b"}]), "'title', which Grafana drops"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "said"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_refused(change: Change, said: str) -> None:
    content = copy.deepcopy(GOOD)
    change(content)

    found = list(problems(content))

    assert any(said in problem for problem in found), found


def test_what_is_right_is_accepted() -> None:
    assert list(problems(GOOD)) == []


def test_no_mapping_is_refused() -> None:
    assert list(problems([])) == ["the file is list, expected a mapping"]


def test_the_refusal_names_file_and_reason() -> None:
    content = copy.deepcopy(GOOD)
    _put(_group, "interval", "15s")(content)

    with pytest.raises(GrafanaRefusalError) as caught:
        check_rules_file("rules.yaml", dump(content))

    assert str(caught.value) == (
        "rules.yaml is not what Grafana expects: group 'rag_silent_rejection' interval is 15s, "
        "expected a multiple of 10s above 0. Correct the definition or setting that the rule "
        "comes from."
    )
