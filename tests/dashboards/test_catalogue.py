from __future__ import annotations

import json
from pathlib import Path

import yaml

from dashboards.failures import FAILURES
from dashboards.settings import Settings


def test_the_catalogue_and_the_rules_say_the_same(tree: Path, settings: Settings) -> None:
    content = json.loads((tree / "failures.json").read_text())
    rules = {
        rule["alert"]: rule
        for file in (tree / "prometheus").glob("*.yml")
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }
    by_name = {a["name"]: a for f in content["failures"] for a in f["alerts"]}

    assert [f["slug"] for f in content["failures"]] == [f.slug for f in FAILURES]
    for name, rule in rules.items():
        assert by_name[name]["query"] == rule["expr"]
        assert by_name[name]["severity"] == rule["labels"]["severity"]
        assert by_name[name]["runbook_url"] == rule["annotations"]["runbook_url"]
    assert by_name.keys() - rules.keys() == {"RagDatasourceDownPage"}


def test_signals_name_series_that_are_recorded(tree: Path) -> None:
    content = json.loads((tree / "failures.json").read_text())
    recorded = {
        rule["record"]
        for file in (tree / "prometheus").glob("*.yml")
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
        if "record" in rule
    }
    signals = [signal for f in content["failures"] for signal in f["signals"]]

    assert {"rejected", "not_found", "swapped", "drifted"} <= {s["slug"] for s in signals}
    for signal in signals:
        named = [signal["events"], signal["total"], *signal["thresholds"].values()]
        named += [signal["baseline"]] if signal["baseline"] else []
        assert set(named) <= recorded
        assert signal["windows"] == ["15m", "1h", "6h"]


def test_runbooks_named_are_there(tree: Path) -> None:
    content = json.loads((tree / "failures.json").read_text())

    assert all((tree / "runbooks" / f["runbook"]).is_file() for f in content["failures"])
