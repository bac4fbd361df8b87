"""The generated parts of the docs are what the code says, and every link and command exists."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from agent.cli import COMMANDS
from dashboards.failures import FAILURES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_generated_parts_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import generate

    for name in generate.FILES:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert generate.filled(text) == text, f"run {sys.executable} docs/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_of_the_repository_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_shown_exist(page: Path) -> None:
    shown = re.findall(
        r"(?:^|`)(?:docker compose exec \w+ )?loopscope ([a-z]+)",
        page.read_text(encoding="utf-8"),
        re.MULTILINE,
    )

    assert [command for command in shown if command not in COMMANDS] == []


def test_the_readme_counts_failures_and_alerts_and_names_every_command() -> None:
    readme = PAGES[0].read_text(encoding="utf-8")
    runbooks = (ROOT / "docs" / "runbooks" / "README.md").read_text(encoding="utf-8")
    alerts = len(re.findall(r"^\| \[Rag", runbooks, re.MULTILINE))

    assert f"{len(FAILURES)} failures, {alerts} alerts" in readme
    assert [command for command in COMMANDS if f"`loopscope {command}" not in readme] == []
