from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_prometheus import Answers, fake_prometheus

from dashboards.boards.files import files
from dashboards.cli import dashboards
from dashboards.settings import Settings


@pytest.fixture
def server() -> Iterator[tuple[str, Answers]]:
    with fake_prometheus() as found:
        found[1].job = "agent"
        yield found


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(dashboards, ["render", *map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


def test_a_board_becomes_one_file(server: tuple[str, Answers], tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    code, told, err = run("--prometheus", server[0], "--board", "bound", "--out", out)

    assert (code, told, err) == (0, f"{out}\n", "")
    assert "Loopscope: where to set the bound" in out.read_text(encoding="utf-8")
    assert "Plotly" in out.read_text(encoding="utf-8")


def test_a_generated_file_and_a_row_are_drawn(server: tuple[str, Answers], tmp_path: Path) -> None:
    board, out = tmp_path / "mine.json", tmp_path / "row.html"
    board.write_text(files(Settings())["grafana/dashboards/failures.json"], encoding="utf-8")
    code, _, _ = run(
        "--prometheus", server[0], "--board", board, "--row", "Synonym swap", "--out", out
    )
    text = out.read_text(encoding="utf-8")

    assert code == 0
    assert "Rewrites by effect" in text
    assert "Refused before any search" not in text


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param(["--range", "2h"], 7200, id="a-length-up-to-now"),
        pytest.param(["--range", "2h", "--to", "1800000000"], 7200, id="a-length-up-to-then"),
        pytest.param(["--from", "1799990000", "--to", "1800000000"], 10000, id="two-moments"),
        pytest.param([], 21600, id="else-the-boards-own"),
    ],
)
def test_time_range(
    server: tuple[str, Answers], tmp_path: Path, times: list[str], expected: float
) -> None:
    code, _, _ = run("--prometheus", server[0], "--out", tmp_path / "o.html", *times)
    asked = next(a for a in server[1].asked if a.path.endswith("query_exemplars")).parameters

    assert code == 0
    assert float(asked["end"]) - float(asked["start"]) == pytest.approx(expected, abs=0.01)


def test_limits_reach_the_queries(server: tuple[str, Answers], tmp_path: Path) -> None:
    run("--prometheus", server[0], "--out", tmp_path / "o.html", "--var", "job=agent|shop")
    queries = [a.parameters["query"] for a in server[1].asked if "query" in a.parameters]

    assert any('job=~"agent|shop"' in query for query in queries)
    assert not any("$" in query for query in queries)


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        pytest.param(
            ["--board", "nothing"], 2,
            "error: cannot draw nothing: got no board of this name, expected a .json file or one "
            "of overview, failures, pipeline, bound, topic-check.", id="unknown-board",
        ),
        pytest.param(["--row", "Nothing"], 2, "error: cannot draw Loopscope: overview: got the row",
                     id="unknown-row"),
        pytest.param(["--range", "6h", "--from", "now-1h"], 2,
                     "error: no time range: got '--range 6h with --from now-1h'", id="two-starts"),
        pytest.param(["--to", "now-7h"], 2, "error: no time range: got 'now-6h to now-7h'",
                     id="end-before-start"),
        pytest.param(["--var", "job"], 2, "got 'job', expected NAME=REGEX", id="no-value"),
    ],
)  # fmt: skip
def test_wrong_usage(
    server: tuple[str, Answers], tmp_path: Path, arguments: list[str], code: int, expected: str
) -> None:
    found, out, err = run("--prometheus", server[0], "--out", tmp_path / "o.html", *arguments)

    assert (found, out) == (code, "")
    assert expected in err
    assert not (tmp_path / "o.html").exists()


def test_a_prometheus_that_does_not_answer_is_a_failure(tmp_path: Path) -> None:
    code, out, err = run("--prometheus", "http://127.0.0.1:1", "--out", tmp_path / "o.html")

    assert (code, out) == (1, "")
    assert err.startswith("error: Prometheus at http://127.0.0.1:1 gave no answer")


def test_a_file_that_is_none_of_ours(server: tuple[str, Answers], tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"title": "Other"}))
    code, _, err = run("--prometheus", server[0], "--board", path)

    assert code == 2
    assert f"error: cannot draw {path}: got no 'uid' where one is needed." in err
