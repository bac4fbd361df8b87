from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agent.errors import SettingsError
from agent.memory.errors import MemoryUnavailableError
from agent.memory.opening import open_memory

NO_DATABASE = "postgresql://me:secret@127.0.0.1:1/talks"


async def opened(setting: str) -> None:
    async with open_memory(setting):
        pass


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        pytest.param("", "''", id="empty"),
        pytest.param("  ", "'  '", id="blank"),
        pytest.param("mysql://me:secret@db/talks", "'mysql://...'", id="another-database"),
        pytest.param("redis://me:secret@db", "'redis://...'", id="no-database"),
    ],
)
async def test_what_names_no_memory_is_refused_with_name_value_and_allowed_set(
    setting: str, shown: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        await opened(setting)

    assert str(refused.value) == (
        f"settings refused: memory got {shown}, expected: `memory`, the path of a SQLite file, or "
        "a URL that begins with postgresql://. Correct the option or the LOOPSCOPE_* variable of "
        "that name and run again."
    )


async def test_a_url_that_cannot_be_read_is_refused_without_its_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(SettingsError, match="a PostgreSQL URL that cannot be read") as refused:
        await opened("postgresql://me:secret@db:port:5432/?nonsense=1")

    assert "secret" not in str(refused.value)


async def test_a_database_that_cannot_be_reached_is_told_without_the_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(MemoryUnavailableError) as refused:
        await opened(NO_DATABASE)

    told = str(refused.value)
    assert told.startswith("conversations cannot be reached in postgresql://127.0.0.1:1/talks: ")
    assert "refused" in told
    assert "secret" not in told


@pytest.mark.parametrize(
    "path", [pytest.param(".", id="a-folder"), pytest.param("/dev/null/x", id="under-a-file")]
)
async def test_a_file_that_cannot_be_opened_is_told(path: str) -> None:
    with pytest.raises(MemoryUnavailableError, match="conversations cannot be reached in the SQL"):
        await opened(path)


async def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("No database. " * 100)
    with pytest.raises(MemoryUnavailableError, match="file is not a database"):
        await opened(str(file))


async def test_a_file_and_its_locks_are_for_their_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "talks.sqlite"
    await opened(str(path))

    assert {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {
        "talks.sqlite": 0o600, "talks.sqlite-locks": 0o600,
    }  # fmt: skip


async def test_a_database_without_its_driver_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "agent.memory.postgres", raising=False)
    with pytest.raises(SettingsError, match=r"pip install 'loopscope\[postgres\]'"):
        await opened(NO_DATABASE)
