from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_prometheus import fake_prometheus

from agent.cli import main
from dashboards.boards.files import IMPORTED, PROVISIONED, boards
from dashboards.cli import dashboards
from dashboards.render import command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs/boards.md"
TEXT = DOCS.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", TEXT, re.S)


def test_every_board_is_told() -> None:
    told = re.findall(r"^\| ([a-z-]+) \|.*`([a-z-]+)\.json` \|$", TEXT, re.M)

    assert told == [(board.slug, board.slug) for board in boards()]


def test_folders_are_those_that_are_written() -> None:
    assert f"`dashboards/generated/{PROVISIONED}`" in TEXT
    assert f"`dashboards/generated/{IMPORTED}`" in TEXT


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_command_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "take_picture", lambda html, out, width: out.touch())
    with fake_prometheus() as (url, _):
        for line in block.replace("\\\n", "").splitlines():
            program, *words = shlex.split(line.replace("http://127.0.0.1:9090", url), comments=True)
            if program == "promtool":  # runs over the same files in another test
                assert list(ROOT.glob(words[-1]))
                continue
            group, *arguments = words
            assert (program, group in ("dashboards", "doctor")) == ("loopscope", True)
            if group == "dashboards":
                done = CliRunner().invoke(dashboards, arguments)
                assert done.exit_code == 0, done.output
                assert arguments[0] != "render" or Path(done.stdout.strip()).exists()


def test_options_in_the_text_exist() -> None:
    known = " ".join(
        CliRunner().invoke(main, [*words, "--help"]).output
        for words in (["dashboards", "generate"], ["dashboards", "render"], ["doctor"])
    )

    assert [o for o in sorted(set(re.findall(r"--[a-z][a-z-]+", TEXT))) if o not in known] == []
