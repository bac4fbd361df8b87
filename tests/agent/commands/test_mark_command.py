from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent.cli import main
from telemetry.records import Mark, open_reader


def mark(records: Path | str, *arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(
        main, ["mark", "--records", str(records), *arguments], env={**environment}
    )


def kept(records: Path) -> tuple[Mark, ...]:
    with open_reader(records) as reader:
        return reader.marks(until=datetime.now(UTC).timestamp())


def test_a_mark_is_kept_in_the_records_and_said_where(tmp_path: Path) -> None:
    path = tmp_path / "turns.sqlite"
    done = mark(path, "Handbook reworded", "--tag", "docs")
    (found,) = kept(path)

    assert (done.exit_code, done.stderr) == (0, "")
    assert re.fullmatch(
        rf"marked 20\S+Z in {re.escape(str(path))}: Handbook reworded\n", done.stdout
    )
    assert (found.what, found.tags) == ("Handbook reworded", ("docs",))
    assert abs(found.at - datetime.now(UTC).timestamp()) < 60


def test_a_mark_of_another_moment_and_as_json(tmp_path: Path) -> None:
    path = tmp_path / "turns.sqlite"
    done = mark(path, "Provider incident", "--at", "2026-11-30T10:00", "--json")
    (found,) = kept(path)
    told = json.loads(done.stdout)

    assert found.at == datetime(2026, 11, 30, 10, tzinfo=UTC).timestamp()
    assert told == {
        "id": found.id, "at": found.at, "what": "Provider incident", "tags": [], "annotation": None,
    }  # fmt: skip


def test_where_grafana_is_away_the_mark_is_kept_and_made_again_once(tmp_path: Path) -> None:
    path = tmp_path / "turns.sqlite"
    first = mark(path, "New prompt", LOOPSCOPE_GRAFANA_URL="http://127.0.0.1:1")
    again = re.search(r"--at (\S+),", first.stderr)
    assert again is not None, first.stderr
    second = mark(path, "New prompt", "--at", again[1], LOOPSCOPE_GRAFANA_URL="http://127.0.0.1:1")

    assert (first.exit_code, second.exit_code) == (1, 1)
    assert first.stderr.startswith(
        "error: the mark is kept in the records and is not in Grafana: got nobody listens at "
        "127.0.0.1:1, expected a new annotation. Start it, or correct host and port. Then run it "
    )
    assert [found.what for found in kept(path)] == ["New prompt"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["x", "--at", "tomorrow"], "--at: got 'tomorrow', expected", id="no-time"),
        pytest.param(["x", "--at", "2999-01-01"], "--at got", id="in-the-future"),
        pytest.param([" "], "text got 0 characters", id="nothing-said"),
        pytest.param([], "Missing argument 'WHAT'", id="no-text"),
        pytest.param(["x", "--tag", "a b"], "--tag got 'a b'", id="a-tag-with-a-blank"),
    ],
)
def test_what_makes_no_mark_is_wrong_usage_and_writes_nothing(
    arguments: list[str], said: str, tmp_path: Path
) -> None:
    done = mark(tmp_path / "turns.sqlite", *arguments)

    assert (done.exit_code, said in done.output) == (2, True), done.output
    assert list(tmp_path.iterdir()) == []


def test_without_records_there_is_nowhere_to_mark() -> None:
    done = mark("off", "x")

    assert done.exit_code == 2
    assert "records got 'off', expected: where turn records are kept" in done.stderr
