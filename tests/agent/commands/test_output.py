from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from agent.cli import main
from agent.commands.output import counted


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(0, "0 chunks", id="none"),
        pytest.param(1, "1 chunk", id="one-is-singular"),
        pytest.param(2_000, "2,000 chunks", id="thousands-are-parted"),
    ],
)
def test_a_number_agrees_with_its_noun(number: int, expected: str) -> None:
    assert counted(number, "chunk") == expected


def test_replies_to_a_file_stand_under_their_questions(tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("What's the weather like today?\n\n", encoding="utf-8")

    result = CliRunner().invoke(main, ["ask", "--model", "golden", "--file", str(questions)])

    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith(">")] == [
        "> What's the weather like today?", "> ",
    ]  # fmt: skip
    assert "1 model call, 0 retrievals, 0 rewrites" in lines[2]
    assert result.exit_code == 1
