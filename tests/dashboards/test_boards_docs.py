from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_prometheus import fake_prometheus

from dashboards.boards.files import IMPORTED, PROVISIONED, boards
from dashboards.cli import dashboards
from dashboards.render import command

DOCS = Path(__file__).parents[2] / "docs/boards.md"
TEXT = DOCS.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", TEXT, re.S)
COMMANDS = [line for block in BLOCKS for line in block.replace("\\\n", "").splitlines()]


def test_every_board_is_told() -> None:
    told = re.findall(r"^\| ([a-z-]+) \|.*`([a-z-]+)\.json` \|$", TEXT, re.M)

    assert told == [(board.slug, board.slug) for board in boards()]


def test_folders_are_those_that_are_written() -> None:
    assert f"`dashboards/generated/{PROVISIONED}`" in TEXT
    assert f"`dashboards/generated/{IMPORTED}`" in TEXT


@pytest.mark.parametrize("line", COMMANDS, ids=range(len(COMMANDS)))
def test_every_command_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "take_picture", lambda html, out, width: out.touch())
    with fake_prometheus() as (url, _):
        program, group, *arguments = shlex.split(line.replace("http://127.0.0.1:9090", url))
        done = CliRunner().invoke(dashboards, arguments)

    assert (program, group, done.exit_code) == ("loopscope", "dashboards", 0), done.output
    assert Path(done.stdout.strip()).exists()


def test_options_in_the_text_exist() -> None:
    known = " ".join(
        CliRunner().invoke(dashboards, [name, "--help"]).output for name in ("generate", "render")
    )

    assert [o for o in sorted(set(re.findall(r"--[a-z][a-z-]+", TEXT))) if o not in known] == []
