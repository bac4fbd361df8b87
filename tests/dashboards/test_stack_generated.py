"""What the generator writes fits the stack that mounts it (cases C85 and C91)."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from native_servers import need

from dashboards import grafana_rules, prometheus_rules
from dashboards.settings import load_settings
from dashboards.stack import render

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
GENERATED = ROOT / "dashboards/generated"
BOARDS = sorted((GENERATED / "grafana/dashboards").rglob("*.json"))


def mounted() -> set[str]:
    """Return the folders of the generator that services mount, below `dashboards/generated`."""
    sources = [
        spec.split(":")[0]
        for service in COMPOSE["services"].values()
        for spec in service.get("volumes", [])
    ]
    start = "./dashboards/generated/"
    return {source.removeprefix(start) for source in sources if source.startswith(start)}


def declared(**changes: Any) -> set[str]:
    text = render.datasources(load_settings(**changes))
    return {source["uid"] for source in yaml.safe_load(text)["datasources"]}


def uids(value: Any) -> Iterator[str]:
    """Yield every data source uid in a board."""
    if isinstance(value, dict):
        source = value.get("datasource")
        if isinstance(source, dict) and "uid" in source:
            yield source["uid"]
        if "datasourceUid" in value:
            yield value["datasourceUid"]
        for below in value.values():
            yield from uids(below)
    elif isinstance(value, list):
        for below in value:
            yield from uids(below)


def test_rule_files_are_written_where_they_are_mounted() -> None:
    settings = load_settings()
    paths = [*prometheus_rules.files(settings), *grafana_rules.files(settings)]

    assert {str(Path(path).parent) for path in paths} == mounted() - {"grafana/dashboards"}
    assert all(path.endswith((".yml", ".yaml")) for path in paths)


def test_rules_ask_only_declared_data_sources() -> None:
    changes = {"prometheus_uid": "metrics-here", "tempo_uid": "traces-here"}
    (text,) = grafana_rules.files(load_settings(**changes)).values()
    asked = set(re.findall(r"datasourceUid: (\S+)", text)) - {"__expr__"}

    assert asked
    assert asked <= declared(**changes)


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.name)
def test_board_asks_only_declared_data_sources_and_variables(path: Path) -> None:
    board = json.loads(path.read_text(encoding="utf-8"))
    variables = {
        form.format(variable["name"])
        for variable in board.get("templating", {}).get("list", [])
        if variable["type"] == "datasource"
        for form in ("${{{}}}", "${}")
    }
    own = {"-- Grafana --", "-- Mixed --", "-- Dashboard --"}

    assert set(uids(board)) - own
    assert set(uids(board)) <= declared() | variables | own
    assert "__inputs" not in board
    assert "${DS_" not in json.dumps(board)


@pytest.mark.servers
@pytest.mark.parametrize("scrape", [15, 60])
def test_prometheus_accepts_the_configuration_with_every_generated_rule(
    tmp_path: Path, scrape: float
) -> None:
    settings = load_settings(scrape_interval=scrape)
    for path, text in prometheus_rules.files(settings).items():
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    place = render.Place(
        targets={}, alertmanager="127.0.0.1:9093",
        rules=str(tmp_path / "prometheus" / "*.yml"), notifications="http://127.0.0.1:9099/",
    )  # fmt: skip
    config = tmp_path / "prometheus.yml"
    config.write_text(render.prometheus(place, settings), encoding="utf-8")
    done = subprocess.run(
        [need("promtool"), "check", "config", str(config)],
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(prometheus_rules.files(settings))} rule files found" in done.stdout
