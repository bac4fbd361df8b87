"""A file that the user named and that is missing or something else is wrong usage everywhere."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent.cli import main

PROMETHEUS = "--prometheus http://127.0.0.1:1"
MISSING_OR_OTHER = [
    pytest.param("lab --golden FILE", 2, id="golden-set"),
    pytest.param("probe --url http://127.0.0.1:1 --api-key k --rounds 1 --golden FILE", 2,
                 id="golden-set-of-a-probe"),
    pytest.param("ask --index FILE q", 2, id="index"),
    pytest.param("ask --docs FILE q", 2, id="documents"),
    pytest.param("index FILE", 2, id="documents-to-index"),
    pytest.param("traffic --duration 1s --mix FILE", 2, id="mix"),
    pytest.param(f"dashboards render {PROMETHEUS} --board FILE", 2, id="board"),
    pytest.param("gaps --records FILE", 2, id="gaps"),
    pytest.param("review --json --records FILE", 2, id="review"),
    pytest.param("compare --records FILE", 4, id="compare"),
    pytest.param("canary --stable 1 --canary 2 --once --records FILE", 4, id="canary"),
    pytest.param("lab --against FILE", 4, id="against-a-run"),
    pytest.param("lab --compare FILE FILE", 4, id="compare-runs"),
]  # fmt: skip
ONLY_OTHER = [
    pytest.param("mark moved --records FILE", 2, id="mark"),
]
BESIDE = [
    pytest.param("lab --list", 2, id="list"),
    pytest.param("lab --keep", 2, id="keep"),
    pytest.param("lab --against last", 4, id="against-the-last"),
    pytest.param("review --json", 2, id="verdicts"),
]


def run(line: str, path: Path) -> Result:
    words = [word.replace("FILE", str(path)) for word in line.split()]
    return CliRunner().invoke(main, words, env={"LOOPSCOPE_RECORDS": None})


def other(path: Path) -> Path:
    path.write_text('["neither a database nor one of the files that were meant, and long"]\n' * 99)
    return path


@pytest.mark.parametrize(("line", "code"), MISSING_OR_OTHER)
def test_a_file_that_is_not_there(line: str, code: int, tmp_path: Path) -> None:
    ran = run(line, tmp_path / "nowhere.json")

    assert (ran.exit_code, "nowhere" in ran.output) == (code, True), ran.output


@pytest.mark.parametrize(("line", "code"), [*MISSING_OR_OTHER, *ONLY_OTHER])
def test_a_file_of_something_else(line: str, code: int, tmp_path: Path) -> None:
    ran = run(line, other(tmp_path / "other.json"))

    assert (ran.exit_code, "other.json" in ran.output) == (code, True), ran.output
    assert "expected" in ran.output or "cannot draw" in ran.output


@pytest.mark.parametrize(("line", "code"), BESIDE)
def test_something_else_where_a_file_beside_the_records_should_be(
    line: str, code: int, tmp_path: Path
) -> None:
    for kept in ("lab", "verdicts"):
        other(tmp_path / f"turns.{kept}.sqlite")
    ran = run(f"{line} --records {tmp_path}/turns.db", tmp_path)

    assert (ran.exit_code, "turns." in ran.stderr, ran.stdout) == (code, True, ""), ran.output
    assert "asking" not in ran.output


def test_a_table_of_another_program(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "turns.lab.sqlite")) as database:
        database.execute("CREATE TABLE runs (miles INTEGER)")
    ran = run(f"lab --list --records {tmp_path}/turns.db", tmp_path)

    assert (ran.exit_code, "no such column" in ran.stderr) == (2, True)


def test_a_run_that_cannot_be_kept_is_no_worse_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "golden.yaml").write_text(
        '- {question: "Can I get a refund?", topic: on, answers: [refunds]}\n'
    )
    (tmp_path / "base.json").write_text(run("lab --golden golden.yaml --json", tmp_path).stdout)
    nowhere = "lab --golden golden.yaml --keep --records nowhere/turns.db"

    assert run(nowhere, tmp_path).exit_code == 1
    assert run(f"{nowhere} --against base.json", tmp_path).exit_code == 4
