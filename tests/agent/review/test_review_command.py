"""`loopscope review` where nobody can be asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from filled_store import fill, turns

from agent.cli import main

NOW = 1_800_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> str:
    fill(tmp_path / "turns.sqlite", turns(200, NOW, days=3, is_captured=False))
    return str(tmp_path / "turns.sqlite")


def test_outside_a_terminal_it_says_how_many_wait_and_what_hides_them(store: str) -> None:
    result = CliRunner().invoke(main, ["review", "--records", store, "--share", "1"])

    assert result.exit_code == 0
    assert result.stdout.startswith("0 refusals judged")
    assert "refusals to judge: run `loopscope review` in a terminal" in result.stderr
    assert "without text: set OTEL_INSTRUMENTATION_GENAI_CAPTURE" in result.stderr


def test_json_is_all_that_is_printed(store: str) -> None:
    result = CliRunner().invoke(main, ["review", "--records", store, "--json"])

    assert json.loads(result.stdout)["judged"] == 0
    assert result.stderr == ""
