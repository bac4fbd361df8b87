"""Kept runs on the command line: a pull request's check from its baseline to its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent.beside import path_beside
from agent.cli import main
from agent.lab.shelf import HOLDS

HANDBOOK = Path("agent/data/handbook").resolve()
GOLDEN = """
- {question: "Can I get a refund?", topic: on, answers: [refunds]}
- {question: "Who won the match?", topic: off, answers: []}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "golden.yaml").write_text(GOLDEN)
    return tmp_path


def lab(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["lab", *arguments])


def measure(*arguments: str) -> Result:
    return lab("--golden", "golden.yaml", *arguments)


def test_a_run_is_kept_listed_and_compared(here: Path) -> None:
    kept = measure("--keep", "--json")
    run_id = json.loads(kept.stdout)["more"]["run"]["id"]
    again = measure("--keep", "--against", "last", "--json")
    listed = json.loads(lab("--list", "--json").stdout)
    compared = lab("--compare", run_id[:4], "last", "--json")

    assert kept.stderr.endswith(f"kept as run {run_id} in loopscope-turns.lab.sqlite\n")
    assert json.loads(again.stdout)["more"]["against"]["before"]["id"] == run_id
    assert [run["id"] for run in listed[1:]] == [run_id]
    assert (json.loads(compared.stdout)["before"]["id"], compared.exit_code) == (run_id, 0)
    assert run_id in lab("--list").stdout


def test_a_change_that_loses_a_question_fails_the_check(here: Path) -> None:
    (here / "base.json").write_text(measure("--json").stdout)
    docs = here / "docs"
    docs.mkdir()
    (docs / "all.md").write_text("# Plans\n\n## Refunds {#refunds}\n\nNothing of the kind.\n")
    (docs / "more.md").write_text("## Refund terms {#terms}\n\nYou get a refund in 30 days.\n")
    again = ("--docs", "docs", "--model", "local", "--k", "1", "--against", "base.json")
    checked = measure(*again, "--markdown")
    allowed = measure(*again, "--markdown", "--allow-flips", "1")

    assert checked.exit_code == 1
    assert checked.stdout.startswith("**worse: 1 lost and 0 won of 2 questions; 0 lost allowed**\n")
    assert "- differs: model golden -> local\n" in checked.stdout
    assert (allowed.exit_code, allowed.stdout.splitlines()[0]) == (
        0,
        "**no difference shown: 1 lost and 0 won of 2 questions; 1 lost allowed**",
    )


def test_tables_come_before_the_comparison(here: Path) -> None:
    (here / "base.json").write_text(measure("--json").stdout)
    shown = measure("--against", "base.json")

    assert shown.exit_code == 0
    assert shown.stdout.index("Table 3.") < shown.stdout.index("no difference shown: 0 lost")


def test_nothing_is_kept_unless_wanted(here: Path) -> None:
    measure("--json")

    assert lab("--list").stdout == "no run was kept yet; `loopscope lab --keep` keeps one\n"
    assert lab("--list", "--json").stdout == "[]\n"
    assert [path.name for path in here.iterdir()] == ["golden.yaml"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(
            ["--against", "nowhere.json"], 4,
            "run nowhere.json: got no such id or file, expected a run of the lab that was kept. "
            "Kept: none; `loopscope lab --list` shows all, `lab --keep` keeps one.",
            id="no-such-run",
        ),
        pytest.param(["--against", "last"], 4, "run last: got no such id or file", id="no-last"),
        pytest.param(
            ["--against", "golden.yaml"], 4, "run golden.yaml: got text that is no JSON", id="yaml"
        ),
        pytest.param(["--against", "."], 4, "run .: got Is a directory", id="a-folder"),
        pytest.param(
            ["--against", "x" * 300], 4, ": got File name too long", id="a-name-of-300-letters"
        ),
        pytest.param(
            ["--compare", "last", "golden.yaml"], 4, "run last: got no such", id="compare-nothing"
        ),
        pytest.param(
            ["--list", "--keep"], 2, "show what is kept, and run nothing", id="list-and-keep"
        ),
        pytest.param(
            ["--list", "--compare", "a", "b"], 2, "show what is kept", id="list-and-compare"
        ),
        pytest.param(["--markdown"], 2, "are about a comparison; add --against", id="markdown"),
        pytest.param(["--allow-flips", "1"], 2, "are about a comparison", id="allow-flips"),
        pytest.param(
            ["--against", "last", "--markdown", "--json"], 2, "leave one out", id="two-forms"
        ),
        pytest.param(
            ["--records", "off", "--keep"], 2, "records got 'off', expected", id="no-place-to-keep"
        ),
    ],
)  # fmt: skip
def test_wrong_use_is_refused_before_anything_is_asked(
    arguments: list[str], code: int, message: str, here: Path
) -> None:
    result = measure(*arguments)

    assert (result.exit_code, message in result.output) == (code, True)
    assert "asking" not in result.output


def test_an_id_that_begins_two_runs_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["aaaa0001", "aaaa0002"])
    monkeypatch.setattr("agent.lab.kept.secrets.token_hex", lambda _: next(ids))
    for _ in range(2):
        measure("--keep")

    assert "run aaaa: got an id of several" in lab("--compare", "aaaa", "last").output


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--max-bound", "2", "--against", "last"], id="against"),
        pytest.param(["--compare", "last", "last"], id="compare"),
    ],
)
def test_kept_runs_that_cannot_be_read_are_no_worse_run(options: list[str], tmp_path: Path) -> None:
    records = tmp_path / "turns.sqlite"
    path_beside(str(records), HOLDS).write_bytes(b"no database")
    ran = CliRunner().invoke(main, ["lab", "--records", str(records), *options])
    assert ran.exit_code == 4
    assert "cannot be read" in ran.stderr
