"""Laws that hold for every generated board: identity, layout, what each panel must have."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from dashboards.boards.files import IMPORTED, PROVISIONED, files
from dashboards.failure import FAILURES_BOARD_UID
from dashboards.failures import FAILURES
from dashboards.render.values import COLORS
from dashboards.settings import Settings, load_settings
from dashboards.wording import filled
from telemetry import names

SETTINGS = Settings()
FILES = files(SETTINGS)
BOARDS = {
    Path(path).stem: json.loads(text)
    for path, text in FILES.items()
    if path.startswith(PROVISIONED)
}
UNITS = {"percentunit", "short", "s", "cpm", "none", "decbytes"}
"""The units of ours; each is in Grafana's list."""
NO_DATA = {"text", "row"}
IDS = Path(__file__).parent / "board_ids.json"


def panels(board: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (panel for panel in board["panels"] if panel["type"] != "row")


EVERY = [
    pytest.param(board, panel, id=f"{slug}-{panel['id']}-{panel['title']}")
    for slug, board in BOARDS.items()
    for panel in panels(board)
]
WITH_DATA = [param for param in EVERY if param.values[1]["type"] not in {"text", "alertlist"}]


def test_the_sdk_is_the_one_for_this_grafana() -> None:
    """An unpinned install takes an epoch version for an old Grafana."""
    assert importlib.metadata.version("grafana-foundation-sdk").removeprefix("v") == "0.0.21"


def test_uids_titles_and_files_are_unique() -> None:
    assert list(BOARDS) == ["overview", "failures", "pipeline", "bound", "topic-check"]
    for key in ("uid", "title"):
        values = [board[key] for board in BOARDS.values()]
        assert len(set(values)) == len(values)
    assert BOARDS["failures"]["uid"] == FAILURES_BOARD_UID
    assert all(board["title"] != SETTINGS.grafana_folder for board in BOARDS.values())


def test_ids_are_those_of_earlier_releases() -> None:
    """Alerts and links point at ids: change a title, never an id, and never use one again."""
    ids = {
        board["uid"]: {str(panel["id"]): panel["title"] for panel in board["panels"]}
        for board in BOARDS.values()
    }

    assert ids == json.loads(IDS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_board(board: dict[str, Any]) -> None:
    ids = [panel["id"] for panel in board["panels"]]
    built_in, deploys, marks = board["annotations"]["list"]

    assert len(set(ids)) == len(ids)
    assert min(ids) > 0
    assert board["description"]
    assert board["editable"] is False
    assert board["schemaVersion"] == 42
    assert board["tags"] == ["loopscope"]
    assert board["timezone"] == "browser"
    assert board["time"] == {"from": "now-6h", "to": "now"}
    assert board["graphTooltip"] == 1
    assert (built_in["builtIn"], built_in["datasource"]["uid"]) == (1, "-- Grafana --")
    assert deploys["name"] == "Deploys"
    assert "rag_build_info" in deploys["expr"]
    assert marks["datasource"] == {"type": "grafana", "uid": "-- Grafana --"}
    assert marks["target"] == {
        "type": "tags", "tags": [names.MARK_TAG], "matchAny": False, "limit": 100,
    }  # fmt: skip
    assert marks["enable"] is True
    assert board["links"][0]["tags"] == ["loopscope"]
    assert board["links"][0]["includeVars"] is True
    assert "inControlsMenu" not in json.dumps(board)


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_panels_neither_overlap_nor_leave_the_grid(board: dict[str, Any]) -> None:
    taken: dict[tuple[int, int], int] = {}
    for panel in board["panels"]:
        grid = panel["gridPos"]
        assert grid["x"] + grid["w"] <= 24
        for x in range(grid["x"], grid["x"] + grid["w"]):
            for y in range(grid["y"], grid["y"] + grid["h"]):
                assert taken.setdefault((x, y), panel["id"]) == panel["id"]


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_variables(board: dict[str, Any]) -> None:
    """What dashboard-linter asks for: template-datasource, -job, -instance and -on-time-change."""
    prometheus, tempo, *labels = board["templating"]["list"]

    assert (prometheus["name"], prometheus["label"]) == (
        "prometheus_datasource",
        "Prometheus data source",
    )
    assert prometheus["current"]["value"] == SETTINGS.prometheus_uid
    assert (tempo["name"], tempo["label"]) == ("tempo_datasource", "Tempo data source")
    assert tempo["current"]["value"] == SETTINGS.tempo_uid
    assert [v["name"] for v in labels][:3] == ["job", "instance", "graph"]
    for variable in labels:
        assert variable["label"] == variable["name"].capitalize()
        assert variable["type"] == "query"
        assert variable["datasource"]["uid"] == "${prometheus_datasource}"
        assert variable["refresh"] == 2
        assert (variable["multi"], variable["includeAll"]) == (True, True)
        assert variable["allValue"] == ".+"
        assert re.fullmatch(rf"label_values\(rag_build_info.*, {variable['name']}\)",
                            variable["query"])  # fmt: skip


@pytest.mark.parametrize(("board", "panel"), EVERY)
def test_panel_says_what_it_shows(board: dict[str, Any], panel: dict[str, Any]) -> None:
    assert panel["title"]
    assert len(panel["description"]) >= 20
    assert panel["title"][0].isupper()
    assert "<" not in panel["description"].replace("< ", "")


@pytest.mark.parametrize(("board", "panel"), WITH_DATA)
def test_panel_with_data_has_what_a_reader_needs(
    board: dict[str, Any], panel: dict[str, Any]
) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    (base, *_) = defaults["thresholds"]["steps"]

    assert defaults["unit"] in UNITS
    assert defaults["min"] == 0
    assert defaults["noValue"]
    assert base["value"] is None
    assert panel["datasource"] == {"type": "prometheus", "uid": "${prometheus_datasource}"}
    assert panel["targets"]


@pytest.mark.parametrize(("board", "panel"), WITH_DATA)
def test_thresholds_fit_the_unit(board: dict[str, Any], panel: dict[str, Any]) -> None:
    """A share is 0 to 1; a limit of 20 would be 2,000 %."""
    thresholds = panel["fieldConfig"]["defaults"]["thresholds"]
    limits = [step["value"] for step in thresholds["steps"][1:]]

    assert thresholds["mode"] == "absolute"
    assert limits == sorted(limits)
    if panel["fieldConfig"]["defaults"]["unit"] == "percentunit":
        assert all(0 <= limit <= 1 for limit in limits)


@pytest.mark.parametrize(("board", "panel"), WITH_DATA)
def test_counts_have_no_decimals_and_are_said_to_be_approximate(
    board: dict[str, Any], panel: dict[str, Any]
) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    if defaults["unit"] == "short":
        assert defaults["decimals"] == 0
        assert "approx." in panel["description"]


@pytest.mark.parametrize(("board", "panel"), WITH_DATA)
def test_legends_and_reductions_are_set(board: dict[str, Any], panel: dict[str, Any]) -> None:
    """The SDK leaves legends off and reductions empty."""
    options = panel["options"]
    if panel["type"] in {"timeseries", "barchart", "state-timeline", "bargauge"}:
        assert options["legend"]["showLegend"] is True
        assert options["legend"]["placement"] == "bottom"
    if panel["type"] in {"stat", "gauge", "bargauge"}:
        assert options["reduceOptions"]["calcs"] == ["lastNotNull"]


@pytest.mark.parametrize(("board", "panel"), WITH_DATA)
def test_colors_are_known_to_the_viewer(board: dict[str, Any], panel: dict[str, Any]) -> None:
    config = json.dumps(panel["fieldConfig"])
    named = set(re.findall(r'"(?:color|fixedColor)": "([^"]+)"', config))

    assert named <= set(COLORS)


def test_every_alert_points_at_a_panel_that_is_there(files: dict[str, str]) -> None:
    by_uid = {board["uid"]: board for board in BOARDS.values()}
    rules = [
        rule
        for group in yaml.safe_load(files["grafana/alerting/rules.yaml"])["groups"]
        for rule in group["rules"]
    ]

    assert len(rules) > 20
    for rule in rules:
        board = by_uid[rule["annotations"]["__dashboardUid__"]]
        panel = int(rule["annotations"]["__panelId__"])
        assert panel in {found["id"] for found in panels(board)}, rule["title"]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.slug)
def test_every_failure_has_a_tile_and_a_row(failure: Any) -> None:
    rows = {p["title"]: p for p in BOARDS["failures"]["panels"] if p["type"] == "row"}
    tile = next(p for p in panels(BOARDS["overview"]) if p["id"] == failure.panel.id)
    signal = next(p for p in panels(BOARDS["failures"]) if p["id"] == failure.panel.id)

    assert failure.title in rows
    assert rows[failure.title]["gridPos"]["y"] + 1 == signal["gridPos"]["y"]
    assert tile["title"] == failure.title
    assert signal["title"] == failure.panel.title
    assert [target["refId"] for target in tile["targets"]] == ["A", "B"]
    for link in (*tile["links"], *tile["fieldConfig"]["defaults"]["links"]):
        assert f"/d/{FAILURES_BOARD_UID}?viewPanel={failure.panel.id}&" in link["url"]
        assert "${__url_time_range}" in link["url"]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.slug)
def test_signal_leads_to_the_traces_of_its_turns(failure: Any) -> None:
    signal = next(p for p in panels(BOARDS["failures"]) if p["id"] == failure.panel.id)
    (link,) = signal["fieldConfig"]["defaults"]["links"]
    asked = json.loads(unquote(link["url"].partition("panes=")[2]))["loopscope"]

    assert asked["queries"][0]["query"] == filled(failure.traces, SETTINGS)
    assert asked["datasource"] == "${tempo_datasource}"
    assert asked["range"] == {"from": "${__from}", "to": "${__to}"}
    assert not set(re.findall(r"%24%7B\w+", link["url"]))


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        pytest.param("docs/runbooks", None, id="path-in-the-repository-is-no-link-in-grafana"),
        pytest.param(
            "https://example.org/runbooks/",
            "https://example.org/runbooks/synonym_swap.md",
            id="address-is-linked",
        ),
    ],
)
def test_runbook_is_named_and_linked_where_it_can_be(base: str, expected: str | None) -> None:
    made = files(load_settings(runbook_base=base))
    board = json.loads(made[f"{PROVISIONED}/failures.json"])
    signal = next(p for p in panels(board) if p["title"] == "Rewrites by what they changed")
    text = next(p for p in panels(board) if p["title"] == "Synonym swap: first steps")
    links = {link["title"]: link["url"] for link in signal["links"]}

    assert links.get("Runbook") == expected
    assert (expected or "docs/runbooks/synonym_swap.md") in text["options"]["content"]


@pytest.mark.parametrize("slug", BOARDS)
def test_import_flavour_asks_for_each_of_its_data_sources(slug: str) -> None:
    text = FILES[f"{IMPORTED}/{slug}.json"]
    board = json.loads(text)
    inputs = {item["name"]: item["pluginId"] for item in board["__inputs"]}

    assert set(re.findall(r"\$\{(DS_\w+)\}", text)) <= set(inputs)
    assert inputs == {"DS_PROMETHEUS": "prometheus", "DS_TEMPO": "tempo"}
    assert "_datasource}" not in text
    assert all(item["type"] != "datasource" for item in board["templating"]["list"])
    assert board["id"] is None
    assert [p["id"] for p in board["panels"]] == [p["id"] for p in BOARDS[slug]["panels"]]


def test_provisioned_flavour_has_no_placeholder() -> None:
    for slug in BOARDS:
        text = FILES[f"{PROVISIONED}/{slug}.json"]

        assert "${DS_" not in text
        assert "__inputs" not in text


def test_two_runs_write_the_same_bytes() -> None:
    assert files(Settings()) == FILES
    for text in FILES.values():
        assert text == json.dumps(
            json.loads(text), indent=2, sort_keys=True, ensure_ascii=False
        ) + "\n"  # fmt: skip
