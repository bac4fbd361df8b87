from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from dashboards.boards.files import PROVISIONED, files
from dashboards.errors import BoardFileError
from dashboards.failures import FAILURES
from dashboards.render.board import load_board, read_board
from dashboards.settings import Settings

RAW = {
    Path(path).stem: json.loads(text)
    for path, text in files(Settings()).items()
    if path.startswith(PROVISIONED)
}


@pytest.mark.parametrize("slug", RAW)
def test_every_board_is_read_whole(slug: str) -> None:
    raw, board = RAW[slug], read_board(RAW[slug])

    assert [panel.id for panel in board.panels] == [panel["id"] for panel in raw["panels"]]
    assert sum(len(p.targets) for p in board.panels) == sum(
        len(p.get("targets", [])) for p in raw["panels"]
    )
    assert [variable.name for variable in board.variables][:3] == ["job", "instance", "graph"]
    assert [marks.name for marks in board.marks] == ["Deploys"]


def test_an_import_flavour_is_read_as_well() -> None:
    text = files(Settings())["grafana/import/overview.json"]

    assert len(read_board(json.loads(text)).panels) == len(RAW["overview"]["panels"])


def test_overrides_change_the_look_of_one_series() -> None:
    board = read_board(RAW["failures"])
    signal = next(panel for panel in board.panels if panel.id == 101)
    limits = [t.ref for t in signal.targets if t.legend.endswith(" above")]

    assert len(limits) == 2
    for ref in limits:
        assert signal.look_of("any name", ref).custom["lineStyle"]["fill"] == "dash"
    assert "lineStyle" not in signal.look_of("any name", "A").custom
    assert signal.look_of("any name", "A").custom["lineWidth"] == 3


def test_an_override_by_name_colors_an_outcome() -> None:
    board = read_board(RAW["overview"])
    ends = next(panel for panel in board.panels if panel.title.startswith("Turns a minute"))

    assert ends.look_of("answered").color == "green"
    assert ends.look_of("error").color == "red"
    assert ends.look_of("something new").color is None


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.slug)
def test_a_row_alone_begins_at_the_top(failure: Any) -> None:
    row = read_board(RAW["failures"]).row(failure.title.upper())

    assert row.panels[0].title == failure.title
    assert row.panels[0].top == 0
    assert failure.panel.id in {panel.id for panel in row.panels}
    assert [panel.kind for panel in row.panels].count("row") == 1


def test_an_unknown_row_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BoardFileError) as caught:
        read_board(RAW["bound"]).row("Nothing")

    assert str(caught.value) == (
        "cannot draw Loopscope: where to set the bound: got the row 'Nothing', expected one of: "
        "The bound in force and the one that would do, What each rewrite finds and costs, Over "
        "time. The viewer draws the boards of `loopscope dashboards generate`: name one of them "
        "or a file of it."
    )


@pytest.mark.parametrize(
    ("remove", "expected"),
    [
        pytest.param(["panels"], "got no 'panels' where one is needed", id="no-panels"),
        pytest.param(["panels", 0, "gridPos"], "got no 'gridPos' where one", id="no-place"),
        pytest.param(["time"], "got no 'time' where one is needed", id="no-range"),
    ],
)
def test_a_dashboard_without_a_needed_part_is_refused(
    remove: list[str | int], expected: str
) -> None:
    raw: Any = copy.deepcopy(RAW["overview"])
    inner = raw
    for key in remove[:-1]:
        inner = inner[key]
    del inner[remove[-1]]

    with pytest.raises(BoardFileError, match=expected):
        read_board(raw)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(None, "FileNotFoundError", id="no-file"),
        pytest.param("{", "JSONDecodeError", id="no-json"),
        pytest.param("[]", "got no list indices", id="no-object"),
    ],
)
def test_a_file_that_is_no_board_is_refused(
    tmp_path: Path, text: str | None, expected: str
) -> None:
    path = tmp_path / "board.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(BoardFileError, match=expected):
        load_board(path)
